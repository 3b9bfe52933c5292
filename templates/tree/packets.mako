<%namespace name="boxes" file="/tree/node_boxes.mako"/>
<%namespace name="bands_of" file="/tree/packet_bands.mako"/>
## The queries of a group, neighbors of each other, go down the tree together: the nodes that the box around them touches
## are tested side by side. The leaves found are divided among bands of items: see bands.cl.mako.
## Barriers stand in loops that all items of a group go through equally often.
## Config fields used: work_group_size, dim, components, periodic, room, stack, bands, sides, parts, wide, ranks, radii,
## foreign, part, shares.
<%! levels = 3 %>\
<%def name="functions()">
// Behind a user's state, names of built-in functions may be those of a user's own.
void frnn_meet(void) { barrier(CLK_LOCAL_MEM_FENCE); }
void frnn_mark(local uint *marks, const int item) { atomic_or(marks, 1u << item); }
void frnn_join(local uint *bits, const uint more) { atomic_or(bits, more); }
void frnn_raise(local int *most, const int other) { atomic_max(most, other); }
int frnn_marked(const uint marks) { return (int)popcount(marks); }
int frnn_levels(const int node) { return 31 - (int)clz(node); }
int frnn_lowest_bit(const uint bits) { return 31 - (int)clz(bits & -bits); }
</%def>

<%def name="declare()">
    local real frnn_shared[${sides * (work_group_size + 1)}], frnn_parts[${sides * parts}], frnn_pack[${sides}];
    // Nodes to look below, and where the points of the leaves begin that were found.
    local int frnn_stack[${stack}], frnn_list[${room}];
    local uint frnn_marks[4], frnn_bands[${bands} * ${bands_of.words()}], frnn_beyond[${bands} * ${bands_of.words()}];
    // The boxes of the leaves on the list, which every query is tested against.
    ${boxes.local_array("frnn_kept", room)};
</%def>

<%def name="farthest_of(side, array, first, apart, many)">
        // Low corners are the least of their kind.
        real frnn_most = ${array}[${first}];
        for (int frnn_k = 1; frnn_k < ${many}; ++frnn_k) {
            const real frnn_one = ${array}[${first} + frnn_k * ${apart}];
            frnn_most = ${side} < ${dim} ? frnn_smaller(frnn_most, frnn_one) : -frnn_smaller(-frnn_most, -frnn_one);
        }
</%def>

<%def name="stage_query(k, number, nobody)">
    frnn_shared[${k * (work_group_size + 1)} + frnn_l] = frnn_searches ? ${number} : ${nobody};
</%def>

<%def name="find_box()">
    // The box around the queries that search at all, and how far the farthest of them looks; with periodic axes how far
    // rounding reaches, too.
<% apart = work_group_size + 1 %>\
% for k in range(dim):
<% inside = f"frnn_inside{k}" if periodic else f"frnn_q{components[k]}" %>\
    ${stage_query(k, inside, "(real)INFINITY")}
    ${stage_query(dim + k, inside, "-(real)INFINITY")}
% if periodic:
    ${stage_query(2 * dim + 1 + k, f"frnn_reach{k} - frnn_reach", "0")}
% endif
% endfor
    frnn_shared[${2 * dim * apart} + frnn_l] = frnn_searches ? ${boxes.bound()} : -1;
% if periodic:
    ${stage_query(3 * dim + 1, "frnn_reach", "0")}
