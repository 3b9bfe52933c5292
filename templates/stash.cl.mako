## Stash: the numbers of a query's first neighbors, which a count ("stashed") puts by in the order of search, where queries
## side by side write side by side, for those who bring them into the order of rows; queries with more neighbors than
## there are slots are left to a visit of their own ("rest").
## Config fields used: work_group_size, stashed, marks. In scope is frnn_unit.
<%def name="arguments()">
global ${"const " if marks == "rest" else ""}int4 *restrict frnn_stash, global ${"const " if marks == "rest" else ""}uchar *restrict frnn_full,
    const int frnn_units
</%def>

<%def name="declare()">
% if marks == "stashed":
    // A slot more than are used for those behind the last, so that none needs a branch; rows in banks of their own.
    local int frnn_slots[${work_group_size * (stashed + 1)}];
% endif
</%def>

<%def name="keep()" filter="trim">
${f"frnn_slots[(int)get_local_id(0) * {stashed + 1} + frnn_min(frnn_count, {stashed})] = j;" if marks == "stashed" else ""}
</%def>

<%def name="put_by()">
        // Four at a time, and whether there are more than slots.
        local const int *const frnn_mine = frnn_slots + (int)get_local_id(0) * ${stashed + 1};
% for first in range(0, stashed, 4):
        if (frnn_count > ${first})
            frnn_stash[${first // 4} * (size_t)frnn_units + frnn_unit] =
                (int4)(frnn_mine[${first}], ${", ".join(f"frnn_count > {first + k} ? frnn_mine[{first + k}] : 0" for k in (1, 2, 3))});
% endfor
        frnn_full[frnn_unit] = frnn_count > ${stashed};
        ((global int2 *)counts)[i] = (int2)(frnn_count, frnn_unit);
</%def>

<%def name="leave_to_rows()">
% if marks == "rest":
    if (!frnn_full[frnn_unit]) return;
% endif
</%def>
