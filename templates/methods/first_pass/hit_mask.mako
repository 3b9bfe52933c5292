## Defines the hit mask, which says which candidates of a query are its neighbors. A count writes it ("write_mask"); the
## walk behind the count reads it and goes from neighbor to neighbor ("read_mask"). A query that needs more words than
## it has goes through its candidates again.
## On a GPU a word holds the first of `bits` places and a bit for each of them; words without a neighbor are not written.
## On a CPU, where points lie in columns, a word is the place of one neighbor, and the words of a query follow each other.
## In scope: frnn_unit, the number of the query in the launch.
## Config fields used: work_group_size, bits, held, ahead, stage, width, columns, first_pass.
<%def name="types()">
% if columns:
typedef int frnn_word;
% else:
// x: the first place of a word. y: its bits, of which the highest is that of the first place.
typedef uint frnn_bits;
typedef uint2 frnn_word;
% endif
</%def>

<%def name="arguments()">
## frnn_words: the words of all queries; frnn_used (frnn_units,): how many words each query needs; frnn_mask_words: how
## many it has.
global ${"const " if first_pass == "read_mask" else ""}frnn_word *restrict frnn_words, global ${"const " if first_pass == "read_mask" else ""}int *restrict frnn_used,
    const int frnn_mask_words, const int frnn_units
</%def>

<%def name="word(number)" filter="trim">
## On a GPU, words with the same number stand beside each other, for queries in the order of the launch.
frnn_words[${number} * (size_t)frnn_units + frnn_unit]
</%def>

<%def name="query_words()" filter="trim">
## On a CPU, the words of a query. A batch is written as a whole, so there is room for one more batch behind them.
frnn_words + frnn_unit * ((size_t)frnn_mask_words + ${width})
</%def>

<%def name="begin()">
% if columns:
    global frnn_word *const frnn_query_words = ${query_words()};
% else:
    int frnn_many_words = 0;
    // The first words of a query are written at its end, together with those of neighboring queries: a GPU takes as
    // long to write a few bytes as to write a sector of memory.
    frnn_word ${", ".join(f"frnn_word{k} = 0" for k in range(held))};
% endif
</%def>

<%def name="append(first, hits)">
    if (${hits}) {
        const frnn_word frnn_new = (frnn_word)(${first}, ${hits});
% for k in range(held):
        if (frnn_many_words == ${k}) frnn_word${k} = frnn_new;
% endfor
        if (frnn_many_words >= ${held})
        if (frnn_many_words < frnn_mask_words) ${word("frnn_many_words")} = frnn_new;
        ++frnn_many_words;
    }
</%def>

<%def name="end()">
% if not columns:
% for k in range(held):
    if (${k} < frnn_min(frnn_many_words, frnn_mask_words)) ${word(k)} = frnn_word${k};
% endfor
% endif
    frnn_used[frnn_unit] = ${"frnn_count" if columns else "frnn_many_words"};
</%def>

<%def name="begin_reading()">
        // The next ${ahead} words are loaded ahead, while the neighbors of earlier words are written.
        const int frnn_all_words = frnn_min(frnn_used[frnn_unit], frnn_mask_words);
        int frnn_many_words = ${ahead}, frnn_from = 0;
        frnn_bits frnn_hits = 0;
        frnn_word ${", ".join(f"frnn_word{k} = 0" for k in range(ahead))};
% for k in range(ahead):
        if (${k} < frnn_all_words) frnn_word${k} = ${word(k)};
% endfor
</%def>

<%def name="next_neighbor()">
    // frnn_t is the place of the next neighbor.
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

## Whether the work-items of a group write their rows together, through local memory. Barriers then stand in the kernel.
<%def name="writes_together(function)"><% return first_pass == "read_mask" and function.sectors and not columns %></%def>

<%def name="declare(function)">
% if writes_together(function):
    // The next ${stage} entries of each row, and where each row begins and ends in the list.
    local int __attribute__((aligned(16))) frnn_stage[${work_group_size * (stage + 4)}], frnn_longest;
    local ${function.sectors} frnn_row_starts[${work_group_size}], frnn_row_ends[${work_group_size}];
% endif
</%def>
