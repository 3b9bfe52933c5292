## Defines packets. The queries of a group, which lie near each other, are a packet and go down the tree together: the
## group tests several nodes at a time against the box around the packet. The leaves that it finds are divided among
## bands of work-items: see /methods/tree/packet_bands.mako.
## In scope: what take_query of /methods/tree/aabb_tree.cl.mako and begin_query of /methods/visit.mako declare.
## Barriers stand in loops that all work-items of a group run equally often.
## Config fields used: work_group_size, dim, components, periodic, leaf_capacity, stack, bands, sides, parts, wide, ranks, radii,
## foreign, part, shares, hit_words, word. A packet of more work-items than an integer has bits has hit_words of them.
<%namespace name="node_boxes" file="/methods/tree/node_boxes.mako"/>
<%namespace name="packet_bands" file="/methods/tree/packet_bands.mako"/>
<%namespace name="lattice" file="/domain/lattice.mako"/>
<%! levels = 3 %>\
<%def name="functions()">
// A user's function may redefine built-in functions. Code that stands behind its state calls these instead.
void frnn_barrier(void) { barrier(CLK_LOCAL_MEM_FENCE); }
void frnn_set_bit(local uint *bits, const int number) { atomic_or(bits, 1u << number); }
void frnn_or_bits(local uint *bits, const uint more) { atomic_or(bits, more); }
void frnn_raise_to(local int *most, const int other) { atomic_max(most, other); }
int frnn_count_bits(const uint bits) { return (int)popcount(bits); }
% if hit_words > 1:
ulong frnn_all_bits(const local uint *words) { return ${" | ".join(f"(ulong)words[{k}] << {k * word}" for k in range(hit_words))}; }
int frnn_count_all(const ulong bits) { return (int)popcount(bits); }
% endif
int frnn_levels(const int node) { return 31 - (int)clz(node); }
int frnn_lowest_bit(const uint bits) { return 31 - (int)clz(bits & -bits); }
</%def>

<%def name="declare()">
    local real frnn_shared[${sides * (work_group_size + 1)}], frnn_parts[${sides * parts}], frnn_packet[${sides}];
    // The nodes that are still to be opened, and the first place of each leaf on the list.
    local int frnn_stack[${stack}], frnn_list[${leaf_capacity}];
    local uint frnn_hits[${4 * hit_words}], frnn_touched_bits[${bands} * ${packet_bands.words()}], frnn_partial_bits[${bands} * ${packet_bands.words()}];
    // The box of each leaf on the list, against which every query is tested.
    ${node_boxes.local_array("frnn_leaf_boxes", leaf_capacity)};
</%def>

<%def name="farthest_of(side, array, first, apart, many)">
        // The least of the low corners, the largest of everything else.
        real frnn_most = ${array}[${first}];
        for (int frnn_k = 1; frnn_k < ${many}; ++frnn_k) {
            const real frnn_one = ${array}[${first} + frnn_k * ${apart}];
            frnn_most = ${side} < ${dim} ? frnn_smaller(frnn_most, frnn_one) : -frnn_smaller(-frnn_most, -frnn_one);
        }
</%def>

<%def name="stage_query(k, number, neutral)">
## Writes number k of the query to local memory; a query that does not search writes the neutral element.
    frnn_shared[${k * (work_group_size + 1)} + frnn_l] = frnn_searches ? ${number} : ${neutral};
</%def>

<%def name="find_box()">
    // The box around the queries that search, and the largest reach among them; with periodic axes also the largest pads.
% if skewed:
    // In a cell, the box of the coordinates of their images, the largest pad, and the first and the last image of windows.
    ${lattice.caller_shift("frnn_home_shift", "frnn_own", "frnn_images")}
% for k, component in enumerate(components):
    const real frnn_home${k} = frnn_q${component} - (${lattice.translation(k, "frnn_home_shift", "frnn_images")});
% endfor
% endif
<% apart = work_group_size + 1 %>\
% for k in range(dim):
<% inside = f"frnn_home{k}" if skewed else f"frnn_inside{k}" if periodic else f"frnn_q{components[k]}" %>\
    ${stage_query(k, inside, "(real)INFINITY")}
    ${stage_query(dim + k, inside, "-(real)INFINITY")}
% if skewed:
    ${stage_query(2 * dim + 1 + k, f"(real)frnn_behind{k}", "0")}
    ${stage_query(3 * dim + 1 + k, f"-(real)frnn_before{k}", "0")}
% elif periodic:
    ${stage_query(2 * dim + 1 + k, f"frnn_reach{k} - frnn_reach", "0")}
