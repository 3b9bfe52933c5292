<%include file="/common/geometry.mako"/>
<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="boxes" file="/tree/node_boxes.mako"/>
<%namespace name="packs" file="/tree/packets.mako"/>
<%namespace name="bands_of" file="/tree/packet_bands.mako"/>
<%namespace name="chunks" file="/tree/packet_tiles.mako"/>
<%namespace name="places" file="/common/point_layout.mako"/>
<%namespace name="runs" file="/traversal/candidate_run.mako"/>
<%namespace name="visit" file="/traversal/visit.mako"/>
// A balanced tree of bounding boxes over points in the order of a space-filling curve.
// Launch: one work-item per query, or in packs one for each share of its leaves, groups of ${work_group_size}; queries that are the
// points come in the tree's order, others in that of a curve, or by number.
// Exact because no box is farther from a query than a point in it: see boxes.cl.mako.
// Source: Xing, Wang, Hui (2016), algorithm 1; without its stack.
// Config fields used: work_group_size, dim, periodic, packed, many, shares, sorts, ranks, foreign, radii, part.
${boxes.functions()}
% if packed:
${packs.functions()}
% endif
<%def name="arguments()">
    const int frnn_n, ${places.constant_array("frnn_sorted")}, ${boxes.constant_array("frnn_boxes")}, const int frnn_leaves,
    const int frnn_last_node, const int frnn_leaf_size
% if periodic:
    , global const real *restrict frnn_images
% endif
% if (sorts and foreign or ranks and radii) and not inline:
    , global const int *restrict frnn_order
% endif
</%def>

<%def name="turn(unit)" filter="trim">
## The number or place of the query whose turn it is.
${f"frnn_order[{unit}]" if sorts and foreign or ranks and radii else unit}
</%def>

<%def name="take_query()">
% if packed:
    // Idle items stay for the barriers, in the place of the first.
    ${packs.declare()}
    ${chunks.declare(function)}
    const int frnn_l = get_local_id(0), frnn_unit = frnn_first + (int)get_global_id(0);
% if shares > 1:
<% of_group = work_group_size // shares %>\
    // Items of the same place in a share have the same query; where the last one's is none, nor are the others'.
    int frnn_active = (frnn_unit | ${work_group_size - of_group}) < frnn_end;
    const int frnn_turn = (frnn_active ? frnn_unit : frnn_first) / ${work_group_size} * ${of_group} + (frnn_active ? frnn_l % ${of_group} : 0);
% else:
    int frnn_active = frnn_unit < frnn_end;
    const int frnn_turn = frnn_active ? frnn_unit : frnn_first;
% endif
    const int frnn_own_place = ${turn("frnn_turn")};
% if foreign:
    int i = frnn_own_place;
    const real_vec frnn_q = ${geometry.load("frnn_queries", "i")};
% else:
    int i = ${places.point_id("frnn_own_place")};
    const real_vec frnn_q = ${places.point("frnn_own_place")};
% endif
% if part:
    frnn_active &= i >= frnn_part_first & i < frnn_part_end;
    if (!frnn_active) i = frnn_part_first;
% endif
% else:
    const int frnn_unit = frnn_first + (int)get_global_id(0);
    if (frnn_unit >= frnn_end) return;
    const int frnn_own_place = ${turn("frnn_unit")};
    ${places.query("frnn_own_place")}
% if part:
    if (i < frnn_part_first || i >= frnn_part_end) return;
% endif
% endif
</%def>

<%def name="leaf(function, image, node)">
            // Leaves behind the last point, for whom the box of the last one stands, may begin beyond an int; they hold nothing.
            const long frnn_begin = (long)(${node} - frnn_leaves) * frnn_leaf_size;
            int frnn_t = frnn_begin < frnn_n ? (int)frnn_begin : frnn_n;
            const int frnn_stop = frnn_t + frnn_min(frnn_leaf_size, frnn_n - frnn_t);
            ${runs.run(function, image)}
</%def>

<%def name="depth_first(function, image)">
    // From the root on, every subtree whose box the query touches; the way back is in the number of the node.
    int frnn_node = 1;
    do {
        ${boxes.apart("frnn_boxes", "frnn_min(frnn_node, frnn_last_node)", "frnn_node_")}
        if (frnn_node_apart <= ${boxes.bound()}) {
            if (frnn_node < frnn_leaves) {
                frnn_node *= 2;
                continue;
            }
            ${leaf(function, image, "frnn_node")}
        }
        frnn_node = frnn_behind_subtree(frnn_node);
    } while (frnn_node != 1);
</%def>

<%def name="closest_first(function, image)">
    // Of two children the closer one first, as what it holds may lower reach2 so far that the other is left out. Each bit
    // of frnn_way is a level on the way down, the last one its lowest: whether the other child was looked at, too.
    int frnn_node = 1, frnn_way = 1, frnn_touches = 1;
    while (frnn_node) {
        if (frnn_touches & (frnn_node < frnn_leaves)) {
            const int frnn_children = 2 * frnn_node;
            ${boxes.apart("frnn_boxes", "frnn_min(frnn_children, frnn_last_node)", "frnn_left_")}
            ${boxes.apart("frnn_boxes", "frnn_min(frnn_children + 1, frnn_last_node)", "frnn_right_")}
            const int frnn_turn = frnn_right_apart < frnn_left_apart;
            frnn_node = frnn_children + frnn_turn;
            frnn_way *= 2;
            frnn_touches = (frnn_turn ? frnn_right_apart : frnn_left_apart) <= ${boxes.bound()};
            // Not even the closer one: the other is done as well.
            frnn_way |= !frnn_touches;
            continue;
        }
        if (frnn_touches) {
            ${leaf(function, image, "frnn_node")}
        }
        while (frnn_node > 1 && frnn_way & 1) {
            frnn_node /= 2;
            frnn_way /= 2;
        }
        if (frnn_node <= 1) break;
        frnn_way |= 1;
        frnn_node ^= 1;
        ${boxes.apart("frnn_boxes", "frnn_min(frnn_node, frnn_last_node)", "frnn_other_")}
        frnn_touches = frnn_other_apart <= ${boxes.bound()};
    }
</%def>

<%def name="together(function)">
## Leaves that nothing of is out of reach are counted as they are.
<% whole = many and function.light and not (half or periodic or first_pass) %>\
    ${visit.take_up(function, "frnn_active")}
    ${packs.gather()}
% if whole:
    // Where the first leaf begins that may hold other than so many points within its box: the last one, or any where a point
    // is not finite.
    const int frnn_full = ${boxes.all_finite("frnn_boxes")} > 0 ? frnn_n / frnn_leaf_size * frnn_leaf_size : 0;
% endif
    <%visit:each_image args="image">
        <%packs:descend>
        ${bands_of.divide(whole)}
        ${chunks.go_through(function, image, whole)}
        </%packs:descend>
    </%visit:each_image>
% if shares > 1:
    ${bands_of.put_together("frnn_count")}
% endif
    if (frnn_active) ${visit.lay_down(function)}
</%def>

<%def name="walk(function)">
% if packed:
    ${together(function)}
% else:
    ${alone(function)}
% endif
</%def>

<%def name="alone(function)">
    ${visit.take_up(function)}
    <%visit:each_image args="image">
% if function.lowers:
        ${closest_first(function, image)}
% else:
        ${depth_first(function, image)}
% endif
    </%visit:each_image>
    ${visit.lay_down(function)}
</%def>
<%visit:program function="${function}" arguments="${arguments}" walk="${walk}" point="${places.point}" point_id="${places.point_id}">
    ${take_query()}
    ${walk(function)}
</%visit:program>
