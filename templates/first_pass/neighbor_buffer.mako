<%namespace name="packed_rows" file="/first_pass/packed_counts.mako"/>
## Stash: the numbers of a query's first neighbors, which a count ("stashed") puts by in the order of search, where queries
## side by side write side by side, for those who bring them into the order of rows. Queries with more neighbors than
## there are slots are left to a visit of their own ("rest"), and have their number in their first slot.
## Until a query is laid down, its slots lie in local memory.
## Config fields used: work_group_size, stashed, marks. In scope is frnn_unit.
<%def name="arguments()">
global ${"const " if marks == "rest" else ""}int4 *restrict frnn_stash, global ${"const " if marks == "rest" else ""}uchar *restrict frnn_full,
    const int frnn_units, global ${"const " if marks == "rest" else ""}long *restrict frnn_told, const int frnn_told_at, const int frnn_stash_number
</%def>

<%def name="declare()">
% if marks == "stashed":
    // A slot more than are used for those behind the last, so that none needs a branch; rows in banks of their own.
    local int frnn_slots[${work_group_size * (stashed + 1)}];
% endif
</%def>

<%def name="keep()" filter="trim">
% if marks == "stashed":
frnn_slots[(int)get_local_id(0) * ${stashed + 1} + frnn_min(frnn_count, ${stashed})] = j;
% endif
</%def>

<%def name="put_by()">
        local const int *const frnn_mine = frnn_slots + (int)get_local_id(0) * ${stashed + 1};
        // Four at a time, and whether there are more than slots.
% for first in range(0, stashed, 4):
        if (frnn_count > ${first})
            frnn_stash[${first // 4} * (size_t)frnn_units + frnn_unit] =
                (int4)(frnn_mine[${first}], ${", ".join(f"frnn_count > {k} ? frnn_mine[{k}] : 0" for k in range(first + 1, first + 4))});
% endfor
        frnn_full[frnn_unit] = frnn_count > ${stashed};
        if (frnn_count > ${stashed}) {
            // The host hears of it with the number of pairs.
            frnn_told[frnn_told_at] = frnn_stash_number;
            ((global int *)frnn_stash)[4 * (size_t)frnn_unit] = frnn_count;
        }
        counts[i] = ${packed_rows.pack("frnn_count", "frnn_unit")};
</%def>

<%def name="leave_to_rows()">
% if marks == "rest":
    if (!frnn_full[frnn_unit]) return;
% endif
</%def>
