## The seams of a periodic box, for points at home in it whose windows meet one image more on an axis at most: a window
## goes on past the edge of the box with the cells at the other side, whose points are shifted by its length. Every row
## of cells is gone through once, as in a box without images, and nobody waits while another looks over an edge.
## Config fields used: dim, components, work_group_size, lockstep, images.
## Exact because each cell of the window is met in the one image in which the window meets it.
## Source: Chisholm (2020), §3, for strips; the images are this library's own.

## Whether work-items that go in step agree on their way: barriers then stand in the kernel, and nobody leaves early.
<%def name="agree(function)"><% return images == "wraps_once" and function.light and lockstep > 1 %></%def>

<%def name="window(cell)">
## cell(k) names the numbers of cells on an axis.
% for k, component in enumerate(components):
    // Where the window passes an edge, its first or last cell is that of the query's image, counted on from the box's.
    // A query at infinity passes none: nothing is near it.
<% q = f"frnn_q{component}" %>\
    const int frnn_below${k} = ${q} > -INFINITY && ${q} - frnn_reach${k} < frnn_first_edges.s${k};
    const int frnn_above${k} = ${q} < INFINITY && ${q} + frnn_reach${k} >= frnn_last_edges.s${k};
    const int frnn_from${k} =
        frnn_window_from(frnn_q${component} + (frnn_below${k} ? frnn_lengths.s${k} : 0), frnn_reach${k}, ${cell(k)})
        - (frnn_below${k} ? frnn_hindmost.s${k} + 1 : 0);
    int frnn_to${k} =
        frnn_window_to(frnn_q${component} - (frnn_above${k} ? frnn_lengths.s${k} : 0), frnn_reach${k}, ${cell(k)})
        + (frnn_above${k} ? frnn_hindmost.s${k} + 1 : 0);
    if (!(frnn_below${k} | frnn_above${k})) frnn_to${k} = frnn_min(frnn_to${k}, frnn_from${k} + frnn_shape.s${k} - 1);
% endfor
</%def>

<%def name="place(k)">
    // The image that a cell of the window lies in, its shift, and the place of the cell.
    const int frnn_base${k} = (frnn_at${k} > frnn_hindmost.s${k}) - (frnn_at${k} < frnn_foremost.s${k});
    const real frnn_carry${k} = (real)frnn_base${k} * frnn_lengths.s${k};
    const int frnn_lane${k} = (frnn_at${k} - frnn_base${k} * (frnn_hindmost.s${k} + 1)) & frnn_mask.s${k};
</%def>

<%def name="each_nest(function, cut)">
## The body's loops for those who pass no edge ("plain"), that of the first axis alone ("along"), and any ("moved"); what
## is not light enough to stand in a kernel three times goes through the last. cut: whether "plain" will not do for the
## first axis.
% if not function.light:
    ${caller.body(image="moved")}
% else:
<% passed = " | ".join(f"frnn_below{k} | frnn_above{k}" for k in range(1, dim)) %>\
    const int frnn_way = (${passed}) ? 2 : ${cut};
% if agree(function):
    // Those who go in step take the way of the one who has to look furthest: one after the other is what costs.
<% teams = -(-work_group_size // lockstep) %>\
    local int frnn_ways[${teams}];
    const int frnn_team = (int)get_local_id(0) / ${lockstep};
    if ((int)get_local_id(0) < ${teams}) frnn_ways[get_local_id(0)] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (frnn_way && !frnn_idle) atomic_max(&frnn_ways[frnn_team], frnn_way);
    barrier(CLK_LOCAL_MEM_FENCE);
    const int frnn_taken = frnn_ways[frnn_team];
    if (frnn_idle) return;
% else:
    const int frnn_taken = frnn_way;
% endif
    if (frnn_taken == 0) {
        ${caller.body(image="plain")}
    } else if (frnn_taken == 1) {
        ${caller.body(image="along")}
    } else {
        ${caller.body(image="moved")}
    }
% endif
</%def>
