## Periodic images: which images of the box a query looks into, and where it seems to stand from each.
## Without periodic axes all of it vanishes. Config fields used: dim, components, periodic.
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

<%def name="take_up()">
% if periodic:
    // Rounding scales with the coordinates, so the window is padded by theirs. A query so far off that its coordinates
    // no longer tell images apart finds nothing; the host has refused it, or will.
    const int frnn_home = frnn_images[${5 * dim}] != 0;
    ${home("frnn_images")}
    int frnn_near = 1;
% for k, component in enumerate(components):
    const real frnn_inverse_length${k} = frnn_images[${dim + k}];
    frnn_near &= fabs(frnn_q${component} - frnn_start${k}) * frnn_inverse_length${k} <= FRNN_FARTHEST;
% endfor
% for k, component in enumerate(components):
    const int frnn_own${k} = frnn_image(frnn_q${component}, frnn_start${k}, frnn_inverse_length${k});
    const real frnn_inside${k} = frnn_q${component} - (real)frnn_own${k} * frnn_length${k};
    const real frnn_reach${k} = frnn_near ? frnn_reach + (frnn_images[${4 * dim + k}]
        + (frnn_length${k} > 0 ? 8 * FRNN_EPSILON * (fabs(frnn_q${component}) + frnn_reach) : 0)) : 0;
% endfor
% endif
</%def>

<%def name="images(body)">
% if periodic:
    // Every image of the box that the window meets, each once. From image t the query is seen at frnn_seen, and a
    // point at home there has the shift frnn_base, whose length is frnn_carry.
% for k in reversed(range(dim)):
    const int frnn_last${k} = frnn_image(frnn_inside${k} + frnn_reach${k}, frnn_start${k}, frnn_inverse_length${k});
    for (int frnn_t${k} = frnn_image(frnn_inside${k} - frnn_reach${k}, frnn_start${k}, frnn_inverse_length${k});
         frnn_t${k} <= frnn_last${k}; ++frnn_t${k}) {
    const real frnn_seen${k} = frnn_inside${k} - (real)frnn_t${k} * frnn_length${k};
    const int frnn_base${k} = frnn_t${k} + frnn_own${k};
    const real frnn_carry${k} = (real)frnn_base${k} * frnn_length${k};
% endfor
    const int frnn_plain = frnn_home && (${" | ".join(f"frnn_base{k}" for k in range(dim))}) == 0;
% endif
    ${body()}
% if periodic:
% for k in range(dim):
    }
% endfor
% endif
</%def>

<%def name="after()" filter="trim">
## 0 where a point may meet itself in this image, 1 where it may not: half of the images, and the point itself by choice.
<% turn = "0" %>\
% for k in reversed(range(dim)):
<% turn = f"(frnn_s{k} ? frnn_s{k} : {turn})" %>\
% endfor
(${turn} > 0 ? 0 : ${turn} < 0 ? 1 : 1 - frnn_keep_self)
</%def>
