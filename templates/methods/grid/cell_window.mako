## Defines the window of a query on one axis: its first and its last cell; and windows that wrap around the edges of a
## periodic box.
## In scope: the functions of /domain/cell_coordinate.mako; for the wrapped window also frnn_q, what begin_query of
## /methods/visit.mako declares, and the grid of /methods/grid/cells.mako.
## A window wraps where all points lie in the box and every window meets at most one more image on an axis. It then goes
## on beyond the edge of the box with the cells at the other side, whose points are shifted by the length of the box.
## Each row of cells is visited once, as without images, so no work-item waits while another looks over an edge.
## Exact because each cell of the window is visited in the one image in which the window meets it.
## Source: Chisholm (2020), §3, for strips; the images are this library's own.
## Config fields used: dim, components, columns, work_group_size, lockstep, images, periodic.
<%namespace name="periodic_images" file="/domain/periodic_images.mako"/>
<%namespace name="lattice" file="/domain/lattice.mako"/>
<%def name="functions()">
// The first and the last cell of the window that reaches `reach` around x, both clamped to the cells from first to last.
% if columns:
int frnn_window_from(const real x, const real reach, const real low, const real inverse, const int first, const int last)
{
    return frnn_cell(x - reach, low, inverse, first, last);
}
int frnn_window_to(const real x, const real reach, const real low, const real inverse, const int first, const int last)
{
    return frnn_cell(x + reach, low, inverse, first, last);
}
% else:
// On a GPU a reach of nearly a whole number of cells counts as that number. Otherwise the windows of some neighboring
// queries would begin one cell apart from the others, and work-items in lockstep would visit different cells.
int frnn_whole_cells(const real reach, const real inverse) { return (int)fmin(reach * inverse + FRNN_REAL(0.15), (real)65536); }

int frnn_window_from(const real x, const real reach, const real low, const real inverse, const int first, const int last)
{
    const int whole = frnn_coordinate(x, low, inverse) - frnn_whole_cells(reach, inverse);
    return clamp(min(whole, frnn_coordinate(x - reach, low, inverse)), first, last);
}
int frnn_window_to(const real x, const real reach, const real low, const real inverse, const int first, const int last)
{
    const int whole = frnn_coordinate(x, low, inverse) + frnn_whole_cells(reach, inverse);
    return clamp(max(whole, frnn_coordinate(x + reach, low, inverse)), first, last);
}
% endif
</%def>

## Whether work-items in lockstep vote on the loop that they take. Barriers then stand in the kernel, and none returns
## before them.
<%def name="votes(function)"><% return images == "wraps_once" and function.light and lockstep > 1 %></%def>

<%def name="wrapped(cell)">
## cell(k) is the arguments that describe the cells of an axis to frnn_window_from and frnn_window_to.
% for k, component in enumerate(components):
    // Where the window passes an edge, its first or last cell is that of the query's image at the other side of the box, and
    // the number of that cell continues those of the box. A query at infinity passes no edge, because it has no neighbors.
<% q = periodic_images.position(k) %>\
    const int frnn_below${k} = ${q} > -INFINITY && ${q} - frnn_reach${k} < frnn_first_edges.s${k};
    const int frnn_above${k} = ${q} < INFINITY && ${q} + frnn_reach${k} >= frnn_last_edges.s${k};
    const int frnn_from${k} =
        frnn_window_from(${q} + (frnn_below${k} ? frnn_lengths.s${k} : 0), frnn_reach${k}, ${cell(k)})
        - (frnn_below${k} ? frnn_hindmost.s${k} + 1 : 0);
    int frnn_to${k} =
        frnn_window_to(${q} - (frnn_above${k} ? frnn_lengths.s${k} : 0), frnn_reach${k}, ${cell(k)})
        + (frnn_above${k} ? frnn_hindmost.s${k} + 1 : 0);
    if (!(frnn_below${k} | frnn_above${k})) frnn_to${k} = frnn_min(frnn_to${k}, frnn_from${k} + frnn_shape.s${k} - 1);
