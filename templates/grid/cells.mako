<%include file="/common/geometry.mako"/>
<%include file="/common/cell_coordinate.mako"/>
<%include file="/grid/cell_window.mako"/>
<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="hit_mask" file="/first_pass/hit_mask.mako"/>
<%namespace name="places" file="/common/point_layout.mako"/>
<%namespace name="periodic_box" file="/common/periodic_images.mako"/>
<%namespace name="seams" file="/grid/wrapped_window.mako"/>
<%namespace name="neighbor_buffer" file="/first_pass/neighbor_buffer.mako"/>
// Cells on a torus: the address of a point, and the window of a query.
// Config fields used: dim, components, columns, periodic, lockstep, foreign, placed, part, images, first_pass.

${periodic_box.numbers() if function is None else ""}
<%def name="grid(name)" filter="trim">
## The numbers of a CellGrid. A cell's place on its axis is its coordinate & mask: itself, or its remainder on a torus.
const frnn_record ${name}low, const frnn_record ${name}inverse, const int4 ${name}shape, const int4 ${name}mask,
    const int4 ${name}foremost, const int4 ${name}hindmost\
% if periodic:
, const frnn_record ${name}lengths, const frnn_record ${name}pads,
    const frnn_record ${name}first_edges, const frnn_record ${name}last_edges, global const real *restrict ${name}images\
% endif
</%def>

<%def name="lane(k, p)">
    // The cell that holds p on axis ${k}, an image of p where the axis is periodic.
% if periodic:
    const real at${k} = ${p}${components[k]} - (real)frnn_image(${p}${components[k]}, frnn_start${k}, frnn_turns${k}) * frnn_length${k};
% else:
    const real at${k} = ${p}${components[k]};
% endif
    const int lane${k} = frnn_cell(at${k}, low.s${k}, inverse.s${k}, foremost.s${k}, hindmost.s${k}) & mask.s${k};
</%def>

<%def name="row(p)">
    // The last of the numbers of the cell that holds p: addresses go up with it.
% if periodic:
    ${periodic_box.home("images")}
% endif
    ${lane(dim - 1, p)}
    const int row = lane${dim - 1};
</%def>

<%def name="address(p)">
    // The address of the cell that holds p, of the image of p that lies in the box where an axis is periodic.
% if periodic:
    ${periodic_box.home("images")}
% endif
% for k in range(dim):
    ${lane(k, p)}
% endfor
    const int address = ${"(lane2 * shape.s1 + lane1)" if dim == 3 else "lane1"} * shape.s0 + lane0;
</%def>

<%def name="arguments(starts='frnn_starts')">
    const int frnn_n, ${places.constant_array("frnn_sorted")},
    global const int *restrict ${starts},
    ${grid("frnn_")}\
% if placed:
,
    const int frnn_many, ${places.constant_array("frnn_placed")}\
% endif
</%def>

<%def name="take_query(function)">
    ${neighbor_buffer.declare()}
% if seams.agree(function) or hit_mask.meets(function):
    // Idle items stay for the barriers, in the first one's place.
    int frnn_idle = frnn_first + (int)get_global_id(0) >= frnn_end;
% if periodic_box.left_to_others():
    frnn_idle |= ${periodic_box.left_to_others()};
% endif
    const int frnn_unit = frnn_idle ? frnn_first : frnn_first + (int)get_global_id(0);
    const int frnn_own_place = frnn_unit;
    ${places.query("frnn_own_place")}
% if part:
    frnn_idle |= (i < frnn_part_first) | (i >= frnn_part_end);
% endif
% else:
    ${periodic_box.leave_to_others()}
    const int frnn_unit = frnn_first + (int)get_global_id(0);
    if (frnn_unit >= frnn_end) return;
    ${neighbor_buffer.leave_stored()}
    const int frnn_own_place = frnn_unit;
    ${places.query("frnn_own_place")}
% if part:
    if (i < frnn_part_first || i >= frnn_part_end) return;
% endif
% endif
</%def>

<%def name="cell(k)" filter="trim">
frnn_low.s${k}, frnn_inverse.s${k}, frnn_foremost.s${k}, frnn_hindmost.s${k}
</%def>

<%def name="window()">
    // The cells that the query meets within its reach, which is the radius padded for rounding.
    // A window as wide as the torus stops before it comes round: each address is visited once.
% for k, component in enumerate(components):
<% window = f"frnn_seen{k}, frnn_reach{k}" if periodic else f"frnn_q{component}, frnn_reach" %>\
    const int frnn_from${k} = frnn_window_from(${window}, ${cell(k)});
    const int frnn_to${k} = frnn_min(frnn_window_to(${window}, ${cell(k)}), frnn_from${k} + frnn_shape.s${k} - 1);
% endfor
</%def>

<%def name="rows(image)">
    // Rows of cells along the first axis; in the body, frnn_row is the address of the row's first cell.
% for k in reversed(range(1, dim)):
    for (int frnn_at${k} = frnn_from${k}; frnn_at${k} <= frnn_to${k}; ++frnn_at${k}) {
% if images == "wraps_once" and image == "moved":
    ${seams.place(k)}
% else:
    const int frnn_lane${k} = frnn_at${k} & frnn_mask.s${k};
% endif
% endfor
    const int frnn_row = ${"(frnn_lane2 * frnn_shape.s1 + frnn_lane1)" if dim == 3 else "frnn_lane1"} * frnn_shape.s0;
${caller.body()}
% for k in range(1, dim):
    }
% endfor
</%def>
