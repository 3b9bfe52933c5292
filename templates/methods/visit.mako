## Defines what every walk over neighbors shares: the program around the walk, the beginning of a query, the offer of a
## candidate and the end of a query.
## In scope: `int i` and `real_vec frnn_q` before begin_query; `int j` and the candidate's coordinates frnn_p0, frnn_p1,
## ... before offer. A user's code sees i, j, d2, dx, shift, r2, reach2, real and real_vec.
## Config fields used: dim, components, work_group_size, registers, width, fused, by_place, periodic, batched, packed, foreign, radii, half, part, inline, images, first_pass.
<%namespace name="simd_batch" file="/methods/simd_batch.mako"/>
<%namespace name="condition" file="/methods/condition.mako"/>
<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="hit_mask" file="/methods/first_pass/hit_mask.mako"/>
<%namespace name="neighbor_buffer" file="/methods/first_pass/neighbor_buffer.mako"/>
<%namespace name="lattice" file="/domain/lattice.mako"/>
<%namespace name="periodic_images" file="/domain/periodic_images.mako"/>
<%def name="program(function, arguments, walk, point, point_id)">
## The body of the caller is the body of the kernel. The other arguments are defs: the walk's own parameters, the walk itself,
## and the position and the number of the point at a place.
## Kernel frnn_visit runs `function` for every neighbor of each query from frnn_first up to frnn_end.
## Parameters of every walk: frnn_first, frnn_end: the queries of this launch, by place or by number; frnn_keep_self: whether a
## query's own point is its neighbor; frnn_part_first, frnn_part_end: the numbers of the queries to serve; frnn_radii (m,) and
## frnn_largest, or frnn_radius and frnn_reach: the radius, and the next larger number; frnn_queries (m, dim).
${geometry.root()}
${smaller_and_larger(width)}
${periodic_images.functions()}
${condition.functions(function)}
${piece(function, "preamble")}
#pragma OPENCL FP_CONTRACT OFF
% if inline:
//@ PARAMETERS
${arguments()}
//@ POINT
${point("frnn_place_")}
//@ POINT_ID
${point_id("frnn_place_")}
% if batched:
//@ SYSTEM
${lattice.of_point("frnn_", "(frnn_point_)")}
% endif
//@ BEGIN
{
    const real_vec frnn_q = (frnn_position_);
    const int frnn_self = (frnn_self_);
    const real frnn_radius = (frnn_radius_);
    const real frnn_reach = fmax(nextafter(frnn_radius, (real)INFINITY), (real)FRNN_LEAST_REACH);
${walk(function)}
}
% else:
% if width > 1:
${simd_batch.types(chosen=first_pass == "write_mask" or simd_batch.gathers(function))}
% endif
% if first_pass in ("write_mask", "read_mask"):
${hit_mask.types()}
% endif
% if registers:
// The compiler is limited to ${registers} registers a work-item. It ignores the limit if the kernel states a group size.
kernel void frnn_visit(
% else:
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))${simd_batch.hint()}
void frnn_visit(
% endif
    const int frnn_first, const int frnn_end, const int frnn_keep_self,
% if part:
    const int frnn_part_first, const int frnn_part_end,
% endif
% if radii:
    global const real *restrict frnn_radii, const real frnn_largest,
% else:
    const real frnn_radius, const real frnn_reach,
% endif
% if foreign:
    global const real *restrict frnn_queries, ${"global const int *restrict frnn_query_systems," if batched else ""}
% endif
${arguments()}
% if first_pass:
    , ${hit_mask.arguments() if first_pass in ("write_mask", "read_mask") else neighbor_buffer.arguments()}
% endif
% if function.parsed_arguments:
    ,
${piece(function, "arguments")}
% endif
    ${condition.parameters(function)}
)
{
% if first_pass in ("write_mask", "read_mask"):
    ${hit_mask.declare(function)}
% endif
${caller.body()}
}
% endif
</%def>

<%def name="smaller_and_larger(width)">
// The preamble or the state of a user's function may redefine min and max. Code that stands behind them calls these instead.
% if width > 1:
int frnn_min(const int a, const int b) { return a < b ? a : b; }
int frnn_max(const int a, const int b) { return a > b ? a : b; }
% else:
int frnn_min(const int a, const int b) { return min(a, b); }
int frnn_max(const int a, const int b) { return max(a, b); }
% endif
</%def>

<%def name="piece(function, name)">
## A piece of the function. In a user's, `#line` makes compilers report the lines of the piece.
% if not function.own:
#line 1 "${name}"
% endif
${getattr(function, name)}

% if not function.own:
//@ RESUME
% endif
</%def>

<%def name="begin_query(function, active='1')">
    // A work-item that is not active stays for the barriers, with a squared radius of -1 that no candidate satisfies.
% if radii:
    // A radius array may hold any value. A query with a radius that the index was not built for finds nothing.
    const real frnn_radius = frnn_radii[i] <= frnn_largest ? frnn_radii[i] : -1;
    const real frnn_reach = fmax(nextafter(frnn_radius, (real)INFINITY), (real)FRNN_LEAST_REACH);