% endif
    frnn_meet();
    // Each number by as many items as there are for it, then what these have found.
    for (int frnn_c = frnn_l; frnn_c < ${sides * parts}; frnn_c += ${work_group_size}) {
        const int frnn_side = frnn_c % ${sides}, frnn_from = frnn_side * ${apart} + frnn_c / ${sides} * ${work_group_size // parts};
        ${farthest_of("frnn_side", "frnn_shared", "frnn_from", 1, work_group_size // parts)}
        frnn_parts[frnn_c] = frnn_most;
    }
    frnn_meet();
    for (int frnn_c = frnn_l; frnn_c < ${sides}; frnn_c += ${work_group_size}) {
        ${farthest_of("frnn_c", "frnn_parts", "frnn_c", sides, parts)}
        frnn_pack[frnn_c] = frnn_most;
    }
    frnn_meet();
    frnn_farthest = frnn_pack[${2 * dim}];
% for k in range(dim):
    frnn_pack_low${k} = frnn_pack[${k}];
    frnn_pack_high${k} = frnn_pack[${dim + k}];
% endfor
</%def>

<%def name="gather()">
    const int frnn_searches = r2 >= 0;
    if (frnn_l < 4) frnn_marks[frnn_l] = 0;
    real frnn_farthest, ${", ".join(f"frnn_pack_low{k}, frnn_pack_high{k}" for k in range(dim))};
% if not (foreign or radii or periodic or part):
<% of_group = work_group_size // shares %>\
    // Queries that are all the points below a node have its box around them.
    const int frnn_first_place = (frnn_first + (int)get_global_id(0) - frnn_l) / ${shares};
    const int frnn_known =
        !(frnn_leaf_size & (frnn_leaf_size - 1)) & (frnn_leaf_size <= ${of_group}) & (frnn_first_place % ${of_group} == 0);
    if (frnn_known) {
        const int frnn_around = (frnn_leaves + frnn_first_place / frnn_leaf_size) >> (${of_group.bit_length() - 1} - frnn_levels(frnn_leaf_size));
        ${boxes.load("frnn_boxes", "frnn_max(1, frnn_around)", "frnn_around_")}
% for k in range(dim):
        frnn_pack_low${k} = frnn_around_low${k};
        frnn_pack_high${k} = frnn_around_high${k};
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
    // Where one of them lies far from the others, the box around them touches much that none of them does.
% for k in range(dim):
    const real frnn_side${k} = frnn_pack_high${k} - frnn_pack_low${k};
% endfor
    const int frnn_wide = ${" | ".join(f"frnn_side{k} * frnn_side{k} > {wide * wide} * frnn_farthest" for k in range(dim))};
    if (frnn_wide & frnn_known) {
% for k, component in enumerate(components):
        ${stage_query(k, f"frnn_q{component}", "(real)INFINITY")}
% endfor
    }
% endif
    const int frnn_nobody = !(frnn_pack_low0 <= frnn_pack_high0);
% for k in range(dim):
    frnn_pack_low${k} = frnn_nobody ? 0 : frnn_pack_low${k};
    frnn_pack_high${k} = frnn_nobody ? 0 : frnn_pack_high${k};
% if periodic:
    const real frnn_pack_pad${k} = frnn_pack[${2 * dim + 1 + k}];
% endif
% endfor
% if periodic:
    // All of them look into every image that any of them meets, and into the box alone when nobody searches.
% for k in range(dim):
    const real frnn_wide${k} = (frnn_pack[${3 * dim + 1}] + frnn_pack_pad${k}) * (1 + 8 * FRNN_EPSILON);
    frnn_before${k} = frnn_nobody ? 0 : frnn_min(0, frnn_image(frnn_pack_low${k} - frnn_wide${k}, frnn_start${k}, frnn_images[${dim + k}]));
    frnn_behind${k} = frnn_nobody ? 0 : frnn_max(0, frnn_image(frnn_pack_high${k} + frnn_wide${k}, frnn_start${k}, frnn_images[${dim + k}]));
% endfor
% endif
</%def>

<%def name="touches(node)">
    // Whether the box around the queries, as seen from the image, comes so near to a node's; there is none of number 0.
    ${boxes.load("frnn_boxes", f"frnn_max(1, frnn_min({node}, frnn_last_node))", "frnn_node_")}
% for k in range(dim):
% if periodic:
    const real frnn_away${k} = (real)frnn_t${k} * frnn_length${k};
    const real frnn_gap${k} = frnn_between(
        frnn_node_low${k} - frnn_pack_pad${k}, frnn_node_high${k} + frnn_pack_pad${k}, frnn_pack_low${k} - frnn_away${k}, frnn_pack_high${k} - frnn_away${k});
% else:
    const real frnn_gap${k} = frnn_between(frnn_node_low${k}, frnn_node_high${k}, frnn_pack_low${k}, frnn_pack_high${k});
% endif
% endfor
    int frnn_hit = ${node} > 0 & ${" + ".join(f"frnn_gap{k} * frnn_gap{k}" for k in range(dim))} <= frnn_farthest;
% if not (ranks and radii):
    if (frnn_wide & frnn_hit) {
        frnn_hit = 0;
        for (int frnn_k = 0; frnn_k < ${work_group_size}; ++frnn_k) {
% for k in range(dim):
            const real frnn_spot${k} = frnn_shared[${k * (work_group_size + 1)} + frnn_k]${f" - frnn_away{k}" if periodic else ""};
<% pad = f"frnn_pack_pad{k}" if periodic else "0" %>\
            const real frnn_off${k} = frnn_outside(frnn_node_low${k} - ${pad}, frnn_node_high${k} + ${pad}, frnn_spot${k});
% endfor
            frnn_hit |= ${" + ".join(f"frnn_off{k} * frnn_off{k}" for k in range(dim))} <= frnn_farthest;
        }
    }
% endif
</%def>

<%def name="descend()">
    // Several nodes at a time off the top of the stack, each replaced by those of its descendants ${levels} levels down that are
    // touched; leaves go to a list. The first step is as long as there are items for it, so that the last one ends at the
    // leaves. Places come from the number of the item, so that leaves stand in the same order in every run.
<% widest = work_group_size.bit_length() - 1 %>\
    const int frnn_depth = frnn_levels(frnn_leaves);
    const int frnn_first_down = frnn_depth < ${widest} ? frnn_depth : ${widest} - (${widest} - frnn_depth % ${levels}) % ${levels};
    int frnn_height = 1, frnn_found = 0, frnn_round = 0;
    if (frnn_l == 0) frnn_stack[0] = 1;
    frnn_meet();
    while (frnn_height) {
        const int frnn_take = frnn_max(1, frnn_min(frnn_min(frnn_height, ${work_group_size >> levels}), (${stack - 100} - frnn_height) / ${(1 << levels) - 1}));
        const int frnn_down = frnn_round ? ${levels} : frnn_first_down;
        const int frnn_popped = frnn_l >> frnn_down, frnn_which = frnn_l & (1 << frnn_down) - 1;
        const int frnn_child = frnn_popped < frnn_take ? (frnn_stack[frnn_height - 1 - frnn_popped] << frnn_down) + frnn_which : 0;
        ${touches("frnn_child")}
        local uint *frnn_mine = frnn_marks + 2 * (frnn_round & 1);
        const int frnn_is_leaf = frnn_child >= frnn_leaves;
        if (frnn_hit) frnn_mark(frnn_mine + frnn_is_leaf, frnn_l);
        frnn_meet();
        const uint frnn_nodes = frnn_mine[0], frnn_leaf_marks = frnn_mine[1], frnn_below = (1u << frnn_l) - 1;
        if (frnn_l < 2) frnn_marks[2 * (~frnn_round & 1) + frnn_l] = 0;
        frnn_height -= frnn_take;
        if (frnn_hit & frnn_is_leaf) {
            const int frnn_at = frnn_found + frnn_marked(frnn_leaf_marks & frnn_below);
            // Leaves behind the last point, for whom the box of the last one stands, may begin beyond an int; they hold nothing.
            const long frnn_begin = (long)(frnn_child - frnn_leaves) * frnn_leaf_size;
            frnn_list[frnn_at] = frnn_begin < frnn_n ? (int)frnn_begin : frnn_n;
            ${boxes.store_local("frnn_kept", "frnn_at", "frnn_node_")}
        }
        if (frnn_hit & !frnn_is_leaf) frnn_stack[frnn_height + frnn_marked(frnn_nodes & frnn_below)] = frnn_child;
        frnn_height += frnn_marked(frnn_nodes);
        frnn_found += frnn_marked(frnn_leaf_marks);
        ++frnn_round;
        frnn_meet();
        if (!frnn_height | (frnn_found > ${room - work_group_size})) {
${caller.body()}
            frnn_found = 0;
        }
        frnn_meet();
    }
    // The next image begins with the marks that the first one did.
    if (frnn_l < 4) frnn_marks[frnn_l] = 0;
    frnn_meet();
</%def>
