<%namespace name="boxes" file="boxes.cl.mako"/>
## The queries of a group, neighbors of each other, go down the tree together: the nodes that the box around them touches
## are tested side by side. The leaves found are divided among bands of items, each of which looks in step into those that
## one of it touches: what items load together is one address a band. In a band are other queries than in the next, or where
## there are shares the same queries for another share of the leaves.
## Barriers stand in loops that all items of a group go through equally often.
## Config fields used: work_group_size, dim, components, periodic, room, stack, band, bands, word, shares.
<%! levels = 3 %>\
<%def name="functions()">
// Behind a user's state, names of built-in functions may be those of a user's own.
void frnn_meet(void) { barrier(CLK_LOCAL_MEM_FENCE); }
void frnn_mark(local uint *marks, const int item) { atomic_or(marks, 1u << item); }
void frnn_join(local uint *bits, const uint more) { atomic_or(bits, more); }
int frnn_marked(const uint marks) { return (int)popcount(marks); }
int frnn_levels(const int node) { return 31 - (int)clz(node); }
int frnn_lowest_bit(const uint bits) { return 31 - (int)clz(bits & -bits); }
</%def>

<%def name="declare()">
    local real frnn_shared[${(3 * dim + 2) * work_group_size}], frnn_pack[${3 * dim + 2}];
    local int frnn_stack[${stack}], frnn_list[${room}];
    local uint frnn_marks[4], frnn_bands[${bands} * ${words()}], frnn_beyond[${bands} * ${words()}];
    // The boxes of the leaves on the list, which every query is tested against.
    ${boxes.local_array("frnn_kept", room)};
</%def>

