## Marks: words of bits, one for each of the candidates at so many places in a row, of those that are neighbors of a query.
## A count makes them ("made"), and who comes after goes from neighbor to neighbor ("read"), but for queries that have
## more words than there is room for. Words without a neighbor are left out.
## Config fields used: work_group_size, bits, held, ahead, stage, columns, marks. In scope is frnn_unit.
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
