## Defines cells on a torus: the address of a point, the window of a query, and the loops over the rows of a window.
## Including this file includes what the definitions call. In scope for address and row: the parameters of grid("").
## Config fields used: dim, components, columns, periodic, lockstep, foreign, placed, part, images, first_pass.
<%include file="/common/geometry.mako"/>
<%namespace name="cell_coordinate" file="/domain/cell_coordinate.mako"/>
<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="hit_mask" file="/methods/first_pass/hit_mask.mako"/>
<%namespace name="point_layout" file="/methods/point_layout.mako"/>
<%namespace name="periodic_images" file="/domain/periodic_images.mako"/>
<%namespace name="lattice" file="/domain/lattice.mako"/>\
<%namespace name="cell_window" file="/methods/grid/cell_window.mako"/>
<%namespace name="neighbor_buffer" file="/methods/first_pass/neighbor_buffer.mako"/>
${cell_coordinate.functions(columns)}
${cell_window.functions()}
${periodic_images.functions() if function is None else ""}
<%def name="grid(name)" filter="trim">
## The parameters of a CellGrid. A cell's index on its axis is its coordinate & mask: the coordinate, or its remainder
## on a torus. Where each system has cells of its own, these numbers are read from tables: see own_grid.
% if own_cells:
${lattice.array(name)}
% else:
const frnn_record ${name}low, const frnn_record ${name}inverse, const int4 ${name}shape, const int4 ${name}mask,
    const int4 ${name}foremost, const int4 ${name}hindmost\
% if batched:
, ${lattice.array(name)}\
% elif periodic:
, const frnn_record ${name}lengths, const frnn_record ${name}pads,
    const frnn_record ${name}first_edges, const frnn_record ${name}last_edges, \
% if skewed:
${"".join(f"const frnn_record {name}vector{axis}, " for axis in range(dim))}\
${"".join(f"const int4 {name}combination{axis}, " for axis in range(dim)) if reduced else ""}\
% endif
global const real *restrict ${name}images\
% endif
% endif
</%def>

<%def name="own_grid(name)">
% if own_cells:
    // The cells of the system, as grid has them for all points otherwise.
    global const int *const ${name}own_shape = (global const int *)${name}tables + ((global const int *)${name}tables)[1] + 4 * ${name}system;
    const int ${name}wrapped = ${name}own_shape[0] < 0;
    const int4 ${name}given_shape = (int4)(${name}own_shape[0], ${name}own_shape[1], ${name}own_shape[2], 1);
    const int4 ${name}shape = ${name}wrapped ? -${name}given_shape : ${name}given_shape;
    const int4 ${name}mask = ${name}wrapped ? ${name}shape - 1 : (int4)(-1);
    const int4 ${name}foremost = ${name}wrapped ? (int4)(-536870912) : (int4)(0);
    const int4 ${name}hindmost = ${name}wrapped ? (int4)(536870912) : ${name}shape - 1;
    const frnn_record ${name}low = ${lanes_of(name, "displacement")}, ${name}inverse = ${lanes_of(name, "moved")};
% if name and images == "wraps_once":
    const frnn_record ${name}lengths = ${lanes_from(name, 0)};
    const frnn_record ${name}first_edges = ${lanes_from(name, 5 * dim)}, ${name}last_edges = ${lanes_from(name, 6 * dim)};
% for axis in range(dim):
    const frnn_record ${name}vector${axis} = ${lanes_from(name, 11 * dim + 4 + dim * dim + axis * dim)};
% if reduced:
    const int4 ${name}combination${axis} = (int4)(${", ".join([lattice.combination(axis, k, f"{name}images") for k in range(dim)] + ["0"] * (4 - dim))});
% endif
% endfor
% endif
% if name:
    global const int *restrict frnn_starts = frnn_all_starts + ${name}own_shape[3];
% endif
% endif
</%def>

<%def name="lanes_of(name, column)" filter="trim">
(frnn_record)(${", ".join([getattr(lattice, column)(k, f"{name}images") for k in range(dim)] + ["0"] * (4 - dim))})
</%def>

<%def name="lanes_from(name, first)" filter="trim">
(frnn_record)(${", ".join([f"{name}images[{first + k}]" for k in range(dim)] + ["0"] * (4 - dim))})
</%def>

<%def name="axis_index(k, p, grid='')">
    // The index on axis ${k} of the cell that holds p, or the image of p in the box where the axis is periodic.
<% x = lattice.placed(p, f"{grid}images") + components[k] %>\
% if periodic:
    const real at${k} = ${x} - (real)frnn_image(${x}, frnn_start${k}, frnn_image_inverse${k}) * frnn_length${k};
% else:
    const real at${k} = ${x};
% endif
    const int index${k} =
        frnn_cell(at${k}, ${grid}low.s${k}, ${grid}inverse.s${k}, ${grid}foremost.s${k}, ${grid}hindmost.s${k}) & ${grid}mask.s${k};
</%def>

<%def name="row(p)">
    // The index on the last axis of the cell that holds p. Addresses increase with it.
% if periodic:
    ${periodic_images.load_box("images")}
% endif
    ${axis_index(dim - 1, p)}
    const int row = index${dim - 1};
</%def>

<%def name="address(p, grid='')">
    // The address of the cell that holds p, or the image of p in the box where an axis is periodic.
