## Defines what a search in a cell that is no box needs beyond a box: heights, in which points are placed, and translations,
## in which they are shifted. The height of a point over an axis is its distance from the plane that the other lattice vectors
## span. Images differ in heights by the heights of the cell, as images in a box differ in coordinates by its lengths.
## `numbers` is the image table of a cell: that of a box, see /domain/period_numbers.mako, and behind it the growth of reaches;
## the pad of coordinates and heights; the pad of the farthest queries that tiles serve; for each axis the pad of a query for
## each unit of its height, the largest height at which images are distinguished, and the lowest and the highest height of
## points; the normals, and the lattice vectors that the caller gave, zeros where an axis is not periodic.
## Where these are far from the shortest vectors of their lattice, images are counted along combinations of them, `reduced`:
## heights are those over the combinations, and so are the numbers of an image. The combinations stand at the end of
## the table; a row of them says how often each vector of the caller is in one. Shifts and translations are always along the
## vectors of the caller: see caller_shift.
## Many systems have a table each, `batched`: behind the lattice vectors come the displacements of heights, and of positions, by
## which each system lies in a slot of its own. Where each system has `own_cells`, the low corner and the inverse sides of these
## stand there instead, and nothing is displaced. These tables lie in one array of numbers. It begins with eight ints: where the
## tables begin, in numbers, and where the shapes of cells begin, in ints. Behind them is the system of each point, and then
## the shape of each system's cells, three ints, and the address of the first of these cells. The third of the eight ints is
## the number of systems; behind the table of the last is one for queries of no system.
## In scope for begin_query: frnn_q, frnn_reach and frnn_images.
## Config fields used: dim, periodic, skewed, batched, reduced, foreign, inline, images.
<%def name="growth(numbers)" buffered="True" filter="trim">${numbers}[${7 * dim + 1}]</%def>
<%def name="pad(numbers)" buffered="True" filter="trim">${numbers}[${7 * dim + 2}]</%def>
<%def name="far_pad(numbers)" buffered="True" filter="trim">${numbers}[${7 * dim + 3}]</%def>
<%def name="weight(k, numbers)" buffered="True" filter="trim">${numbers}[${7 * dim + 4 + k}]</%def>
<%def name="most(k, numbers)" buffered="True" filter="trim">${numbers}[${8 * dim + 4 + k}]</%def>
<%def name="lowest(k, numbers)" buffered="True" filter="trim">${numbers}[${9 * dim + 4 + k}]</%def>
<%def name="highest(k, numbers)" buffered="True" filter="trim">${numbers}[${10 * dim + 4 + k}]</%def>
<%def name="normal(axis, k, numbers)" buffered="True" filter="trim">${numbers}[${11 * dim + 4 + dim * axis + k}]</%def>
## Without `numbers`, the lattice vectors are arguments by value: see grid of /methods/grid/cells.mako.
<%def name="vector(axis, k, numbers)" buffered="True" filter="trim">
${f"{numbers}[{11 * dim + 4 + dim * dim + dim * axis + k}]" if numbers else f"frnn_vector{axis}.s{k}"}
</%def>

<%def name="displacement(k, numbers)" buffered="True" filter="trim">${numbers}[${11 * dim + 4 + 2 * dim * dim + k}]</%def>
<%def name="moved(k, numbers)" buffered="True" filter="trim">${numbers}[${12 * dim + 4 + 2 * dim * dim + k}]</%def>

## Without `numbers`, the combinations are arguments by value, as the lattice vectors are.
<%def name="combination(axis, k, numbers)" buffered="True" filter="trim">
${f"(int){numbers}[{(13 if batched else 11) * dim + 4 + 2 * dim * dim + dim * axis + k}]" if numbers else f"frnn_combination{axis}.s{k}"}
</%def>

<%def name="shift(k, image, numbers)" buffered="True" filter="trim">
## How many of vector k of the caller lead to an image, where images are counted along combinations: image0 along the first,
## image1 along the second, ... The numbers of the image of a point that is not finite may overflow.
(int)(${" + ".join(f"(uint){image}{axis} * (uint)({combination(axis, k, numbers)})" for axis in range(dim))})
</%def>

<%def name="caller_shift(name, image, numbers)">
## Declares NAME0, NAME1, ..., the shift of an image in vectors of the caller, from the numbers by which it is counted.
% for k in range(dim):
    const int ${name}${k} = ${shift(k, image, numbers) if reduced else f"{image}{k}"};
% endfor
</%def>

<%def name="counted(name)" buffered="True" filter="trim">
## The stem of the names of an image's numbers as it is counted; NAME itself is the stem of its shift in the caller's vectors.
${f"{name}_counted" if reduced else name}
</%def>

