## Hit mask: which candidates of a query are its neighbors. A count writes it ("write_mask"), and the walk behind it goes from
## neighbor to neighbor ("read_mask"); queries that need more words than there is room for go through candidates again.
## On a GPU a word has the first of bits places in a row, and a bit for each of them; words without a neighbor are left out.
## On a CPU, where points lie in columns, a word is the place of a neighbor, and the words of a query lie in a row.
## Config fields used: work_group_size, bits, held, ahead, stage, width, columns, first_pass. In scope is frnn_unit.
<%def name="types()">
% if columns:
typedef int frnn_word;
% else:
// Where the places of a word begin, and its bits, the first place in the highest.
typedef uint frnn_bits;
typedef uint2 frnn_word;
% endif
</%def>

<%def name="arguments()">
global ${"const " if first_pass == "read_mask" else ""}frnn_word *restrict frnn_words, global ${"const " if first_pass == "read_mask" else ""}int *restrict frnn_used,
    const int frnn_room, const int frnn_units
</%def>

<%def name="word(number)" filter="trim">
## Those of queries side by side, beside each other.
frnn_words[${number} * (size_t)frnn_units + frnn_unit]
</%def>

<%def name="row()" filter="trim">
## The words of one query, on a CPU: a batch more than there is room for, as they are written so many at once.
frnn_words + frnn_unit * ((size_t)frnn_room + ${width})
</%def>

<%def name="begin()">
% if columns:
    global frnn_word *const frnn_row_of_words = ${row()};
% else:
    int frnn_many_words = 0;
    // The first words of a query wait for those of its neighbors: few bytes are written as slowly as a sector of memory.
    frnn_word ${", ".join(f"frnn_word{k} = 0" for k in range(held))};
% endif
</%def>

<%def name="keep(first, hits)">
    if (${hits}) {
        const frnn_word frnn_new = (frnn_word)(${first}, ${hits});
% for k in range(held):
        if (frnn_many_words == ${k}) frnn_word${k} = frnn_new;
% endfor
        if (frnn_many_words >= ${held})
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
    frnn_used[frnn_unit] = ${"frnn_count" if columns else "frnn_many_words"};
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

<%def name="meets(function)"><% return first_pass == "read_mask" and function.sectors and not columns %></%def>

<%def name="declare(function)">
% if meets(function):
    // So many neighbors of each row at a time, where they are, and those that are written.
    local int __attribute__((aligned(16))) frnn_stage[${work_group_size * (stage + 4)}], frnn_longest;
    local ${function.sectors} frnn_openings[${work_group_size}], frnn_closings[${work_group_size}];
% endif
</%def>
