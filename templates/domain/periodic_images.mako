## Defines the periodic images of a search: which images of the box a query looks into, and its position as seen from
## each. Without periodic axes nearly all of it renders to nothing.
## In scope: frnn_images, the numbers of /domain/period_numbers.mako; for begin_query also frnn_q and frnn_reach.
## In a cell, positions and images are those of heights: see /domain/lattice.mako.
## Config fields used: dim, components, periodic, foreign, half, inline, images.
<%namespace name="lattice" file="/domain/lattice.mako"/>
<%def name="functions()">
% if periodic:
// The number of the image of the box in which x lies: 0 between start and start + length. `inverse` is the inverse
// length, or 0 where every x counts as in image 0.
int frnn_image(const real x, const real start, const real inverse)
{
    const real range = 268435456;
    return (int)floor(fmin(fmax((x - start) * inverse, -range), range));
}

// Number n of the images of the box along an axis, which begin `before` images before the box. The box itself, image 0,
// comes first. Image number 1 is a neighboring image, whether before or behind the box: work-items in lockstep that
// look over different edges then do so together.
int frnn_nth_image(const int n, const int before)
{
    return n == 0 ? 0 : before + n - 1 + (before + n - 1 >= 0);
}
% endif
% if skewed:
${lattice.functions()}
% endif
</%def>

<%def name="position(k)" buffered="True" filter="trim">
## The query's coordinate, or its height in a cell, on axis k.
${f"frnn_height{components[k]}" if skewed else f"frnn_q{components[k]}"}
</%def>

<%def name="load_box(array)">
## The numbers that give the image of a point. `array` is `images` as /methods/domain_tables/periodic_images.cl.mako writes it.
% for k in range(dim):
    const real frnn_length${k} = ${array}[${k}], frnn_image_inverse${k} = ${array}[${2 * dim + k}];
    const real frnn_start${k} = ${array}[${3 * dim + k}];
% endfor
</%def>

<%def name="idle_condition()"><%
    """When the whole launch has nothing to do, because points lie in the box or do not; "" where that never happens."""
    compared = {"in_box": "==", "wraps_once": "==", "out_of_box": "!="}.get(images)
    table = "(frnn_tables + ((global const int *)frnn_tables)[0])" if batched else "frnn_images"  # all systems have the same
    return f"{table}[{7 * dim}] {compared} 0" if compared else ""
%></%def>

<%def name="return_if_idle()">
% if idle_condition():
    // This test comes first, because the other launch of the visit may serve all queries.
    if (${idle_condition()}) return;
% endif
</%def>

<%def name="begin_query()">
## Declares for each axis: frnn_reach, the radius of the window with its pad; frnn_inside, the position of the query's
## image in the box; frnn_own, the number of the image in which the query lies; and frnn_before and frnn_behind, the
## first and the last image that the window meets. frnn_near says whether the query can have neighbors.
% if skewed:
${lattice.begin_query()}
% endif
% if images == "wraps_once":
    // All points lie in the box, and every window is shorter than the box. The numbers of the box are arguments by
    // value, which cost neither loads nor registers. See /methods/grid/cell_window.mako.
% for k in range(dim):
% if batched:
    const real frnn_reach${k} = frnn_reach * ${lattice.growth("frnn_images")} + frnn_images[${4 * dim + k}];
% elif skewed:
    const real frnn_reach${k} = frnn_reach + frnn_reach * frnn_pads.s3 + frnn_pads.s${k};
% else:
    const real frnn_reach${k} = frnn_reach * (1 + 8 * FRNN_EPSILON) + frnn_pads.s${k};
% endif
% endfor
% elif images == "per_candidate":
    // The image of each candidate is stored with it. The query is seen in the cell into which it was sorted.
    ${load_box("frnn_images")}
    int frnn_near = 1;
% for k, component in enumerate(components):
    const real frnn_reach${k} = ${"frnn_padded" if skewed else "frnn_reach * (1 + 8 * FRNN_EPSILON)"} + frnn_images[${4 * dim + k}]\
% if foreign and not skewed:
 + (frnn_length${k} > 0 ? 8 * FRNN_EPSILON * fabs(frnn_q${component}) : 0)\
% endif
;
    const int frnn_own${k} =
        frnn_image(${position(k)}, frnn_start${k}, ${f"frnn_images[{dim + k}]" if foreign else f"frnn_image_inverse{k}"});
    const real frnn_inside${k} = ${position(k)} - (real)frnn_own${k} * frnn_length${k};
    frnn_near &= ${is_near(k, position(k), f"frnn_images[{dim + k}]")};
% endfor
% elif periodic:
    // The reach on each axis has a pad that grows with the coordinates, as rounding does. The windows of most queries
    // lie in the box; these queries need nothing else.
    const int frnn_all_in_box = ${{"in_box": "1", "out_of_box": "0"}.get(images, f"frnn_images[{7 * dim}] != 0")};
% if not skewed:
    const real frnn_padded = frnn_reach * (1 + 8 * FRNN_EPSILON);
% endif
    int frnn_window_in_box = 1;
% for k, component in enumerate(components):
    const real frnn_reach${k} = frnn_padded + frnn_images[${4 * dim + k}]\
% if (foreign or inline) and not skewed:
 + (frnn_images[${k}] > 0 ? 8 * FRNN_EPSILON * fabs(frnn_q${component}) : 0)\