% endif
    ${periodic_images.begin_query()}
<% near = " && frnn_near" if periodic and images != "wraps_once" else "" %>\
    const real r2 = (${active}) && frnn_radius >= 0${near} ? frnn_radius * frnn_radius : (real)-1;
    real reach2 = r2;
% if fused and function.light and not inline:
    // Fused and exact operations may disagree about a candidate whose squared distance is nearer than frnn_margin to the
    // squared radius. Up to twice the squared radius neither errs by more than that; beyond, both are right. The margin is
    // infinite where squares are nearly subnormal, and for a query at infinity, whose distance to a point at infinity is NaN.
    const int frnn_finite = ${" & ".join(f"isfinite(frnn_q{component})" for component in components)};
    const real frnn_margin =
        ((reach2 >= 0) & ((reach2 < FRNN_REAL(0x1p-90)) | !frnn_finite)) ? INFINITY : 8 * FRNN_EPSILON * fabs(reach2);
% endif
% if half:
    const int frnn_least = frnn_keep_self ? i : i + 1;
% elif not foreign and not inline:
    const int frnn_self = frnn_keep_self ? -1 : i;
% if excludes_by_place(function):
    const int frnn_self_place = frnn_keep_self ? -1 : frnn_own_place;
% endif
% endif
    ${simd_batch.begin_query(function)}
    ${piece(function, "state")}
% if first_pass == "write_mask":
    ${hit_mask.begin()}
% elif sums_batches(function):
    ${simd_batch.integers()} frnn_counted = 0;
% for k in range(function.edges):
    ${simd_batch.integers()} frnn_nearers${k} = 0;
% endfor
% endif
</%def>

<%def name="each_image(split=False)">
    ${periodic_images.each_image(caller.body, split)}
</%def>

<%def name="counts_itself(function)">
## Whether the query's own point is counted as any other and subtracted at the end, which spares a test for each candidate.
## Not where queries with radii go by themselves: counts over cells are slower then. Nor where a condition may expect i != j.
<% return function.light and (packed or not radii) and not (foreign or half or inline or periodic or first_pass or condition.reads(function, "j")) %></%def>

<%def name="sums_batches(function)">
## Whether candidates are counted as a vector, with a sum for each position in a batch.
<% return (function.light or function.edges) and width > 1 and first_pass != "write_mask" and not condition.gathers(function) %></%def>

<%def name="excludes_by_place(function)">
## Whether the query's own point is excluded by its place, so that no ids are loaded.
<% return function.light and by_place and not (foreign or half or inline) %></%def>

<%def name="included(image, function=None, place='')" filter="trim">
## Whether a candidate within reach is a neighbor: it is not the query's own point, nor the wrong half of a pair.
% if foreign or (function is not None and counts_itself(function)):
1
% elif periodic and image != "plain" and images != "wraps_once":
${"(j >= frnn_excluded)" if half else "(j != frnn_excluded)"}
% elif half:
(j >= frnn_least)
% elif place and excludes_by_place(function):
(${place} != frnn_self_place)
% else:
(j != frnn_self)
% endif
</%def>

<%def name="offer(function, image, within='(d2 <= reach2)', place='', known='')">
## Runs the function for a candidate that is a neighbor. `within` and `known` replace the tests of its distance, and of
## whether it is included and meets the condition, where their results are known. place: the candidate's place, if it has one.
    {
        ${geometry.differences(image)}
        const real d2 = ${geometry.squared_distance()};
        if (${within} & ${known or included(image, function, place)}) {
            const real_vec dx = ${geometry.difference()};
            const frnn_shift shift = ${geometry.shift(image)};
            ${"" if known else condition.opens(function)}
            ${neighbor_buffer.append()}
            do {
                ${"//@ END" if inline else ""}
                ${piece(function, "per_neighbor")}
            } while (0);
            ${"" if known else condition.closes(function)}
        }
    }
</%def>

<%def name="end_query(function)">
    {
% if sums_batches(function):
        frnn_count += (int)(${" + ".join(f"frnn_counted.s{k}" for k in range(width))});
% for edge in range(function.edges):
        frnn_nearer${edge} += (int)(${" + ".join(f"frnn_nearers{edge}.s{k}" for k in range(width))});
% endfor
% endif
% if counts_itself(function):
        // The query's own point was counted, unless the radius is negative or the query is not finite.
% for k, component in enumerate(components):
        const real frnn_d${k} = frnn_q${component} - frnn_q${component};
% endfor
        frnn_count -= !frnn_keep_self & (${geometry.squared_distance()} <= reach2)${condition.and_holds(function, "plain", "i")};
% endif
% if first_pass == "write_mask":
        ${hit_mask.end()}
% endif
        ${neighbor_buffer.store() if first_pass == "fill_buffer" else piece(function, "finish")}
    }
</%def>
