## Defines the text of the function that finds the k nearest neighbors of each query by a heap: a def for each piece.
## In scope are the arguments of row_function in clfrnn/runtime/rendering.py: capacity, vector, real, shifts, components,
## lanes, again.
## The row of the result itself is a heap, whose first entry comes last of all. It serves any k, and rows that may hold
## several images of a point.
<%namespace name="nearest_row" file="/answers/nearest/nearest_row.mako"/>
<%def name="shift_of(array, place)">
% for component in components:
${array}[(size_t)(${place}) * ${len(components)} + ${loop.index}]${"" if loop.last else ", "}\
% endfor
</%def>
<%def name="heap_preamble()">
// Whether neighbor a comes before neighbor b.
int frnn_comes_before(const real a2, const int a\
% if shifts:
, const frnn_shift a_shift\
% endif
, const real b2, const int b\
% if shifts:
, const frnn_shift b_shift\
% endif
)
{
% if shifts:
    int by_shift = 0;
% for component in reversed(components):
    by_shift = (a_shift${component} < b_shift${component}) | ((a_shift${component} == b_shift${component}) & by_shift);
% endfor
    return (a2 < b2) | ((a2 == b2) & ((a < b) | ((a == b) & by_shift)));
% else:
    return (a2 < b2) | ((a2 == b2) & (a < b));
% endif
}
% if shifts:

frnn_shift frnn_load_shift(global const int *shifts)
{
    return (frnn_shift)(${", ".join([f"shifts[{m}]" for m in range(len(components))] + ["0"] * (lanes - len(components)))});
}
% endif

// Puts a neighbor into a heap of `held` entries whose entry at `place` is free: entries below it that come behind the
// neighbor move up.
void frnn_sink(global real *squares, global int *indices, \
% if shifts:
global int *shifts, \
% endif
const int held, int place, const real d2, const int j\
% if shifts:
, const frnn_shift shift\
% endif
)
{
    while (place < held / 2) {
        int child = 2 * place + 1;
        if (child + 1 < held && frnn_comes_before(${entry("child")}, ${entry("child + 1")})) ++child;
        if (!frnn_comes_before(${new_entry()}, ${entry("child")})) break;
        squares[place] = squares[child];
        indices[place] = indices[child];
% if shifts:
        for (int m = 0; m < ${len(components)}; ++m) shifts[(size_t)place * ${len(components)} + m] = shifts[(size_t)child * ${len(components)} + m];
% endif
        place = child;
    }
    squares[place] = d2;
    indices[place] = j;
% if shifts:
% for component in components:
    shifts[(size_t)place * ${len(components)} + ${loop.index}] = shift${component};
% endfor
% endif
}
</%def>
<%def name="entry(place)" filter="trim">
squares[${place}], indices[${place}]${f", frnn_load_shift(shifts + (size_t)({place}) * {len(components)})" if shifts else ""}
</%def>
<%def name="new_entry()" filter="trim">
d2, j${", shift" if shifts else ""}
</%def>
<%def name="own_entry(place)" filter="trim">
frnn_row_squares[${place}], frnn_row_indices[${place}]${f", frnn_load_shift(frnn_row_shifts + (size_t)({place}) * {len(components)})" if shifts else ""}
</%def>
<%def name="own_row()" filter="trim">
frnn_row_squares, frnn_row_indices${", frnn_row_shifts" if shifts else ""}
</%def>
<%def name="heap_arguments()">${nearest_row.row_arguments()}</%def>
<%def name="heap_state()">int frnn_row_held = 0;</%def>
<%def name="row()">
global int *frnn_row_indices = indices + (size_t)${nearest_row.row_number()} * k;
global real *frnn_row_squares = distances + (size_t)${nearest_row.row_number()} * k;
% if shifts:
global int *frnn_row_shifts = shifts + (size_t)${nearest_row.row_number()} * k * ${len(components)};
% endif
</%def>
<%def name="make_heap()">
for (int frnn_parent = frnn_row_held / 2 - 1; frnn_parent >= 0; --frnn_parent)
    frnn_sink(${own_row()}, frnn_row_held, frnn_parent, ${own_entry("frnn_parent")});
</%def>
<%def name="heap_per_neighbor()">
${nearest_row.leave_out_itself()}
${row()}
if (frnn_row_held < k) {
    frnn_row_squares[frnn_row_held] = d2;
    frnn_row_indices[frnn_row_held] = j;
% if shifts:
% for component in components:
    frnn_row_shifts[(size_t)frnn_row_held * ${len(components)} + ${loop.index}] = shift${component};
% endfor
% endif
    if (++frnn_row_held == k) {
        ${make_heap()}
        reach2 = frnn_row_squares[0] < reach2 ? frnn_row_squares[0] : reach2;
    }
} else if (frnn_comes_before(${new_entry()}, ${own_entry("0")})) {
    frnn_sink(${own_row()}, k, 0, ${new_entry()});
    reach2 = frnn_row_squares[0] < reach2 ? frnn_row_squares[0] : reach2;
}
</%def>
<%def name="heap_finish()">
${row()}
if (frnn_row_held < k) {
    ${make_heap()}
}
// The entry that comes last of all goes behind the heap, which has one entry less then.
for (int frnn_end = frnn_row_held - 1; frnn_end > 0; --frnn_end) {
    const real d2 = frnn_row_squares[frnn_end];
    const int j = frnn_row_indices[frnn_end];
% if shifts:
    const frnn_shift shift = frnn_load_shift(frnn_row_shifts + (size_t)frnn_end * ${len(components)});
    for (int m = 0; m < ${len(components)}; ++m) frnn_row_shifts[(size_t)frnn_end * ${len(components)} + m] = frnn_row_shifts[m];
% endif
    frnn_row_squares[frnn_end] = frnn_row_squares[0];
    frnn_row_indices[frnn_end] = frnn_row_indices[0];
    frnn_sink(${own_row()}, frnn_end, 0, ${new_entry()});
}
for (int frnn_at = 0; frnn_at < k; ++frnn_at) {
    if (frnn_at < frnn_row_held) {
        frnn_row_squares[frnn_at] = frnn_sqrt(frnn_row_squares[frnn_at]);
    } else {
        frnn_row_indices[frnn_at] = -1;
        frnn_row_squares[frnn_at] = INFINITY;
% if shifts:
        for (int m = 0; m < ${len(components)}; ++m) frnn_row_shifts[(size_t)frnn_at * ${len(components)} + m] = 0;
% endif
    }
}
</%def>
