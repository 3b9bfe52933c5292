## Defines how the rows of a list are written from a hit mask. Queries that need more words than they have are left to
## the walk that stands behind this.
## In scope: what the pieces of the list's own function declare: see write_state of /methods/functions.mako.
## Config fields used: work_group_size, width, stage, columns.
<%namespace name="hit_mask" file="/methods/first_pass/hit_mask.mako"/>
<%namespace name="point_layout" file="/methods/point_layout.mako"/>
<%namespace name="visit" file="/methods/visit.mako"/>
<%def name="write_rows(function)">
% if hit_mask.writes_together(function):
    ${write_together(function)}
% elif columns:
    const int frnn_all_words = frnn_used[frnn_unit];
    if (frnn_all_words <= frnn_mask_words) {
        global const frnn_word *const frnn_query_words = ${hit_mask.query_words()};
        int frnn_k = 0;
        ${write_batches(function) if writes_indices_alone(function) else ""}
        for (; frnn_k < frnn_all_words; ++frnn_k) {
            const int frnn_t = frnn_query_words[frnn_k];
            ${point_layout.load_candidate("frnn_t")}
            ${visit.offer(function, "plain", within="1", known="1")}
        }
        ${visit.end_query(function)}
        return;
    }
% else:
    if (frnn_used[frnn_unit] <= frnn_mask_words) {
        ${hit_mask.begin_reading()}
        for (int frnn_left = (int)(offsets[i - first_row + 1] - offsets[i - first_row]); frnn_left > 0; --frnn_left) {
            ${hit_mask.next_neighbor()}
            ${point_layout.load_candidate("frnn_t")}
            ${visit.offer(function, "plain", within="1", known="1")}
        }
        ${visit.end_query(function)}
        return;
    }
% endif
</%def>

<%!
def names(function):
    return {argument.name for argument in function.parsed_arguments}
%>\
<%def name="writes_indices_alone(function)">
## Whether the function is the list's own, and the list holds indices and nothing else.
<% return function.own and "indices" in names(function) and not names(function) & {"distances", "vectors", "shifts"} %></%def>

<%def name="write_batches(function)">
        // The last batch overlaps the one before it, so that every batch is full. Rows shorter than a batch are written
        // one by one.
        if (frnn_all_words >= ${width}${" && frnn_entry >= 0 && capacity - frnn_entry >= frnn_all_words" if "capacity" in names(function) else ""}) {
            while (frnn_k < frnn_all_words) {
                const int frnn_from = frnn_min(frnn_k, frnn_all_words - ${width});
                const frnn_ints frnn_some = *(global const frnn_ints *)(frnn_query_words + frnn_from);
                *(global frnn_ints *)(indices + frnn_entry + frnn_from) =
                    (frnn_ints)(${", ".join(capture(point_layout.point_id, f"frnn_some.s{k}") for k in range(width))});
                frnn_k += ${width};
            }
        }
</%def>

<%def name="write_together(function)">
<% offset, bounded = function.sectors, "capacity" in names(function) %>\
    // Rows pass through local memory, ${stage} entries of each row at a time. Neighboring work-items then write
    // neighboring entries: writing a part of a sector of memory takes as long as writing all of it.
    const int frnn_l = get_local_id(0), frnn_masked = !frnn_idle & (frnn_used[frnn_unit] <= frnn_mask_words);
    ${hit_mask.begin_reading()}
    ${offset} frnn_row_end = frnn_masked ? offsets[i - first_row + 1] : frnn_entry;
% if bounded:
    frnn_row_end = frnn_entry < 0 ? frnn_entry : min(frnn_row_end, capacity);
% endif
    const ${offset} frnn_first_sector = frnn_entry & ~(${offset})7;
    frnn_row_starts[frnn_l] = frnn_entry;
    frnn_row_ends[frnn_l] = frnn_row_end;
    if (frnn_l == 0) frnn_longest = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (frnn_row_end > frnn_entry) atomic_max(&frnn_longest, (int)(frnn_row_end - frnn_first_sector));
    barrier(CLK_LOCAL_MEM_FENCE);
    const int frnn_end_of_all = frnn_longest;
    for (int frnn_written = 0; frnn_written < frnn_end_of_all; frnn_written += ${stage}) {
        const int frnn_until = (int)min(frnn_row_end - frnn_first_sector - frnn_written, (${offset})${stage});
        for (int frnn_slot = (int)max(frnn_entry - frnn_first_sector - frnn_written, (${offset})0); frnn_slot < frnn_until; ++frnn_slot) {
            ${hit_mask.next_neighbor()}
            frnn_stage[frnn_l * ${stage + 4} + frnn_slot] = ${point_layout.point_id("frnn_t")};
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int frnn_k = frnn_l; frnn_k < ${work_group_size * stage // 4}; frnn_k += ${work_group_size}) {
            const int frnn_list_row = frnn_k / ${stage // 4}, frnn_part = frnn_k % ${stage // 4} * 4;
            const ${offset} frnn_opens = frnn_row_starts[frnn_list_row], frnn_closes = frnn_row_ends[frnn_list_row];
            const ${offset} frnn_to = (frnn_opens & ~(${offset})7) + frnn_written + frnn_part;
            local const int *const frnn_four = frnn_stage + frnn_list_row * ${stage + 4} + frnn_part;
            if ((frnn_to >= frnn_opens) & (frnn_closes - frnn_to >= 4)) {
                *(global int4 *)(indices + frnn_to) = *(local const int4 *)frnn_four;
            } else {
% for k in range(4):
                if (frnn_to + ${k} >= frnn_opens & frnn_to + ${k} < frnn_closes) indices[frnn_to + ${k}] = frnn_four[${k}];
% endfor
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (frnn_idle | frnn_masked) return;
</%def>
