## Defines how a clique meets the points around it: the box around its points, the runs of places in the cells of its window,
## and the distances of a point to the points in the box. A clique is points of a cell that are all neighbors of each other,
## at places that follow each other; one point may be a clique.
## In scope: frnn_sorted and frnn_n; for each_run the parameters of /methods/grid/cells.mako, the box, and `padded`, the next
## number above the radius; for differences the point q, for bounds the box.
## Where an axis is periodic, all points lie in the box of the domain.
## Config fields used: dim, components, columns, periodic.
<%namespace name="cell_coordinate" file="/domain/cell_coordinate.mako"/>
<%namespace name="cell_window" file="/methods/grid/cell_window.mako"/>
<%namespace name="cells" file="/methods/grid/cells.mako"/>
<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="periodic_images" file="/domain/periodic_images.mako"/>
<%namespace name="point_layout" file="/methods/point_layout.mako"/>
<%namespace name="visit" file="/methods/visit.mako"/>
<%def name="functions()">
// Of two numbers, as compilers for CPUs compute it in one instruction.
#define CLFRNN_LARGER(a, b) ((a) > (b) ? (a) : (b))
#define CLFRNN_SMALLER(a, b) ((a) < (b) ? (a) : (b))
${visit.smaller_and_larger(1)}
${cell_coordinate.functions(columns)}
${cell_window.functions()}
${periodic_images.functions()}
</%def>

<%def name="begin_box(p)">
% for k, component in enumerate(components):
    real low${k} = ${p}${component}, high${k} = low${k};
% endfor
</%def>

<%def name="each_run(wanted='1')">
## The body runs for each run of places, from frnn_t up to frnn_stop, in those rows of the window that are `wanted`.
    // The window of a box holds the windows of all points in it, because the cell of a coordinate never decreases with it.
% for k in range(dim):
% if periodic:
    // Every image of the domain that the window meets.
    const real reach${k} = padded * (1 + 8 * FRNN_EPSILON) + frnn_images[${4 * dim + k}];
    const int behind${k} = max(0, frnn_image(high${k} + reach${k}, frnn_images[${3 * dim + k}], frnn_images[${dim + k}]));
    for (int turns${k} = min(0, frnn_image(low${k} - reach${k}, frnn_images[${3 * dim + k}], frnn_images[${dim + k}])); turns${k} <= behind${k}; ++turns${k}) {
    const real displacement${k} = (real)turns${k} * frnn_images[${k}];
% else:
    const real reach${k} = padded;
% endif
<% seen = f" - displacement{k}" if periodic else "" %>\
    const int frnn_from${k} = frnn_window_from(low${k}${seen}, reach${k}, ${cells.cell(k)});
    const int frnn_to${k} = min(frnn_window_to(high${k}${seen}, reach${k}, ${cells.cell(k)}), frnn_from${k} + frnn_shape.s${k} - 1);
% endfor
    ${cells.ends_of_runs()}
    <%cells:rows image="plain">
        if (!(${wanted})) continue;
        <%cells:runs>
${caller.body()}
        </%cells:runs>
    </%cells:rows>
% if periodic:
    ${"}" * dim}
% endif
</%def>

<%def name="moved(k)" filter="trim">
## What leads from a difference of coordinates to that in the image.
${f" + displacement{k}" if periodic else ""}
</%def>

<%def name="differences(place)">
## Declares the differences from q to the point at a place.
                    const real_vec p = ${point_layout.point(place)};
% for k, component in enumerate(components):
                    const real frnn_d${k} = (p${component} - q${component})${moved(k)};
% endfor
</%def>

<%def name="bounds(place)">
## Declares the squares of the least and of the largest distance from the point at a place to any point in the box. Exact because
## rounding is monotone: the computed differences to points in the box lie between those to its corners.
                    const real_vec p = ${point_layout.point(place)};
% for k, component in enumerate(components):
                    const real above${k} = (p${component} - low${k})${moved(k)}, below${k} = (p${component} - high${k})${moved(k)};
                    const real near${k} = CLFRNN_LARGER(CLFRNN_LARGER(below${k}, -above${k}), 0);
                    const real far${k} = CLFRNN_LARGER(above${k}, -below${k});
% endfor
                    const real nearest = ${geometry.squared_distance("near")};
                    const real farthest = ${geometry.squared_distance("far")};
</%def>