<%def name="words()" filter="trim">
${-(-room // (word * shares))}
</%def>

<%def name="of_band(array, number)" filter="trim">
${array}[(${number}) * ${bands} + frnn_l / ${band}]
</%def>

<%def name="of_share(k)" filter="trim">
## The place on the list of leaf k of those that fall to this item's share.
${f"({k} * {shares} + frnn_l / {work_group_size // shares})" if shares > 1 else k}
</%def>

<%def name="divide(whole)">
<% arrays = ("frnn_bands", "frnn_beyond") if whole else ("frnn_bands",) %>\
        // Bits of the leaves on the list that each query touches, joined for each band.
% if whole:
        // And of those that hold other points than neighbors: none where it reaches the far corner, as no point in the box is
        // farther than that, and the leaf is full.
% endif
        for (int frnn_k = frnn_l; frnn_k < ${bands} * ${words()}; frnn_k += ${work_group_size}) {
% for array in arrays:
            ${array}[frnn_k] = 0;
% endfor
        }
        frnn_meet();
        const int frnn_portion = ${f"(frnn_found + {shares - 1} - frnn_l / {work_group_size // shares}) / {shares}" if shares > 1 else "frnn_found"};
        for (int frnn_from = 0; frnn_from < frnn_portion; frnn_from += ${word}) {
            const int frnn_many = frnn_min(${word}, frnn_portion - frnn_from);
            uint frnn_touched = 0, frnn_partly = 0;
            for (int frnn_k = 0; frnn_k < frnn_many; ++frnn_k) {
                const int frnn_listed = ${of_share("(frnn_from + frnn_k)")};
                ${boxes.apart("frnn_kept", "frnn_listed", "frnn_leaf_")}
                frnn_touched |= (uint)(frnn_leaf_apart <= ${boxes.bound()}) << frnn_k;
% if whole:
% for k, component in enumerate(components):
                const real frnn_far${k} = fmax(frnn_q${component} - frnn_leaf_low${k}, frnn_leaf_high${k} - frnn_q${component});
% endfor
                const int frnn_all = frnn_list[frnn_listed] < frnn_full & ${" + ".join(f"frnn_far{k} * frnn_far{k}" for k in range(dim))} <= reach2;
                frnn_partly |= (uint)(frnn_searches & !frnn_all) << frnn_k;
% endif
            }
% for array, bits in zip(arrays, ("frnn_touched", "frnn_partly")):
            frnn_join(&${of_band(array, f"frnn_from / {word}")}, ${bits});
% endfor
        }
        frnn_meet();
</%def>

<%def name="put_together(sum)">
    // The sums of those who have the same query, for the first of them.
    frnn_stack[frnn_l] = ${sum};
    frnn_meet();
    for (int frnn_k = frnn_l + ${work_group_size // shares}; frnn_k < ${work_group_size}; frnn_k += ${work_group_size // shares}) ${sum} += frnn_stack[frnn_k];
    frnn_active &= frnn_l < ${work_group_size // shares};
</%def>

<%def name="gather()">
    // The box around the queries that search at all; how far rounding reaches, and how far the farthest of them looks.
    const int frnn_searches = r2 >= 0;
% for k, component in enumerate(components):
<% inside, pad = (f"frnn_inside{k}", f"frnn_reach{k} - frnn_reach") if periodic else (f"frnn_q{component}", "0") %>\
    frnn_shared[${k * work_group_size} + frnn_l] = frnn_searches ? ${inside} : (real)INFINITY;
    frnn_shared[${(dim + k) * work_group_size} + frnn_l] = frnn_searches ? ${inside} : -(real)INFINITY;
    frnn_shared[${(2 * dim + k) * work_group_size} + frnn_l] = frnn_searches ? ${pad} : 0;
% endfor
    frnn_shared[${3 * dim * work_group_size} + frnn_l] = frnn_searches ? ${boxes.bound()} : -1;
    frnn_shared[${(3 * dim + 1) * work_group_size} + frnn_l] = frnn_searches ? frnn_reach : 0;
    if (frnn_l < 4) frnn_marks[frnn_l] = 0;
    frnn_meet();
    for (int frnn_c = frnn_l; frnn_c < ${3 * dim + 2}; frnn_c += ${work_group_size}) {
        real frnn_most = frnn_shared[frnn_c * ${work_group_size}];
        for (int frnn_k = 1; frnn_k < ${work_group_size}; ++frnn_k) {
            const real frnn_one = frnn_shared[frnn_c * ${work_group_size} + frnn_k];
            frnn_most = frnn_c < ${dim} ? frnn_smaller(frnn_most, frnn_one) : -frnn_smaller(-frnn_most, -frnn_one);
        }
        frnn_pack[frnn_c] = frnn_most;
    }
    frnn_meet();
    const real frnn_farthest = frnn_pack[${3 * dim}];
    const int frnn_nobody = !(frnn_pack[0] <= frnn_pack[${dim}]);
% for k in range(dim):
    const real frnn_pack_low${k} = frnn_nobody ? 0 : frnn_pack[${k}], frnn_pack_high${k} = frnn_nobody ? 0 : frnn_pack[${dim + k}];
    const real frnn_pack_pad${k} = frnn_pack[${2 * dim + k}];
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
    // Whether the box around the queries, as seen from the image, comes so near to a node's.
    ${boxes.load("frnn_boxes", node, "frnn_node_")}
% for k in range(dim):
% if periodic:
    const real frnn_away${k} = (real)frnn_t${k} * frnn_length${k};
    const real frnn_gap${k} = frnn_between(
        frnn_node_low${k} - frnn_pack_pad${k}, frnn_node_high${k} + frnn_pack_pad${k}, frnn_pack_low${k} - frnn_away${k}, frnn_pack_high${k} - frnn_away${k});
% else:
    const real frnn_gap${k} = frnn_between(frnn_node_low${k}, frnn_node_high${k}, frnn_pack_low${k}, frnn_pack_high${k});
% endif
% endfor
    frnn_hit = ${" + ".join(f"frnn_gap{k} * frnn_gap{k}" for k in range(dim))} <= frnn_farthest;
</%def>

<%def name="descend()">
    // Several nodes at a time off the top of the stack, each replaced by those of its descendants ${levels} levels down that are
    // touched; leaves go to a list. The first step may be shorter, so that the last one ends at the leaves. Places come
    // from the number of the item, so that leaves stand in the same order in every run.
    const int frnn_depth = frnn_levels(frnn_leaves);
    int frnn_height = 1, frnn_found = 0, frnn_round = 0;
    if (frnn_l == 0) frnn_stack[0] = 1;
    frnn_meet();
    while (frnn_height) {
        const int frnn_down = frnn_round || !frnn_depth ? ${levels} : (frnn_depth - 1) % ${levels} + 1;
        const int frnn_take = frnn_max(1, frnn_min(frnn_min(frnn_height, ${work_group_size >> levels}), (${stack - 100} - frnn_height) / ${(1 << levels) - 1}));
        const int frnn_popped = frnn_l >> ${levels}, frnn_which = frnn_l & ${(1 << levels) - 1};
        int frnn_hit = 0, frnn_child = 0;
        if (frnn_popped < frnn_take && frnn_which < (frnn_depth ? 1 << frnn_down : 1)) {
            frnn_child = frnn_stack[frnn_height - 1 - frnn_popped];
            if (frnn_depth) frnn_child = (frnn_child << frnn_down) + frnn_which;
            ${touches("frnn_child")}
        }
        local uint *frnn_mine = frnn_marks + 2 * (frnn_round & 1);
        const int frnn_is_leaf = frnn_child >= frnn_leaves;
        if (frnn_hit) frnn_mark(frnn_mine + frnn_is_leaf, frnn_l);
        frnn_meet();
        const uint frnn_nodes = frnn_mine[0], frnn_leaf_marks = frnn_mine[1], frnn_below = (1u << frnn_l) - 1;
        if (frnn_l < 2) frnn_marks[2 * (~frnn_round & 1) + frnn_l] = 0;
        frnn_height -= frnn_take;
        if (frnn_hit & frnn_is_leaf) {
            const int frnn_at = frnn_found + frnn_marked(frnn_leaf_marks & frnn_below);
            frnn_list[frnn_at] = frnn_child;
            ${boxes.load("frnn_boxes", "frnn_child", "frnn_new_")}
            ${boxes.store("frnn_kept", "frnn_at", "frnn_new_")}
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
