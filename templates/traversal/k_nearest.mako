## Defines the text of the library's functions that find the k nearest neighbors of each query: a def for each piece of a
## function, named WAY_PIECE. Rows are in ascending order of squared distance, index and shift. A full row lowers reach2 to
## the squared distance of its last neighbor, so that walks may leave out candidates beyond it.
## In scope are the arguments of row_function in clfrnn/runtime/rendering.py: capacity, vector, real, shifts, components,
## lanes, again.
## With `again`, query i fills row rows[i]. It is then a point itself where leaves_out is not zero, with the number rows[i],
## and the walk takes it for a foreign query.
<%def name="row_arguments()">
global int *indices, global real *distances, const int k\
% if shifts:
, global int *shifts\
% endif
% if again:
, global const int *rows, const int leaves_out\
% endif
</%def>
<%def name="row_number()" filter="trim">
${"rows[i]" if again else "i"}
</%def>
<%def name="leave_out_itself()">
% if again:
if (leaves_out && j == rows[i] && ${" && ".join(f"shift{component} == 0" for component in components)}) break;
% endif
</%def>

## In registers. There are `capacity` places, and each has variables of its own, because an array with variable indices
## would lie in memory. A row of k neighbors takes the last k places. The others hold what comes before every neighbor and
## stay as they are. Places without a neighbor hold what comes behind every neighbor.
## In float a place is one integer, the bits of the squared distance above the index: such integers are ordered as
## neighbors are. With `vector`, that many places are a vector, because a CPU moves on all neighbors of a vector together.
<%def name="registers_preamble()"></%def>
<%def name="registers_arguments()">${row_arguments()}</%def>
<%def name="registers_state()">
const int frnn_spare = ${capacity} - k;
% if vector:
% for v in range(0, capacity, vector):
ulong${vector} frnn_places${v} = (ulong${vector})(${", ".join(f"{v + m} < frnn_spare ? 0 : 0x7f800000ffffffff" for m in range(vector))});
% endfor
% endif
% for s in range(0 if vector else capacity):
% if real == "float":
ulong frnn_place${s} = ${s} < frnn_spare ? 0 : 0x7f800000ffffffff;
% else:
real frnn_square${s} = ${s} < frnn_spare ? (real)-1 : (real)INFINITY;
int frnn_place${s} = -1;
% endif
% endfor
</%def>
<%def name="comes_before(s)" filter="trim">
% if real == "float":
frnn_new < frnn_place${s}
% else:
(d2 < frnn_square${s}) | ((d2 == frnn_square${s}) & (j < frnn_place${s}))
% endif
</%def>
<%def name="registers_per_neighbor()">
${leave_out_itself()}
% if vector:
${insert_into_vectors()}
% else:
${insert_into_places()}
% endif
</%def>
<%def name="insert_into_vectors()">
const ulong frnn_new = ((ulong)as_uint(d2) << 32) | (uint)j;
if (frnn_new < ${place_at(capacity - 1)}) {
    // Of a place, the place before it and the new neighbor, the middle one belongs there.
% for v in reversed(range(0, capacity, vector)):
    const ulong${vector} frnn_before${v} = (ulong${vector})(${", ".join(capture(place_at, s) if s >= 0 else "0" for s in range(v - 1, v + vector - 1))});
    frnn_places${v} = frnn_places${v} < frnn_new ? frnn_places${v} : (ulong${vector})frnn_new;
    frnn_places${v} = frnn_places${v} > frnn_before${v} ? frnn_places${v} : frnn_before${v};
% endfor
    const real frnn_last = ${square_at(capacity - 1)};
    reach2 = frnn_last < reach2 ? frnn_last : reach2;
}
</%def>
<%def name="place_at(s)" filter="trim">
${f"frnn_places{s - s % vector}.s{s % vector}" if vector else f"frnn_place{s}"}
</%def>
<%def name="insert_into_places()">
% if real == "float":
const ulong frnn_new = ((ulong)as_uint(d2) << 32) | (uint)j;
% endif
int frnn_here = ${comes_before(capacity - 1)};
if (frnn_here) {
    // Neighbors behind the new one move on by a place, and the last one drops out.
    int frnn_ahead;
% for s in reversed(range(1, capacity)):
    frnn_ahead = ${comes_before(s - 1)};
% if real == "float":
    frnn_place${s} = frnn_ahead ? frnn_place${s - 1} : frnn_here ? frnn_new : frnn_place${s};
% else:
    frnn_square${s} = frnn_ahead ? frnn_square${s - 1} : frnn_here ? d2 : frnn_square${s};
    frnn_place${s} = frnn_ahead ? frnn_place${s - 1} : frnn_here ? j : frnn_place${s};
% endif
    frnn_here = frnn_ahead;
% endfor
    if (frnn_here) {
% if real == "float":
        frnn_place0 = frnn_new;
% else:
        frnn_square0 = d2;
        frnn_place0 = j;
% endif
    }
    const real frnn_last = ${square_at(capacity - 1)};
    reach2 = frnn_last < reach2 ? frnn_last : reach2;
}
</%def>
<%def name="square_at(s)" filter="trim">
${f"as_float((uint)({capture(place_at, s)} >> 32))" if real == "float" else f"frnn_square{s}"}
</%def>
<%def name="index_at(s)" filter="trim">
${f"(int){capture(place_at, s)}" if real == "float" else f"frnn_place{s}"}
</%def>
<%def name="distance_at(s)" filter="trim">
(${index_at(s)} < 0 ? (real)INFINITY : frnn_sqrt(${square_at(s)}))
</%def>
<%def name="registers_finish()">
const size_t frnn_begin = (size_t)${row_number()} * k;
% if capacity % 4 == 0:
if (!frnn_spare) {
    // Four numbers at a time, because a GPU writes memory in sectors.
% for s in range(0, capacity, 4):
    *(global int4 *)(indices + frnn_begin + ${s}) = (int4)(${", ".join(capture(index_at, s + m) for m in range(4))});
    *(global ${real}4 *)(distances + frnn_begin + ${s}) = (${real}4)(${", ".join(capture(distance_at, s + m) for m in range(4))});
% endfor
} else
% endif
{
% for s in range(capacity):
    if (frnn_spare <= ${s}) {
        indices[frnn_begin + ${s} - frnn_spare] = ${index_at(s)};
        distances[frnn_begin + ${s} - frnn_spare] = ${distance_at(s)};
    }
% endfor
}
</%def>

## In the row of the result itself, as a heap whose first entry comes last of all. It serves any k, and rows that may hold
## several images of a point.
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
<%def name="heap_arguments()">${row_arguments()}</%def>
<%def name="heap_state()">int frnn_row_held = 0;</%def>
<%def name="row()">
global int *frnn_row_indices = indices + (size_t)${row_number()} * k;
global real *frnn_row_squares = distances + (size_t)${row_number()} * k;
% if shifts:
global int *frnn_row_shifts = shifts + (size_t)${row_number()} * k * ${len(components)};
% endif
</%def>
<%def name="make_heap()">
for (int frnn_parent = frnn_row_held / 2 - 1; frnn_parent >= 0; --frnn_parent)
    frnn_sink(${own_row()}, frnn_row_held, frnn_parent, ${own_entry("frnn_parent")});
</%def>
<%def name="heap_per_neighbor()">
${leave_out_itself()}
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
