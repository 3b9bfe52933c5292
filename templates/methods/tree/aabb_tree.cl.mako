<%include file="/common/geometry.mako"/>
<%namespace name="condition" file="/methods/condition.mako"/>
<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="lattice" file="/domain/lattice.mako"/>\
<%namespace name="node_boxes" file="/methods/tree/node_boxes.mako"/>
<%namespace name="packets" file="/methods/tree/packets.mako"/>
<%namespace name="packet_bands" file="/methods/tree/packet_bands.mako"/>
<%namespace name="packet_tiles" file="/methods/tree/packet_tiles.mako"/>
<%namespace name="point_layout" file="/methods/point_layout.mako"/>
<%namespace name="candidate_run" file="/methods/candidate_run.mako"/>
<%namespace name="visit" file="/methods/visit.mako"/>
// Runs a function for every neighbor of each query, through a balanced tree of bounding boxes over points in the order
// of a space-filling curve.
// Launch: one work-item per query, groups of ${work_group_size}. In packets, all queries of a group go down the tree
// together, and each has a work-item for each share of its leaves. Queries that are the points come in search order;
// others come in the order of the curve, of their radii, or of their numbers.
// In: frnn_sorted, n points in search order; frnn_boxes, the nodes; frnn_queries (m, dim), where these are not the
// points; frnn_order (m,), where queries are sorted; with periodic axes frnn_images. Out: what the function writes.
// Config fields used: work_group_size, dim, periodic, packed, many, shares, sorts, ranks, foreign, radii, half, part,
// first_pass.
// Exact because no box is farther from a query than a point in it: see bound of /methods/tree/node_boxes.mako.
// Source: Xing, Wang, Hui (2016), algorithm 1; without its stack.
${node_boxes.functions()}
% if packed:
${packets.functions()}
% endif
<%def name="arguments()">
    const int frnn_n, ${point_layout.constant_array("frnn_sorted")}, ${node_boxes.constant_array("frnn_boxes")}, const int frnn_leaves,
    const int frnn_last_node, const int frnn_leaf_size
% if periodic:
    , ${lattice.array("frnn_")}
% endif
% if (sorts and foreign or ranks and radii) and not inline:
    , global const int *restrict frnn_order
% endif
</%def>

<%def name="query_at(unit)" filter="trim">
## The place or the number of the query that a unit of the launch serves.
${f"frnn_order[{unit}]" if sorts and foreign or ranks and radii else unit}
</%def>

<%def name="take_query()">
% if packed:
    // Idle work-items stay for the barriers. They take the first query of the launch.
    ${packets.declare()}
    ${packet_tiles.declare(function)}
    const int frnn_l = get_local_id(0), frnn_unit = frnn_first + (int)get_global_id(0);
% if shares > 1:
<% of_group = work_group_size // shares %>\
    // Work-item l of each share serves the same query. A query is active only if the work-item of its last share
    // belongs to the launch.
    int frnn_active = (frnn_unit | ${work_group_size - of_group}) < frnn_end;
    const int frnn_query_unit = (frnn_active ? frnn_unit : frnn_first) / ${work_group_size} * ${of_group} + (frnn_active ? frnn_l % ${of_group} : 0);
% else:
    int frnn_active = frnn_unit < frnn_end;
    const int frnn_query_unit = frnn_active ? frnn_unit : frnn_first;
% endif
    const int frnn_own_place = ${query_at("frnn_query_unit")};
% if foreign:
    int i = frnn_own_place;
    const real_vec frnn_q = ${geometry.load("frnn_queries", "i")};
% else:
    int i = ${point_layout.point_id("frnn_own_place")};
    const real_vec frnn_q = ${point_layout.point("frnn_own_place")};
% endif
% if part:
    frnn_active &= i >= frnn_part_first & i < frnn_part_end;
    if (!frnn_active) i = frnn_part_first;
% endif
% else:
    const int frnn_unit = frnn_first + (int)get_global_id(0);
    if (frnn_unit >= frnn_end) return;
    const int frnn_own_place = ${query_at("frnn_unit")};
    ${point_layout.load_query("frnn_own_place")}
% if part:
    if (i < frnn_part_first || i >= frnn_part_end) return;
% endif
% endif
</%def>