% endfor
</%def>

<%def name="wrapped_cell(k)">
    // The image in which a cell of the window lies, the displacement of that image, and the cell's index on its axis.
<% base = lattice.counted("frnn_base") %>\
    const int ${base}${k} = (frnn_at${k} > frnn_hindmost.s${k}) - (frnn_at${k} < frnn_foremost.s${k});
% if reduced:
% elif skewed:
    ${part(f"frnn_part{k}_", k, f"frnn_base{k}")}
% else:
    const real frnn_displacement${k} = (real)frnn_base${k} * frnn_lengths.s${k};
% endif
    const int frnn_index${k} = (frnn_at${k} - ${base}${k} * (frnn_hindmost.s${k} + 1)) & frnn_mask.s${k};
</%def>

<%def name="part(name, axis, shift)">
## Declares the part of a displacement that one lattice vector has in it: NAME0, NAME1, ...
% for k in range(dim):
    const real ${name}${k} = (real)${shift} * frnn_vector${axis}.s${k};
% endfor
</%def>

<%def name="add_parts(name, first)">
## Declares the sum of the parts of all lattice vectors, of which `first` is that of the first one: NAME0, NAME1, ...
% for k in range(dim):
    const real ${name}${k} = ${lattice.sum_of([first.format(k=k), *(f"frnn_part{axis}_{k}" for axis in range(1, dim))])};
% endfor
</%def>

<%def name="displace(base, displacement, first, image)">
## Declares the shift to an image along the caller's vectors, BASE0, BASE1, ..., and its displacement, where images are counted
## along combinations of them. `first` is the number along the first one; those along others are what wrapped_cell declares, or
## none in images "along" the first axis.
<% numbers = [first, *("0" if image == "along" else lattice.counted("frnn_base") + str(axis) for axis in range(1, dim))] %>\
% for k in range(dim):
    const int ${base}${k} = ${" + ".join(f"{number} * frnn_combination{axis}.s{k}" for axis, number in enumerate(numbers))};
% endfor
% for k in range(dim):
    const real ${displacement}${k} = ${lattice.translation(k, base, "")};
% endfor
</%def>

<%def name="each_nest(function, cut)">
## The body is the loops over the cells of a window. It stands in the kernel three times: for windows that pass no edge
## ("plain"), that pass an edge of the first axis alone ("along"), and that pass any ("moved"). A function that is neither
## light nor looks ahead stands in the kernel once, for the last of these. cut: whether a window needs more than "plain" on the first axis.
% if not (function.light or function.ahead):
    ${caller.body(image="moved")}
% else:
<% passed = " | ".join(f"frnn_below{k} | frnn_above{k}" for k in range(1, dim)) %>\
    const int frnn_own_nest = (${passed}) ? 2 : ${cut};
% if votes(function):
    // Work-items in lockstep all take the most general nest that one of them needs, because they would run different
    // nests one after the other.
<% teams = -(-work_group_size // lockstep) %>\
    local int frnn_nests[${teams}];
    const int frnn_team = (int)get_local_id(0) / ${lockstep};
    if ((int)get_local_id(0) < ${teams}) frnn_nests[get_local_id(0)] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (frnn_own_nest && !frnn_idle) atomic_max(&frnn_nests[frnn_team], frnn_own_nest);
    barrier(CLK_LOCAL_MEM_FENCE);
    const int frnn_nest = frnn_nests[frnn_team];
    if (frnn_idle) return;
% else:
    const int frnn_nest = frnn_own_nest;
% endif
    if (frnn_nest == 0) {
        ${caller.body(image="plain")}
    } else if (frnn_nest == 1) {
        ${caller.body(image="along")}
    } else {
        ${caller.body(image="moved")}
    }
% endif
</%def>