% if periodic:
    ${periodic_images.load_box(f"{grid}images")}
% endif
% for k in range(dim):
    ${axis_index(k, p, grid)}
% endfor
    const int address = ${"own_shape[3] + " if own_cells else ""}${f"(index2 * {grid}shape.s1 + index1)" if dim == 3 else "index1"} * ${grid}shape.s0 + index0;
</%def>

<%def name="arguments(starts='')">
    const int frnn_n, ${point_layout.constant_array("frnn_sorted")},
    global const int *restrict ${starts or ("frnn_all_starts" if own_cells else "frnn_starts")},
    ${grid("frnn_")}\
% if placed:
,
    const int frnn_many, ${point_layout.constant_array("frnn_placed")}\
% endif
</%def>

<%def name="take_query(function)">
    ${neighbor_buffer.declare()}
% if cell_window.votes(function) or hit_mask.writes_together(function):
    // Idle work-items stay for the barriers. They take the first query of the launch.
    int frnn_idle = frnn_first + (int)get_global_id(0) >= frnn_end;
% if periodic_images.idle_condition():
    frnn_idle |= ${periodic_images.idle_condition()};
% endif
    const int frnn_unit = frnn_idle ? frnn_first : frnn_first + (int)get_global_id(0);
    const int frnn_own_place = frnn_unit;
    ${point_layout.load_query("frnn_own_place")}
% if part:
    frnn_idle |= (i < frnn_part_first) | (i >= frnn_part_end);
% endif
% else:
    ${periodic_images.return_if_idle()}
    const int frnn_unit = frnn_first + (int)get_global_id(0);
    if (frnn_unit >= frnn_end) return;
    ${neighbor_buffer.return_if_stored()}
    const int frnn_own_place = frnn_unit;
    ${point_layout.load_query("frnn_own_place")}
% if part:
    if (i < frnn_part_first || i >= frnn_part_end) return;
% endif
% endif
</%def>

<%def name="cell(k)" filter="trim">
## What describes the cells of an axis to the functions of /methods/grid/cell_window.mako.
frnn_low.s${k}, frnn_inverse.s${k}, ${f"frnn_lowest{k}, frnn_highest{k}" if batched and not own_cells else f"frnn_foremost.s{k}, frnn_hindmost.s{k}"}
</%def>

<%def name="window()">
    // The cells within the reach of the query. The reach is the radius, padded for rounding. A window that is wider
    // than the torus ends after one round, so that each address is visited once.
% for k, component in enumerate(components):
% if batched and not own_cells:
    // The cells in which points of the query's system lie, beyond which are other systems.
<% ends = f"frnn_low.s{k}, frnn_inverse.s{k}, frnn_foremost.s{k}, frnn_hindmost.s{k}" %>\
    const int frnn_lowest${k} = frnn_cell(${lattice.lowest(k, "frnn_images")} - frnn_images[${4 * dim + k}], ${ends});
    const int frnn_highest${k} = frnn_cell(${lattice.highest(k, "frnn_images")} + frnn_images[${4 * dim + k}], ${ends});
% endif
<% window = f"frnn_seen{k}, frnn_reach{k}" if periodic else f"frnn_q{component}, frnn_reach" %>\
    const int frnn_from${k} = frnn_window_from(${window}, ${cell(k)});
    const int frnn_to${k} = frnn_min(frnn_window_to(${window}, ${cell(k)}), frnn_from${k} + frnn_shape.s${k} - 1);
% endfor
</%def>

<%def name="is_last_row()" filter="trim">
## In the body of rows: whether no row follows.
(${" & ".join([f"(frnn_at{k} == frnn_to{k})" for k in range(1, dim)])})
</%def>

<%def name="rows(image)">
    // The rows of cells along the first axis. In the body, frnn_row is the address of the row's first cell.
% for k in reversed(range(1, dim)):
    for (int frnn_at${k} = frnn_from${k}; frnn_at${k} <= frnn_to${k}; ++frnn_at${k}) {
% if images == "wraps_once" and image == "moved":
    ${cell_window.wrapped_cell(k)}
% else:
    const int frnn_index${k} = frnn_at${k} & frnn_mask.s${k};
% endif
% endfor
    const int frnn_row = ${"(frnn_index2 * frnn_shape.s1 + frnn_index1)" if dim == 3 else "frnn_index1"} * frnn_shape.s0;
${caller.body()}
% for k in range(1, dim):
    }
% endfor
</%def>

<%def name="ends_of_runs()">
    // A strip that passes the end of the torus goes on at the first cell of its row.
    const int frnn_begin = frnn_from0 & frnn_mask.s0;
    const int frnn_finish = frnn_begin + (frnn_to0 - frnn_from0) + 1;
</%def>

<%def name="runs()">
    // In the body of rows: the runs of a strip. In the body, frnn_t and frnn_stop are the first place of a run and the place
    // behind its last.
    for (int frnn_first0 = frnn_begin, frnn_left = frnn_finish; frnn_left > 0; frnn_first0 = 0, frnn_left -= frnn_shape.s0) {
        int frnn_t = frnn_starts[frnn_row + frnn_first0];
        const int frnn_stop = frnn_starts[frnn_row + frnn_min(frnn_left, frnn_shape.s0)];
${caller.body()}
    }
</%def>