% endif
% endfor
    frnn_shared[${2 * dim * apart} + frnn_l] = frnn_searches ? ${node_boxes.bound()} : -1;
% if skewed:
    ${stage_query(4 * dim + 1, "frnn_pad", "0")}
% elif periodic:
    ${stage_query(3 * dim + 1, "frnn_reach", "0")}
% endif
    frnn_barrier();
    // The group reduces each number in two steps: ${parts} work-items reduce a part of the queries each, and one the parts.
    for (int frnn_c = frnn_l; frnn_c < ${sides * parts}; frnn_c += ${work_group_size}) {
        const int frnn_side = frnn_c % ${sides}, frnn_from = frnn_side * ${apart} + frnn_c / ${sides} * ${work_group_size // parts};
        ${farthest_of("frnn_side", "frnn_shared", "frnn_from", 1, work_group_size // parts)}
        frnn_parts[frnn_c] = frnn_most;
    }
    frnn_barrier();
    for (int frnn_c = frnn_l; frnn_c < ${sides}; frnn_c += ${work_group_size}) {
        ${farthest_of("frnn_c", "frnn_parts", "frnn_c", sides, parts)}
        frnn_packet[frnn_c] = frnn_most;
    }
    frnn_barrier();
    frnn_farthest = frnn_packet[${2 * dim}];
% for k in range(dim):
    frnn_packet_low${k} = frnn_packet[${k}];
    frnn_packet_high${k} = frnn_packet[${dim + k}];
% endfor
</%def>

<%def name="begin_packet()">
    const int frnn_searches = r2 >= 0;
    if (frnn_l < ${4 * hit_words}) frnn_hits[frnn_l] = 0;
    real frnn_farthest, ${", ".join(f"frnn_packet_low{k}, frnn_packet_high{k}" for k in range(dim))};
% if not (foreign or radii or periodic or part):
<% of_group = work_group_size // shares %>\
    // If the queries are exactly the points below one node, the box around the packet is the box of that node.
    const int frnn_first_place = (frnn_first + (int)get_global_id(0) - frnn_l) / ${shares};
    const int frnn_known =
        !(frnn_leaf_size & (frnn_leaf_size - 1)) & (frnn_leaf_size <= ${of_group}) & (frnn_first_place % ${of_group} == 0);
    if (frnn_known) {
        const int frnn_around = (frnn_leaves + frnn_first_place / frnn_leaf_size) >> (${of_group.bit_length() - 1} - frnn_levels(frnn_leaf_size));
        ${node_boxes.load("frnn_boxes", "frnn_max(1, frnn_around)", "frnn_around_")}
% for k in range(dim):
        frnn_packet_low${k} = frnn_around_low${k};
        frnn_packet_high${k} = frnn_around_high${k};
% endfor
        frnn_farthest = frnn_smaller(frnn_radius * frnn_radius, frnn_reach * frnn_reach);
    } else {
        ${find_box()}
    }
% else:
    const int frnn_known = 0;
    ${find_box()}
% endif
% if not (ranks and radii):
    // The box around a wide packet touches many nodes that no query touches. Each node is then tested against every query.
% for k in range(dim):
    const real frnn_side${k} = frnn_packet_high${k} - frnn_packet_low${k};
% endfor
    const int frnn_wide = ${" | ".join(f"frnn_side{k} * frnn_side{k} > {wide * wide} * frnn_farthest" for k in range(dim))};
    if (frnn_wide & frnn_known) {
% for k, component in enumerate(components):
        ${stage_query(k, f"frnn_q{component}", "(real)INFINITY")}
% endfor
    }
% endif
    const int frnn_none_searches = !(frnn_packet_low0 <= frnn_packet_high0);
% for k in range(dim):
    frnn_packet_low${k} = frnn_none_searches ? 0 : frnn_packet_low${k};
    frnn_packet_high${k} = frnn_none_searches ? 0 : frnn_packet_high${k};
% if periodic:
    const real frnn_packet_pad${k} = frnn_packet[${4 * dim + 1 if skewed else 2 * dim + 1 + k}];
% endif
% endfor
% if skewed:
% for k in range(dim):
    frnn_behind${k} = (int)frnn_packet[${2 * dim + 1 + k}];
    frnn_before${k} = -(int)frnn_packet[${3 * dim + 1 + k}];
% endfor
% elif periodic:
    // The packet visits every image that the window of one of its queries meets, and the box alone when no query searches.
% for k in range(dim):
    const real frnn_wide${k} = (frnn_packet[${3 * dim + 1}] + frnn_packet_pad${k}) * (1 + 8 * FRNN_EPSILON);
    frnn_before${k} = frnn_none_searches ? 0 : frnn_min(0, frnn_image(frnn_packet_low${k} - frnn_wide${k}, frnn_start${k}, frnn_images[${dim + k}]));
    frnn_behind${k} = frnn_none_searches ? 0 : frnn_max(0, frnn_image(frnn_packet_high${k} + frnn_wide${k}, frnn_start${k}, frnn_images[${dim + k}]));
% endfor
% endif
</%def>

<%def name="descend()">
    // In each round the group takes several nodes from the top of the stack and tests their descendants ${levels}
    // levels down. Nodes that are touched go to the stack, leaves to a list. The first round may go down by more
    // levels, so that the last round ends at the leaves. Where a node or a leaf is stored follows from the number of
    // its work-item, so that every run has the same order.
<% widest, count = work_group_size.bit_length() - 1, "frnn_count_all" if hit_words > 1 else "frnn_count_bits" %>\
    const int frnn_depth = frnn_levels(frnn_leaves);
    const int frnn_first_down = frnn_depth < ${widest} ? frnn_depth : ${widest} - (${widest} - frnn_depth % ${levels}) % ${levels};
    int frnn_height = 1, frnn_found = 0, frnn_round = 0;
    if (frnn_l == 0) frnn_stack[0] = 1;
    frnn_barrier();
    while (frnn_height) {
        const int frnn_take = frnn_max(1, frnn_min(frnn_min(frnn_height, ${work_group_size >> levels}), (${stack - 100} - frnn_height) / ${(1 << levels) - 1}));
        const int frnn_down = frnn_round ? ${levels} : frnn_first_down;
        const int frnn_taken_node = frnn_l >> frnn_down, frnn_which = frnn_l & (1 << frnn_down) - 1;
        const int frnn_child = frnn_taken_node < frnn_take ? (frnn_stack[frnn_height - 1 - frnn_taken_node] << frnn_down) + frnn_which : 0;
        ${node_boxes.touches_packet("frnn_child")}
        local uint *frnn_round_hits = frnn_hits + ${2 * hit_words} * (frnn_round & 1);
        const int frnn_is_leaf = frnn_child >= frnn_leaves;
% if hit_words > 1:
        if (frnn_hit) frnn_set_bit(frnn_round_hits + ${hit_words} * frnn_is_leaf + frnn_l / ${word}, frnn_l % ${word});
        frnn_barrier();
        const ulong frnn_node_hits = frnn_all_bits(frnn_round_hits), frnn_leaf_hits = frnn_all_bits(frnn_round_hits + ${hit_words});
        const ulong frnn_below = ((ulong)1 << frnn_l) - 1;
% else:
        if (frnn_hit) frnn_set_bit(frnn_round_hits + frnn_is_leaf, frnn_l);
        frnn_barrier();
        const uint frnn_node_hits = frnn_round_hits[0], frnn_leaf_hits = frnn_round_hits[1], frnn_below = (1u << frnn_l) - 1;
% endif
        if (frnn_l < ${2 * hit_words}) frnn_hits[${2 * hit_words} * (~frnn_round & 1) + frnn_l] = 0;
        frnn_height -= frnn_take;
        if (frnn_hit & frnn_is_leaf) {
            const int frnn_at = frnn_found + ${count}(frnn_leaf_hits & frnn_below);
            // A leaf behind the last point is empty and has the box of the last leaf. Its begin may overflow an int.
            const long frnn_begin = (long)(frnn_child - frnn_leaves) * frnn_leaf_size;
            frnn_list[frnn_at] = frnn_begin < frnn_n ? (int)frnn_begin : frnn_n;
            ${node_boxes.store_local("frnn_leaf_boxes", "frnn_at", "frnn_node_")}
        }
        if (frnn_hit & !frnn_is_leaf) frnn_stack[frnn_height + ${count}(frnn_node_hits & frnn_below)] = frnn_child;
        frnn_height += ${count}(frnn_node_hits);
        frnn_found += ${count}(frnn_leaf_hits);
        ++frnn_round;
        frnn_barrier();
        if (!frnn_height | (frnn_found > ${leaf_capacity - work_group_size})) {
${caller.body()}
% if function.waiting:
            frnn_listed += frnn_found;
            if (frnn_listed > ${waiting_leaves}) frnn_height = 0;
% endif
            frnn_found = 0;
        }
        frnn_barrier();
    }
    // The walk through the next image begins with cleared bits.
    if (frnn_l < ${4 * hit_words}) frnn_hits[frnn_l] = 0;
    frnn_barrier();
</%def>
