<%namespace name="geometry" file="geometry.cl.mako"/>
## What every walk over neighbors shares: the arguments, taking up a query, offering a candidate, laying the query down.
## Config fields used: dim, components, foreign, radii, half. A walk provides `int i` and `real_vec q` before `take_up`,
## `int j` and the coordinates frnn_p0, frnn_p1, ... before `offer`.
## User code sees i, j, d2, dx, r2, reach2, real and real_vec.
<%def name="arguments()">
    const int frnn_first, const int frnn_end, const int frnn_keep_self,
% if radii:
    global const real *restrict frnn_radii,
% else:
    const real frnn_radius, const real frnn_reach,
% endif
% if foreign:
    global const real *restrict frnn_queries,
% endif
</%def>

<%def name="take_up(function, active='1')">
    // Idle lanes of a walk with barriers search with a radius that nothing satisfies.
% if radii:
    const real frnn_radius = frnn_radii[i];
    const real frnn_reach = fmax(nextafter(frnn_radius, (real)INFINITY), (real)FRNN_LEAST_REACH);
    const real r2 = (${active}) && frnn_radius >= 0 ? frnn_radius * frnn_radius : (real)-1;
% else:
    const real r2 = (${active}) ? frnn_radius * frnn_radius : (real)-1;
% endif
    real reach2 = r2;
% if half:
    const int frnn_least = frnn_keep_self ? i : i + 1;
% elif not foreign:
    const int frnn_self = frnn_keep_self ? -1 : i;
% endif
    ${function.state}
</%def>

<%def name="offer(function, within='(d2 <= reach2)')">
    {
        ${geometry.differences()}
        const real d2 = ${geometry.squared()};
% if half:
        if (${within} & (j >= frnn_least)) {
% elif foreign:
        if (${within}) {
% else:
        if (${within} & (j != frnn_self)) {
% endif
            const real_vec dx = ${geometry.difference()};
            do {
                ${function.per_neighbor}
            } while (0);
        }
    }
</%def>

<%def name="lay_down(function)">
    {
        ${function.finish}
    }
</%def>
