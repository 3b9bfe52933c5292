<%namespace name="packed_counts" file="/first_pass/packed_counts.mako"/>
## Neighbor buffer: the indices of a query's first neighbors in search order, which a count writes ("fill_buffer") for the
## launch that copies them into rows. The walk behind it serves the queries with more neighbors than slots ("overflow").
## Config fields used: work_group_size, buffer_slots, first_pass. In scope is frnn_unit, the query's place in search order.
<%def name="arguments()">
<% const = "const " if first_pass == "overflow" else "" %>\
global ${const}int4 *restrict frnn_buffer, global ${const}uchar *restrict frnn_overflowing, const int frnn_units,
    global ${const}long *restrict frnn_totals, const int frnn_overflow_word, const int frnn_serial
</%def>

<%def name="declare()">
% if first_pass == "fill_buffer":
    // One slot more takes the neighbors beyond the last, so that none needs a branch, and puts rows into other banks.
    local int frnn_slots[${work_group_size * (buffer_slots + 1)}];
% endif
</%def>

<%def name="hold()" filter="trim">
## What a neighbor leaves.
% if first_pass == "fill_buffer":
frnn_slots[(int)get_local_id(0) * ${buffer_slots + 1} + frnn_min(frnn_count, ${buffer_slots})] = j;
% endif
</%def>

<%def name="store()">
## What a query leaves, in place of its count.
        local const int *const frnn_mine = frnn_slots + (int)get_local_id(0) * ${buffer_slots + 1};
% for first in range(0, buffer_slots, 4):
        if (frnn_count > ${first})
            frnn_buffer[${first // 4} * (size_t)frnn_units + frnn_unit] = (int4)(frnn_mine[${first}],
                ${", ".join(f"frnn_count > {k} ? frnn_mine[{k}] : 0" for k in range(first + 1, first + 4))});
% endfor
        frnn_overflowing[frnn_unit] = frnn_count > ${buffer_slots};
        if (frnn_count > ${buffer_slots}) {
            // The host reads the word behind the number of pairs together with that.
            frnn_totals[frnn_overflow_word] = frnn_serial;
            ((global int *)frnn_buffer)[4 * (size_t)frnn_unit] = frnn_count;
        }
        counts[i] = ${packed_counts.pack("frnn_count", "frnn_unit")};
</%def>

<%def name="leave_stored()">
% if first_pass == "overflow":
    if (!frnn_overflowing[frnn_unit]) return;
% endif
</%def>
