## Periodic images: which images of the box a query looks into, and where it seems to stand from each.
## Without periodic axes all of it vanishes. Config fields used: dim, components, periodic, foreign, half, inline, images.
<%def name="numbers()">
% if periodic:
// On which image of the box x lies: 0 between start and start + length. Where the axis is not periodic, turns is 0.
int frnn_image(const real x, const real start, const real turns)
{
    const real range = 268435456;
    return (int)floor(fmin(fmax((x - start) * turns, -range), range));
}

// The n-th of the images from one before the box to one behind it, the box itself being image 0 and the first. The others
// follow alike whether they lie before or behind: work-items that wait for each other look over either edge together.
int frnn_nth_image(const int n, const int before)
{
    return n == 0 ? 0 : before + n - 1 + (before + n - 1 >= 0);
}
% endif
</%def>

<%def name="home(array)">
## The numbers that place a point in the box; ${array} is written by the kernel of periodic_images.cl.mako.
% for k in range(dim):
    const real frnn_length${k} = ${array}[${k}], frnn_turns${k} = ${array}[${2 * dim + k}];
    const real frnn_start${k} = ${array}[${3 * dim + k}];
% endfor
</%def>

<%def name="widest(k, reach, array)" filter="trim">
## The farthest that any query may look on axis k which lies up to 32 lengths from the box.
<% start = f"{array}[{3 * dim + k}]" %>\
% if periodic:
(${reach} * (1 + 8 * FRNN_EPSILON) + ${array}[${4 * dim + k}]
    + (${array}[${k}] > 0 ? 8 * FRNN_EPSILON * ((${start} < 0 ? -${start} : ${start}) + 34 * ${array}[${k}]) : 0))
% else:
(${reach})
% endif
</%def>

<%def name="far_off()" filter="trim">
## Whether a query lies farther from the box than that.
!(${" & ".join(f"fabs(frnn_q{component} - frnn_images[{3 * dim + k}]) * frnn_images[{dim + k}] <= 32" for k, component in enumerate(components))})
</%def>

<%def name="left_to_others()"><%
    """When a kernel has nothing to do for which VisitVariant.images says that this may be."""
    compared = {"in_box": "==", "wraps_once": "==", "out_of_box": "!="}.get(images)
    return f"frnn_images[{7 * dim}] {compared} 0" if compared else ""
%></%def>

<%def name="leave_to_others()">
% if left_to_others():
    // The first thing that is done, as all may be left to another kernel.
    if (${left_to_others()}) return;
% endif
</%def>

<%def name="take_up()">
% if images == "wraps_once":
    // All points lie in the box and a window is shorter than it: what there is to know comes by value, which costs neither
    // loads nor registers. See grid/wrapped_window.mako.
% for k in range(dim):
    const real frnn_reach${k} = frnn_reach * (1 + 8 * FRNN_EPSILON) + frnn_pads.s${k};
% endfor
% elif images == "per_candidate":
    // Candidates carry their images along. The query is seen in the cell that it was sorted into.
    ${home("frnn_images")}
    int frnn_near = 1;
% for k, component in enumerate(components):
    const real frnn_reach${k} = frnn_reach * (1 + 8 * FRNN_EPSILON) + frnn_images[${4 * dim + k}]\
% if foreign:
 + (frnn_length${k} > 0 ? 8 * FRNN_EPSILON * fabs(frnn_q${component}) : 0)\
% endif
;
    const int frnn_own${k} =
        frnn_image(frnn_q${component}, frnn_start${k}, ${f"frnn_images[{dim + k}]" if foreign else f"frnn_turns{k}"});
    const real frnn_inside${k} = frnn_q${component} - (real)frnn_own${k} * frnn_length${k};
    frnn_near &= fabs(frnn_q${component} - frnn_start${k}) * frnn_images[${dim + k}] <= FRNN_FARTHEST;
% endfor
% elif periodic:
    // How far the window reaches on each axis, padded as rounding scales with the coordinates, and whether it stays in the
    // box, as that of most queries does.
    const int frnn_home = ${{"in_box": "1", "out_of_box": "0"}.get(images, f"frnn_images[{7 * dim}] != 0")};
    const real frnn_padded = frnn_reach * (1 + 8 * FRNN_EPSILON);
    int frnn_inner = 1;
