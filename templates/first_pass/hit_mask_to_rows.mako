<%namespace name="hit_mask" file="/first_pass/hit_mask.mako"/>
<%namespace name="places" file="/common/point_layout.mako"/>
<%namespace name="visit" file="/traversal/visit.mako"/>
## Rows of a list from a hit mask. Queries that need more words than there is room for are left to the walk that follows.
## Config fields used: work_group_size, stage, columns, first_pass. In scope is what the list's own function declares.
<%def name="read(function)">
% if hit_mask.meets(function):
    ${write_together(function)}
% elif columns:
    const int frnn_all_words = frnn_used[frnn_unit];
    if (frnn_all_words <= frnn_room) {
        global const frnn_word *const frnn_row_of_words = ${hit_mask.row()};
        int frnn_k = 0;
        ${write_batches(function) if writes_numbers(function) else ""}
        for (; frnn_k < frnn_all_words; ++frnn_k) {
            const int frnn_t = frnn_row_of_words[frnn_k];
            ${places.take_candidate("frnn_t")}
            ${visit.offer(function, "plain", within="1", asked="1")}
        }
        ${visit.lay_down(function)}
        return;
    }
% else:
    if (frnn_used[frnn_unit] <= frnn_room) {
        ${hit_mask.open()}
        for (int frnn_left = (int)(offsets[i - first_row + 1] - offsets[i - first_row]); frnn_left > 0; --frnn_left) {
            ${hit_mask.next_neighbor()}
            ${places.take_candidate("frnn_t")}
            ${visit.offer(function, "plain", within="1", asked="1")}
        }
        ${visit.lay_down(function)}
        return;
    }
% endif
</%def>

<%def name="writes_numbers(function)">
## Whether the function is the list's own, and the list one of numbers alone.
<% return function.own and "indices" in function.arguments and not any(
    name in function.arguments for name in ("distances", "vectors", "shifts")) %></%def>

<%def name="write_batches(function)">
        // The last batch once more what the one before it has written, so that none is short; fewer go one by one.
        if (frnn_all_words >= ${width}${" && frnn_place >= 0 && capacity - frnn_place >= frnn_all_words" if "capacity" in function.arguments else ""}) {
            while (frnn_k < frnn_all_words) {
                const int frnn_from = frnn_min(frnn_k, frnn_all_words - ${width});
                const frnn_ints frnn_some = *(global const frnn_ints *)(frnn_row_of_words + frnn_from);
                *(global frnn_ints *)(indices + frnn_place + frnn_from) =
                    (frnn_ints)(${", ".join(capture(places.point_id, f"frnn_some.s{k}") for k in range(width))});
                frnn_k += ${width};
            }
        }
</%def>

<%def name="write_together(function)">
<% offset, bounded = function.sectors, "capacity" in function.arguments %>\
    // Rows pass through local memory, so many neighbors of each at a time, from where items beside each other write what is
    // beside each other: part of a sector of the device's memory takes as long as all of it.
    const int frnn_l = get_local_id(0), frnn_masked = !frnn_idle & (frnn_used[frnn_unit] <= frnn_room);
    ${hit_mask.open()}
    ${offset} frnn_closing = frnn_masked ? offsets[i - first_row + 1] : frnn_place;
% if bounded:
    frnn_closing = frnn_place < 0 ? frnn_place : min(frnn_closing, capacity);
% endif
    const ${offset} frnn_base = frnn_place & ~(${offset})7;
    frnn_openings[frnn_l] = frnn_place;
    frnn_closings[frnn_l] = frnn_closing;
    if (frnn_l == 0) frnn_longest = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (frnn_closing > frnn_place) atomic_max(&frnn_longest, (int)(frnn_closing - frnn_base));
    barrier(CLK_LOCAL_MEM_FENCE);
    const int frnn_end_of_all = frnn_longest;
    for (int frnn_behind = 0; frnn_behind < frnn_end_of_all; frnn_behind += ${stage}) {
        const int frnn_until = (int)min(frnn_closing - frnn_base - frnn_behind, (${offset})${stage});
        for (int frnn_slot = (int)max(frnn_place - frnn_base - frnn_behind, (${offset})0); frnn_slot < frnn_until; ++frnn_slot) {
            ${hit_mask.next_neighbor()}
            frnn_stage[frnn_l * ${stage + 4} + frnn_slot] = ${places.point_id("frnn_t")};
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int frnn_k = frnn_l; frnn_k < ${work_group_size * stage // 4}; frnn_k += ${work_group_size}) {
            const int frnn_whose = frnn_k / ${stage // 4}, frnn_part = frnn_k % ${stage // 4} * 4;
            const ${offset} frnn_opens = frnn_openings[frnn_whose], frnn_closes = frnn_closings[frnn_whose];
            const ${offset} frnn_to = (frnn_opens & ~(${offset})7) + frnn_behind + frnn_part;
            local const int *const frnn_from_here = frnn_stage + frnn_whose * ${stage + 4} + frnn_part;
            if ((frnn_to >= frnn_opens) & (frnn_closes - frnn_to >= 4)) {
                *(global int4 *)(indices + frnn_to) = *(local const int4 *)frnn_from_here;
            } else {
% for k in range(4):
                if (frnn_to + ${k} >= frnn_opens & frnn_to + ${k} < frnn_closes) indices[frnn_to + ${k}] = frnn_from_here[${k}];
% endfor
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (frnn_idle | frnn_masked) return;
</%def>
