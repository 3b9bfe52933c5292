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
% endif
</%def>

<%def name="home(array)">
## The numbers that place a point in the box; ${array} is written by the kernel of images.cl.mako.
% for k in range(dim):
    const real frnn_length${k} = ${array}[${k}], frnn_turns${k} = ${array}[${2 * dim + k}];
    const real frnn_start${k} = ${array}[${3 * dim + k}];
% endfor
</%def>

<%def name="reaches()">
    // How far the window reaches on each axis, padded as rounding scales with the coordinates, and whether it stays in the
    // box, as that of most queries does.
    const int frnn_home = frnn_images[${7 * dim}] != 0;
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
</%def>

<%def name="take_up()">
% if periodic:
    ${reaches()}
% if images == "home":
    if (!frnn_home) return;
% elif images == "away":
    if (frnn_home) return;
% endif
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
            frnn_before${k} = frnn_image(frnn_inside${k} - frnn_reach${k}, frnn_start${k}, frnn_inverse_length${k});
            frnn_behind${k} = frnn_image(frnn_inside${k} + frnn_reach${k}, frnn_start${k}, frnn_inverse_length${k});
% endfor
        }
    }
% endif
</%def>

<%def name="images_of(body, split, pairs)">
## body(image) is the walk through one image of the box, image saying how its candidates are shifted: see
## geometry.differences. A function that may stand in a kernel more than once can be split into bodies for each. With pairs
## a body looks into two images along the first axis, if there are two.
% if not periodic:
    ${body(image="plain")}
% else:
% if split:
    if (frnn_inner && frnn_home) {
% for k in range(dim):
        const real frnn_seen${k} = frnn_inside${k};
% endfor
        ${body(image="plain")}
    } else {
% endif
    // Every image of the box that the window meets, each once. From image t the query is seen at frnn_seen, and a
    // point at home there has the shift frnn_base, whose length is frnn_carry.
% for k in reversed(range(dim)):
<% const = "" if pairs and k == 0 else "const " %>\
    for (int frnn_t${k} = frnn_before${k}; frnn_t${k} <= frnn_behind${k}; frnn_t${k} += ${2 if pairs and k == 0 else 1}) {
    const real frnn_seen${k} = frnn_inside${k} - (real)frnn_t${k} * frnn_length${k};
    ${const}int frnn_base${k} = frnn_t${k} + frnn_own${k};
    ${const}real frnn_carry${k} = (real)frnn_base${k} * frnn_length${k};
% endfor
% if not foreign:
    ${"" if pairs else "const "}int frnn_out_here = ${left_out("frnn_base")};
% endif
% if split:
    if (frnn_home) {
        ${body(image="moved")}
    } else {
        ${body(image="any")}
    }
    }
% elif images == "all":
    const int frnn_plain = frnn_home && (${" | ".join(f"frnn_base{k}" for k in range(dim))}) == 0;
    ${body(image="mixed")}
% else:
    ${body(image="moved" if images == "home" else "any")}
% endif
% for k in range(dim):
    }
% endfor
% endif
</%def>

<%def name="next_image(base)">
    // The image of the box behind, along the first axis.
    frnn_base0 = ${base};
    frnn_carry0 = (real)frnn_base0 * frnn_length0;
% if not foreign:
    frnn_out_here = ${left_out("frnn_base")};
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