<%def name="table_size()" buffered="True" filter="trim">
${(3 if reduced else 2) * dim * dim + 13 * dim + 4}
</%def>

<%def name="array(name)" filter="trim">
## The parameter that holds the image table, or the tables of all systems.
global const real *restrict ${name}${"tables" if batched else "images"}
</%def>

<%def name="choose_table(name, i)" filter="trim">
## The image table of the system of point i.
% if batched:
${table_of(name, of_point(name, i))}
% endif
</%def>

<%def name="of_point(name, i)" buffered="True" filter="trim">((global const int *)${name}tables)[8 + ${i}]</%def>

<%def name="known_system()" buffered="True" filter="trim">
## The system that a kernel of a user passes for a query, or the place behind the last for any other number.
(int)min((uint)(frnn_system_), (uint)((global const int *)frnn_tables)[2])
</%def>

<%def name="table_of(name, system)" buffered="True" filter="trim">
const int ${name}system = ${system};
    global const real *restrict ${name}images =
        ${name}tables + ((global const int *)${name}tables)[0] + (size_t)${name}system * ${table_size()};
</%def>

<%def name="period_of(tables, system)" filter="trim">
## The image table of a system, which begins as a period does: see /methods/domain_tables/periodic_images.cl.mako.
global const real *restrict period =
            ${tables} + ((global const int *)${tables})[0] + (size_t)(${system}) * ${table_size()};
</%def>

<%def name="normal_of_period(axis, k)" buffered="True" filter="trim">
period[${(11 * dim + 4 if batched else 6 * dim) + axis * dim + k}]
</%def>
<%def name="vector_of_period(axis, k)" buffered="True" filter="trim">
period[${(11 * dim + 4 if batched else 6 * dim) + (dim + axis) * dim + k}]
</%def>

<%def name="combination_of_period(axis, k)" buffered="True" filter="trim">
(int)period[${(13 * dim + 4 if batched else 6 * dim) + (2 * dim + axis) * dim + k}]
</%def>

<%def name="sum_of(terms)" buffered="True" filter="trim">
## The terms are added from the left, as the contract says of translations.
% if len(terms) == 1:
${terms[0]}
% else:
${"(" * (len(terms) - 2)}${terms[0]} + ${terms[1]}${"".join(f") + {term}" for term in terms[2:])}
% endif
</%def>

<%def name="height(axis, coordinates, numbers)" buffered="True" filter="trim">
<% terms = [f"{normal(axis, k, numbers)} * {coordinate}" for k, coordinate in enumerate(coordinates)] %>\
${f"({sum_of(terms)}) + {displacement(axis, numbers)}" if batched and not own_cells else sum_of(terms)}
</%def>

<%def name="translation(k, shift, numbers)" buffered="True" filter="trim">
## Coordinate k of a sum of lattice vectors of the caller: shift0 of the first, shift1 of the second, ...
${sum_of([f"(real){shift}{axis} * {vector(axis, k, numbers)}" for axis in range(dim)])}
</%def>

<%def name="functions()">
// The heights of a point: positions and images of points in a cell follow from these as from coordinates in a box.
real_vec frnn_heights(const real_vec p, global const real *restrict numbers)
{
    return (real_vec)(${", ".join([height(axis, [f"p{component}" for component in components], "numbers") for axis in range(dim)] + ["0"] * (vector_length - dim))});
}
</%def>

<%def name="placed(p, numbers='frnn_images')" buffered="True" filter="trim">
## The coordinates by which a point is placed: its heights in a cell, and its own coordinates otherwise.
${f"frnn_heights({p}, {numbers})" if skewed else p}
</%def>

<%def name="begin_query()">
% if batched:
    ${table_of("frnn_", "frnn_query_systems[i]" if foreign else known_system() if inline else of_point("frnn_", "i"))}
% endif
    // The heights of the query take the part that coordinates have in a box. frnn_padded is the reach with the pad of the
    // query, where it is no point of the index; frnn_pad, by which boxes of coordinates are wider, is all of its pads.
    const real_vec frnn_height = frnn_heights(frnn_q, frnn_images);
% if images != "wraps_once":
% if foreign or inline:
    const real frnn_query_pad = ${sum_of([f"{weight(k, 'frnn_images')} * fabs(frnn_height{components[k]})" for k in range(dim)])};
% else:
    const real frnn_query_pad = 0;
% endif
    const real frnn_padded = frnn_reach * ${growth("frnn_images")} + frnn_query_pad;
    const real frnn_pad = frnn_padded - frnn_reach + ${pad("frnn_images")};
% endif
</%def>