<%def name="leaf(function, image, node)">
            // A leaf behind the last point is empty and has the box of the last leaf. Its begin may overflow an int.
            const long frnn_begin = (long)(${node} - frnn_leaves) * frnn_leaf_size;
            int frnn_t = frnn_begin < frnn_n ? (int)frnn_begin : frnn_n;
            const int frnn_stop = frnn_t + frnn_min(frnn_leaf_size, frnn_n - frnn_t);
            ${candidate_run.run(function, image)}
</%def>

<%def name="depth_first(function, image)">
    // Every subtree whose box the query touches, from the root on. The number of a node tells the way back.
    int frnn_node = 1;
    do {
        ${node_boxes.apart("frnn_boxes", "frnn_min(frnn_node, frnn_last_node)", "frnn_node_")}
        if (frnn_node_apart <= ${node_boxes.bound()}) {
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
    // Of two children the closer one comes first, because its points may lower reach2 so far that the other is left
    // out. frnn_path has a bit for each level on the way down, the lowest bit for the last level: whether the other
    // child is done as well.
    int frnn_node = 1, frnn_path = 1, frnn_touches = 1;
    while (frnn_node) {
        if (frnn_touches & (frnn_node < frnn_leaves)) {
            const int frnn_children = 2 * frnn_node;
            ${node_boxes.apart("frnn_boxes", "frnn_min(frnn_children, frnn_last_node)", "frnn_left_")}
            ${node_boxes.apart("frnn_boxes", "frnn_min(frnn_children + 1, frnn_last_node)", "frnn_right_")}
            const int frnn_take_right = frnn_right_apart < frnn_left_apart;
            frnn_node = frnn_children + frnn_take_right;
            frnn_path *= 2;
            frnn_touches = (frnn_take_right ? frnn_right_apart : frnn_left_apart) <= ${node_boxes.bound()};
            // If the query does not touch the closer child, the other child is done as well.
            frnn_path |= !frnn_touches;
            continue;
        }
        if (frnn_touches) {
            ${leaf(function, image, "frnn_node")}
        }
        while (frnn_node > 1 && frnn_path & 1) {
            frnn_node /= 2;
            frnn_path /= 2;
        }
        if (frnn_node <= 1) break;
        frnn_path |= 1;
        frnn_node ^= 1;
        ${node_boxes.apart("frnn_boxes", "frnn_min(frnn_node, frnn_last_node)", "frnn_other_")}
        frnn_touches = frnn_other_apart <= ${node_boxes.bound()};
    }
</%def>

<%def name="together(function)">
## With `whole`, a leaf that lies within reach as a whole is counted without a test of its points. Not where a condition
## decides about each of them.
<% whole = many and function.light and not (half or periodic or first_pass or condition.of_pair(function)) %>\
    ${visit.begin_query(function, "frnn_active")}
    ${packet_tiles.begin_waiting(function)}
    ${packets.begin_packet()}
% if whole:
    // The leaves before frnn_full hold frnn_leaf_size points each, all within their boxes. These are all leaves but a
    // last one that is not full, and none where some point is not finite.
    const int frnn_full = ${node_boxes.all_finite("frnn_boxes")} > 0 ? frnn_n / frnn_leaf_size * frnn_leaf_size : 0;
% endif
    <%visit:each_image args="image">
        <%packets:descend>
        ${packet_bands.divide(whole)}
        ${packet_tiles.test_leaves(function, image, whole)}
        </%packets:descend>
    </%visit:each_image>
% if shares > 1:
    ${packet_bands.add_shares("frnn_count")}
% endif
% if function.waiting:
    ${packet_tiles.take_waiting(function)}
    // A packet that has more leaves gives up.
    if (frnn_listed > ${waiting_leaves}) {
        ${function.waiting.forgotten}
    }
% endif
    if (frnn_active) ${visit.end_query(function)}
</%def>

<%def name="walk(function)">
% if packed:
    ${together(function)}
% else:
    ${alone(function)}
% endif
</%def>

<%def name="alone(function)">
    ${visit.begin_query(function)}
    <%visit:each_image args="image">
% if function.lowers:
        ${closest_first(function, image)}
% else:
        ${depth_first(function, image)}
% endif
    </%visit:each_image>
    ${visit.end_query(function)}
</%def>
<%visit:program function="${function}" arguments="${arguments}" walk="${walk}" point="${point_layout.point}" point_id="${point_layout.point_id}">
    ${take_query()}
    ${walk(function)}
</%visit:program>