% endif
;
    frnn_window_in_box &= ${position(k)} - frnn_reach${k} >= frnn_images[${5 * dim + k}];
    frnn_window_in_box &= ${position(k)} + frnn_reach${k} < frnn_images[${6 * dim + k}];
% endfor
    ${load_box("frnn_images")}
    int frnn_near = 1;
% for k, component in enumerate(components):
    real frnn_inside${k} = ${position(k)};
    int frnn_own${k} = 0, frnn_before${k} = 0, frnn_behind${k} = 0;
% endfor
    // A query that lies so far from the box that rounding confuses images finds nothing. The host refuses such a query.
    if (!frnn_window_in_box) {
% for k in range(dim):
        const real frnn_inverse_length${k} = frnn_images[${dim + k}];
        frnn_near &= ${is_near(k, f"frnn_inside{k}", f"frnn_inverse_length{k}")};
% endfor
        if (frnn_near) {
% for k in range(dim):
            frnn_own${k} = frnn_image(frnn_inside${k}, frnn_start${k}, frnn_inverse_length${k});
            frnn_inside${k} -= (real)frnn_own${k} * frnn_length${k};
            frnn_before${k} =
                frnn_min(0, frnn_image(frnn_inside${k} - frnn_reach${k}, frnn_start${k}, frnn_inverse_length${k}));
            frnn_behind${k} =
                frnn_max(0, frnn_image(frnn_inside${k} + frnn_reach${k}, frnn_start${k}, frnn_inverse_length${k}));
% endfor
        }
    }
% endif
</%def>

<%def name="is_near(k, x, inverse)" buffered="True" filter="trim">
## Whether x is so near on axis k that images are distinguished there.
${f"fabs({x}) <= {lattice.most(k, 'frnn_images')}" if skewed else f"fabs({x} - frnn_start{k}) * {inverse} <= FRNN_FARTHEST"}
</%def>

<%def name="displace(shift, numbers='frnn_images')">
## Declares the translation by lattice vectors, shift0 of the first, shift1 of the second, ...
% for k in range(dim):
    const real frnn_displacement${k} = ${lattice.translation(k, shift, numbers)};
% endfor
</%def>

<%def name="each_image(body, split)">
## body(image) is the walk through one image of the box. `image` says how candidates are shifted there: see differences
## in /common/geometry.mako. With `split`, the image without a shift has a body of its own; the function then stands in
## the kernel twice.
% if not periodic:
    ${body(image="plain")}
% else:
% if split:
    // The image in which query and points both lie comes first. Nothing is shifted there, and all queries go through it
    // together.
    const int frnn_first_done = frnn_all_in_box && (${" | ".join(f"frnn_own{k}" for k in range(dim))}) == 0;
    if (frnn_first_done) {
% for k in range(dim):
        const real frnn_seen${k} = frnn_inside${k};
% endfor
        ${body(image="plain")}
    }
% endif
    // Every image of the box that the window meets is visited once, the box itself first. From image frnn_t the query is seen
    // at frnn_seen. A point in the box has the shift frnn_base, in lengths, and the displacement frnn_displacement. One loop
    // runs over the images of all axes, so that work-items in lockstep that look over different edges do so together.
% for k in range(dim):
    const int frnn_many${k} = frnn_behind${k} - frnn_before${k} + 1;
% endfor
    for (int frnn_visited = ${"frnn_first_done" if split else "0"};
         frnn_visited < ${" * ".join(f"frnn_many{k}" for k in range(dim))}; ++frnn_visited) {
    int frnn_rest = frnn_visited;
% for k in range(dim):
    const int frnn_t${k} = frnn_nth_image(${f"frnn_rest % frnn_many{k}" if k < dim - 1 else "frnn_rest"}, frnn_before${k});
% if k < dim - 1:
    frnn_rest /= frnn_many${k};
% endif
    const real frnn_seen${k} = frnn_inside${k} - (real)frnn_t${k} * frnn_length${k};
    const int ${lattice.counted("frnn_base")}${k} = frnn_t${k} + frnn_own${k};
% if not skewed:
    const real frnn_displacement${k} = (real)frnn_base${k} * frnn_length${k};
% endif
% endfor
    ${lattice.caller_shift("frnn_base", lattice.counted("frnn_base"), "frnn_images") if reduced else ""}
% if skewed:
    ${displace("frnn_base")}
% endif
% if not foreign:
    const int frnn_excluded_here = ${excluded_id("frnn_base")};
% endif
    ${body(image="moved" if images == "in_box" else "any")}
    }
% endif
</%def>

<%def name="excluded_id(shift)" filter="trim">
## Which points a query excludes when they are seen with this shift. Of a full list: the id of the query's own point,
## where the shift is zero. Of a half list: the lowest id that the query includes, because one of two mirrored pairs
## counts: i < j, or i == j and the first shift that is not zero is positive.
% if half:
<% first_shift = "0" %>\
% for k in reversed(range(dim)):
<% first_shift = f"({shift}{k} ? {shift}{k} : {first_shift})" %>\
% endfor
(i + (${first_shift} > 0 ? 0 : ${first_shift} < 0 ? 1 : 1 - frnn_keep_self))
% else:
((${" | ".join(f"{shift}{k}" for k in range(dim))}) ? -1 : frnn_self)
% endif
</%def>
