<%namespace name="batches" file="/traversal/simd_batch.mako"/>
<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="hit_mask" file="/first_pass/hit_mask.mako"/>
<%namespace name="neighbor_buffer" file="/first_pass/neighbor_buffer.mako"/>
<%namespace name="periodic_box" file="/common/periodic_images.mako"/>
## What every walk over neighbors shares: the program around it, taking up a query, offering a candidate, laying the
## query down. Config fields used: dim, components, work_group_size, registers, periodic, packed, foreign, radii, half,
## part, inline, images, first_pass.
## A walk provides `int i` and `real_vec frnn_q` before `take_up`, `int j` and the coordinates frnn_p0, frnn_p1, ... before
## `offer`. User code sees i, j, d2, dx, shift, r2, reach2, real and real_vec.
<%def name="program(function, arguments, walk, point, point_id)">
${geometry.root()}
// Behind the preamble and the state, names of built-in functions may be those of a user's own.
% if width > 1:
int frnn_min(const int a, const int b) { return a < b ? a : b; }
int frnn_max(const int a, const int b) { return a > b ? a : b; }
% else:
int frnn_min(const int a, const int b) { return min(a, b); }
int frnn_max(const int a, const int b) { return max(a, b); }
% endif
${periodic_box.numbers()}
${piece(function, "preamble")}
#pragma OPENCL FP_CONTRACT OFF
% if inline:
//@ PARAMETERS
${arguments()}
//@ POINT
${point("frnn_place_")}
//@ POINT_ID
${point_id("frnn_place_")}
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
${batches.types(chosen=first_pass == "write_mask" or not function.light)}
% endif
% if first_pass in ("write_mask", "read_mask"):
${hit_mask.types()}
% endif
% if registers:
// At most ${registers} registers a work-item: compilers take no such bound from a kernel that also says its group's size.
kernel void frnn_visit(
% else:
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
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
    global const real *restrict frnn_queries,
% endif
${arguments()}
% if first_pass:
    , ${hit_mask.arguments() if first_pass in ("write_mask", "read_mask") else neighbor_buffer.arguments()}
% endif
% if function.parsed_arguments:
    ,
${piece(function, "arguments")}
% endif
)
{
% if first_pass in ("write_mask", "read_mask"):
    ${hit_mask.declare(function)}
% endif
${caller.body()}
}
% endif
</%def>

<%def name="piece(function, name)">
% if not function.own:
#line 1 "${name}"
% endif
${getattr(function, name)}

% if not function.own:
//@ RESUME
% endif
</%def>

<%def name="take_up(function, active='1')">
    // Idle lanes of a walk with barriers search with a radius that nothing satisfies.
% if radii:
    // A radius from the device may be anything; one that the index was not built for finds nothing.
    const real frnn_radius = frnn_radii[i] <= frnn_largest ? frnn_radii[i] : -1;
    const real frnn_reach = fmax(nextafter(frnn_radius, (real)INFINITY), (real)FRNN_LEAST_REACH);
% endif
    ${periodic_box.take_up()}
<% near = " && frnn_near" if periodic and images != "wraps_once" else "" %>\
    const real r2 = (${active}) && frnn_radius >= 0${near} ? frnn_radius * frnn_radius : (real)-1;
    real reach2 = r2;
% if fused and function.light and not inline:
    // Where fused and pinned operations may disagree: less than by so much do they miss the truth wherever a squared distance
    // is up to twice the radius'; beyond, it is decided. Everywhere, where squares come near the least numbers there are, and
    // for a query at infinity, whose distance to another there is no number.
    const int frnn_somewhere = ${" & ".join(f"isfinite(frnn_q{component})" for component in components)};
    const real frnn_margin =
        ((reach2 >= 0) & ((reach2 < (real)0x1p-90) | !frnn_somewhere)) ? INFINITY : 8 * FRNN_EPSILON * fabs(reach2);
% endif
% if half:
    const int frnn_least = frnn_keep_self ? i : i + 1;
% elif not foreign and not inline:
    const int frnn_self = frnn_keep_self ? -1 : i;
% if known_by_place(function):
    const int frnn_self_place = frnn_keep_self ? -1 : frnn_own_place;
% endif
% endif
    ${piece(function, "state")}
% if first_pass == "write_mask":
    ${hit_mask.begin()}
% elif sums_batches(function):
    ${batches.integers()} frnn_counted = 0;
% endif
</%def>

<%def name="each_image(split=False)">
    ${periodic_box.images_of(caller.body, split)}
</%def>

<%def name="counts_itself(function)">
## Whether a point is counted as any other, and taken off at the end: that spares a test for each candidate. Not by radii of
## their own, where counts over cells were slower by it.
<% return function.light and (packed or not radii) and not (foreign or half or inline or periodic or first_pass) %></%def>

<%def name="sums_batches(function)">
## Whether candidates are counted as they are tested, a sum for each place in a batch.
<% return function.light and width > 1 and first_pass != "write_mask" %></%def>

<%def name="known_by_place(function)">
## Whether a point tells itself from candidates by its place, so that nobody loads ids.
<% return function.light and by_place and not (foreign or half or inline) %></%def>

<%def name="kept(image, function=None, place='')" filter="trim">
## Whether a candidate within reach is one that the query asks for.
% if foreign or (function is not None and counts_itself(function)):
1
% elif periodic and image != "plain" and images != "wraps_once":
${"(j >= frnn_out)" if half else "(j != frnn_out)"}
% elif half:
(j >= frnn_least)
% elif place and known_by_place(function):
(${place} != frnn_self_place)
% else:
(j != frnn_self)
% endif
</%def>

<%def name="offer(function, image, within='(d2 <= reach2)', place='', asked='')">
## place: where the candidate stands in the sorted copy, if it comes from there; asked: whether the query asks for it, where
## that is known.
    {
        ${geometry.differences(image)}
        const real d2 = ${geometry.squared()};
        if (${within} & ${asked or kept(image, function, place)}) {
            const real_vec dx = ${geometry.difference()};
            const frnn_shift shift = ${geometry.shift(image)};
            ${neighbor_buffer.hold()}
            do {
                ${"//@ END" if inline else ""}
                ${piece(function, "per_neighbor")}
            } while (0);
        }
    }
</%def>

<%def name="lay_down(function)">
    {
% if sums_batches(function):
        frnn_count += (int)(${" + ".join(f"frnn_counted.s{k}" for k in range(width))});
% endif
% if counts_itself(function):
        // A point is no farther from itself than it looks, unless it looks nowhere or is nowhere.
% for k, component in enumerate(components):
        const real frnn_d${k} = frnn_q${component} - frnn_q${component};
% endfor
        frnn_count -= !frnn_keep_self & (${geometry.squared()} <= reach2);
% endif
% if first_pass == "write_mask":
        ${hit_mask.end()}
% endif
        ${neighbor_buffer.store() if first_pass == "fill_buffer" else piece(function, "finish")}
    }
</%def>
