## Defines the neighbor buffer, which holds the indices of a query's first neighbors in search order. A count fills it
## ("fill_buffer"), and a launch behind the count copies it into rows: /methods/first_pass/buffer_to_rows.cl.mako. A walk behind
## that serves the queries that overflow, because they have more neighbors than slots ("overflow").
## In scope: frnn_unit, the place of the query.
## Config fields used: work_group_size, buffer_slots, first_pass.
<%namespace name="packed_counts" file="/methods/first_pass/packed_counts.mako"/>
<%def name="arguments()">
## frnn_buffer (slots / 4, frnn_units) of int4; frnn_overflowing (frnn_units,): whether a query overflows; frnn_totals: what the
## host reads with the number of pairs; a query that overflows writes frnn_serial to its element frnn_overflow_word.
<% const = "const " if first_pass == "overflow" else "" %>\
global ${const}int4 *restrict frnn_buffer, global ${const}uchar *restrict frnn_overflowing, const int frnn_units,
    global ${const}long *restrict frnn_totals, const int frnn_overflow_word, const int frnn_serial
</%def>

<%def name="declare()">
% if first_pass == "fill_buffer":
    // The slots of each query of the group. One more slot takes all neighbors that overflow, so that no neighbor needs
    // a branch; it also puts the slots of neighboring queries into different banks.
    local int frnn_slots[${work_group_size * (buffer_slots + 1)}];
% endif
</%def>

<%def name="append()" filter="trim">
## A neighbor goes to the next slot of its query.
% if first_pass == "fill_buffer":
frnn_slots[(int)get_local_id(0) * ${buffer_slots + 1} + frnn_min(frnn_count, ${buffer_slots})] = j;
% endif
</%def>

<%def name="store()">
## Writes the slots and the packed count of a query, in place of the count's own finish.
        local const int *const frnn_own_slots = frnn_slots + (int)get_local_id(0) * ${buffer_slots + 1};
% for first in range(0, buffer_slots, 4):
        if (frnn_count > ${first})
            frnn_buffer[${first // 4} * (size_t)frnn_units + frnn_unit] = (int4)(frnn_own_slots[${first}],
                ${", ".join(f"frnn_count > {k} ? frnn_own_slots[{k}] : 0" for k in range(first + 1, first + 4))});
% endfor
        frnn_overflowing[frnn_unit] = frnn_count > ${buffer_slots};
        if (frnn_count > ${buffer_slots}) {
            // The first slot of a query that overflows holds its number of neighbors.
            frnn_totals[frnn_overflow_word] = frnn_serial;
            ((global int *)frnn_buffer)[4 * (size_t)frnn_unit] = frnn_count;
        }
        counts[i] = ${packed_counts.pack("frnn_count", "frnn_unit")};
</%def>

<%def name="return_if_stored()">
% if first_pass == "overflow":
    if (!frnn_overflowing[frnn_unit]) return;
% endif
</%def>
