<%namespace name="places" file="places.cl.mako"/>
<%namespace name="visit" file="visit.cl.mako"/>
## Marks: words of bits, one for each of the candidates at so many places in a row, of those that are neighbors of a query.
## A count makes them ("made"), and who comes after goes from neighbor to neighbor ("read"), but for queries that have
## more words than there is room for. Words without a neighbor are left out.
## Config fields used: bits, columns, marks. In scope are frnn_unit, and for "read" what the list's own function declares.
<%def name="types()">
// Where the places of a word begin, and its bits, the first place in the highest.
typedef ${"ulong" if bits == 64 else "uint"} frnn_bits;
typedef ${"ulong2" if bits == 64 else "uint2"} frnn_word;
</%def>

<%def name="arguments()">
global ${"const " if marks == "read" else ""}frnn_word *restrict frnn_words, global ${"const " if marks == "read" else ""}int *restrict frnn_used,
    const int frnn_room, const int frnn_units
</%def>

<%def name="word(number)" filter="trim">
## The words of one query beside each other on a CPU, those of queries side by side on a GPU.
frnn_words[${f"frnn_unit * (size_t)frnn_room + {number}" if columns else f"{number} * (size_t)frnn_units + frnn_unit"}]
</%def>

<%def name="begin()">
    int frnn_many_words = 0;
% if not columns:
    // The first words of a query wait for those of its neighbors: few bytes are written as slowly as a sector of memory.
    frnn_word ${", ".join(f"frnn_word{k} = 0" for k in range(held))};
% endif
</%def>

<%def name="keep(first, hits)">
    if (${hits}) {
        const frnn_word frnn_new = (frnn_word)(${first}, ${hits});
% if not columns:
% for k in range(held):
        if (frnn_many_words == ${k}) frnn_word${k} = frnn_new;
% endfor
        if (frnn_many_words >= ${held})
% endif
        if (frnn_many_words < frnn_room) ${word("frnn_many_words")} = frnn_new;
        ++frnn_many_words;
    }
</%def>

<%def name="end()">
% if not columns:
% for k in range(held):
    if (${k} < frnn_min(frnn_many_words, frnn_room)) ${word(k)} = frnn_word${k};
% endfor
% endif
    frnn_used[frnn_unit] = frnn_many_words;
</%def>

<%def name="open()">
        // The words that come next are under way while neighbors of earlier ones are written.
        const int frnn_all_words = frnn_min(frnn_used[frnn_unit], frnn_room);
        int frnn_many_words = ${ahead}, frnn_from = 0;
        frnn_bits frnn_hits = 0;
        frnn_word ${", ".join(f"frnn_word{k} = 0" for k in range(ahead))};
% for k in range(ahead):
        if (${k} < frnn_all_words) frnn_word${k} = ${word(k)};
% endfor
</%def>

<%def name="next_neighbor()">
    // The place of the next neighbor.
    if (!frnn_hits) {
        frnn_from = (int)frnn_word0.x;
        frnn_hits = frnn_word0.y;
% for k in range(1, ahead):
        frnn_word${k - 1} = frnn_word${k};
% endfor
        if (frnn_many_words < frnn_all_words) frnn_word${ahead - 1} = ${word("frnn_many_words")};
        ++frnn_many_words;
    }
    const int frnn_ahead = (int)clz(frnn_hits);
    frnn_hits ^= ((frnn_bits)1 << ${bits - 1}) >> frnn_ahead;
    const int frnn_t = frnn_from + frnn_ahead;
</%def>

<%def name="meets(function)"><% return marks == "read" and function.sectors and not columns %></%def>

<%def name="declare(function)">
% if meets(function):
    // So many neighbors of each row at a time, where they are, and those that are written.
    local int __attribute__((aligned(16))) frnn_stage[${work_group_size * (stage + 4)}], frnn_longest;
    local ${function.sectors} frnn_openings[${work_group_size}], frnn_closings[${work_group_size}];
% endif
</%def>

<%def name="read(function)">
% if meets(function):
    ${write_together(function)}
% else:
    if (frnn_used[frnn_unit] <= frnn_room) {
        ${open()}
        for (int frnn_left = (int)(offsets[i - first_row + 1] - offsets[i - first_row]); frnn_left > 0; --frnn_left) {
            ${next_neighbor()}
            ${places.take_candidate("frnn_t")}
            ${visit.offer(function, "plain", within="1")}
        }
        ${visit.lay_down(function)}
        return;
    }
% endif
</%def>

<%def name="write_together(function)">
<% offset, bounded = function.sectors, "capacity" in function.arguments %>\
    // Rows pass through local memory, so many neighbors of each at a time, from where items beside each other write what is
    // beside each other: part of a sector of the device's memory takes as long as all of it.
    const int frnn_l = get_local_id(0), frnn_marked = !frnn_idle & frnn_used[frnn_unit] <= frnn_room;
    ${open()}
    ${offset} frnn_closing = frnn_marked ? offsets[i - first_row + 1] : frnn_place;
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
        const ${offset} frnn_begin_here = frnn_base + frnn_behind;
        const int frnn_until = (int)min(frnn_closing - frnn_begin_here, (${offset})${stage});
        for (int frnn_slot = (int)max(frnn_place - frnn_begin_here, (${offset})0); frnn_slot < frnn_until; ++frnn_slot) {
            ${next_neighbor()}
            frnn_stage[frnn_l * ${stage + 4} + frnn_slot] = ${places.point_id("frnn_t")};
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int frnn_k = frnn_l; frnn_k < ${work_group_size * stage // 4}; frnn_k += ${work_group_size}) {
            const int frnn_whose = frnn_k / ${stage // 4}, frnn_part = frnn_k % ${stage // 4} * 4;
            const ${offset} frnn_opens = frnn_openings[frnn_whose], frnn_closes = frnn_closings[frnn_whose];
            const ${offset} frnn_to = (frnn_opens & ~(${offset})7) + frnn_behind + frnn_part;
            local const int *const frnn_from_here = frnn_stage + frnn_whose * ${stage + 4} + frnn_part;
            if (frnn_to >= frnn_opens & frnn_to + 4 <= frnn_closes) {
                *(global int4 *)(indices + frnn_to) = *(local const int4 *)frnn_from_here;
            } else {
% for k in range(4):
                if (frnn_to + ${k} >= frnn_opens & frnn_to + ${k} < frnn_closes) indices[frnn_to + ${k}] = frnn_from_here[${k}];
% endfor
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (frnn_idle | frnn_marked) return;
</%def>