% for k, component in enumerate(components):
    const real frnn_reach${k} = frnn_padded + frnn_images[${4 * dim + k}]\
% if foreign or inline:
 + (frnn_images[${k}] > 0 ? 8 * FRNN_EPSILON * fabs(frnn_q${component}) : 0)\
% endif
;
    frnn_inner &= frnn_q${component} - frnn_reach${k} >= frnn_images[${5 * dim + k}];
    frnn_inner &= frnn_q${component} + frnn_reach${k} < frnn_images[${6 * dim + k}];
% endfor
    ${home("frnn_images")}
    int frnn_near = 1;
% for k, component in enumerate(components):
    real frnn_inside${k} = frnn_q${component};
    int frnn_own${k} = 0, frnn_before${k} = 0, frnn_behind${k} = 0;
% endfor
    // A query so far off that its coordinates no longer tell images apart finds nothing; the host has refused it, or will.
    if (!frnn_inner) {
% for k in range(dim):
        const real frnn_inverse_length${k} = frnn_images[${dim + k}];
        frnn_near &= fabs(frnn_inside${k} - frnn_start${k}) * frnn_inverse_length${k} <= FRNN_FARTHEST;
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

<%def name="images_of(body, split)">
## body(image) is the walk through one image of the box, image saying how its candidates are shifted: see
## geometry.differences. A function that may stand in a kernel more than once is split into bodies for each.
% if not periodic:
    ${body(image="plain")}
% else:
% if split:
    // First the image in which query and points lie: all queries go through it together, and nothing is shifted there.
    const int frnn_first_done = frnn_home && (${" | ".join(f"frnn_own{k}" for k in range(dim))}) == 0;
    if (frnn_first_done) {
% for k in range(dim):
        const real frnn_seen${k} = frnn_inside${k};
% endfor
        ${body(image="plain")}
    }
% endif
    // Every image of the box that the window meets, each once, the box itself first. From image t the query is seen at
    // frnn_seen, and a point at home there has the shift frnn_base, whose length is frnn_carry. One loop over them all, not
    // one for each axis: work-items that wait for each other look over whichever edge it is together.
% for k in range(dim):
    const int frnn_many${k} = frnn_behind${k} - frnn_before${k} + 1;
% endfor
    for (int frnn_look = ${"frnn_first_done" if split else "0"};
         frnn_look < ${" * ".join(f"frnn_many{k}" for k in range(dim))}; ++frnn_look) {
    int frnn_rest = frnn_look;
% for k in range(dim):
    const int frnn_t${k} = frnn_nth_image(${f"frnn_rest % frnn_many{k}" if k < dim - 1 else "frnn_rest"}, frnn_before${k});
% if k < dim - 1:
    frnn_rest /= frnn_many${k};
% endif
    const real frnn_seen${k} = frnn_inside${k} - (real)frnn_t${k} * frnn_length${k};
    const int frnn_base${k} = frnn_t${k} + frnn_own${k};
    const real frnn_carry${k} = (real)frnn_base${k} * frnn_length${k};
% endfor
% if not foreign:
    const int frnn_out_here = ${left_out("frnn_base")};
% endif
    ${body(image="moved" if images == "in_box" else "any")}
    }
% endif
</%def>

<%def name="left_out(shift)" filter="trim">
## Of a pair of points, whom the query leaves out in the image of a shift: the point itself, where that is not shifted; or
## the lowest it keeps, as of a pair of images one is counted: i < j, or i == j and the first shift positive.
% if half:
<% turn = "0" %>\
% for k in reversed(range(dim)):
<% turn = f"({shift}{k} ? {shift}{k} : {turn})" %>\
% endfor
(i + (${turn} > 0 ? 0 : ${turn} < 0 ? 1 : 1 - frnn_keep_self))
% else:
((${" | ".join(f"{shift}{k}" for k in range(dim))}) ? -1 : frnn_self)
% endif
</%def>
