## Defines the text of the function that finds the k nearest neighbors of each query in registers: a def for each piece.
## In scope are the arguments of row_function in clfrnn/runtime/rendering.py: capacity, vector, real, shifts, components,
## lanes, again, census.
<%!
    def exchanges(n):
        """The pairs of places that a sorting network compares, in order, for n places: merge exchange (Knuth, 5.2.2 M)."""
        found, top = [], 1 << max(0, (n - 1).bit_length() - 1)
        p = top if n > 1 else 0
        while p:
            q, r, d = top, 0, p
            while True:
                found += [(s, s + d) for s in range(n - d) if s & p == r]
                if q == p:
                    break
                d, q, r = q - p, q // 2, p
            p //= 2
        return found
%>\
## There are `capacity` places, and each has variables of its own, because an array with variable indices
## would lie in memory. A row of k neighbors takes the last k places. The others hold what comes before every neighbor and
## stay as they are. Places without a neighbor hold what comes behind every neighbor.
## In float a place is one integer, the bits of the squared distance above the index: such integers are ordered as
## neighbors are. With `vector`, that many places are a vector, because a CPU moves on all neighbors of a vector together.
<%namespace name="nearest_row" file="/answers/nearest/nearest_row.mako"/>
<%def name="registers_preamble()">
% if census:
// The place of a neighbor that waits, or that of none.
ulong frnn_taken_place(local const uint *squares, local const int *ids, const int many, const int s, const int stride, const int itself)
{
    return s < many && ids[s * stride] != itself ? ((ulong)squares[s * stride] << 32) | (uint)ids[s * stride] : 0x7f800000ffffffff;
}
% endif
</%def>
<%def name="registers_arguments()">${nearest_row.row_arguments()}</%def>
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
${nearest_row.leave_out_itself()}
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
${insert_new()}\
</%def>
<%def name="insert_new()">\
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
<%def name="registers_taken()">
## `capacity` is a power of two. Half as many neighbors as places at a time are sorted by a network, and of them and the row the
## nearest stay: the row, whose last half is the lesser of each pair with them in reverse, is a bitonic sequence (Batcher).
<% some = max(1, capacity // 2) %>\
for (int frnn_s = 0; frnn_s < frnn_waiting; frnn_s += ${some}) {
% for s in range(some):
    ulong frnn_new${s} = frnn_s + ${s} < frnn_waiting ? frnn_waiting_places[(frnn_s + ${s}) * frnn_stride] : 0x7f800000ffffffff;
% endfor
% for low, high in exchanges(some):
    ${exchange("frnn_new", low, high)}
% endfor
% for s in range(some):
<% own = capacity - 1 - s %>\
    frnn_place${own} = frnn_place${own} < frnn_new${s} ? frnn_place${own} : frnn_new${s};
% endfor
% for apart in (capacity >> step for step in range(1, capacity.bit_length())):
% for s in (s for s in range(capacity) if not s & apart):
    ${exchange("frnn_place", s, s + apart)}
% endfor
% endfor
}
reach2 = fmin(reach2, ${square_at(capacity - 1)});
</%def>
<%def name="registers_forgotten()">
% for s in range(capacity):
frnn_place${s} = ${s} < frnn_spare ? 0 : 0x7f800000ffffffff;
% endfor
</%def>
<%def name="exchange(name, low, high)">
    {
        const int frnn_ordered = ${name}${low} < ${name}${high};
        const ulong frnn_less = frnn_ordered ? ${name}${low} : ${name}${high};
        ${name}${high} = frnn_ordered ? ${name}${high} : ${name}${low};
        ${name}${low} = frnn_less;
    }
</%def>
<%def name="registers_wanted()">k${" + (leaves_out != 0)" if again else ""}</%def>
<%def name="registers_collected()">
## What a census collects: see /answers/nearest/census.mako. The first of them fill the places and are sorted there by a network,
## which takes an item of lockstep as long as a few insertions.
const int frnn_itself = ${"leaves_out ? rows[i] : -1" if again else "-1"};
int frnn_taken = 0;
if (!frnn_direct) {
% for s in range(capacity):
    if (frnn_spare <= ${s}) frnn_place${s} = ${taken(f"{s} - frnn_spare")};
% endfor
% for low, high in exchanges(capacity):
    ${exchange("frnn_place", low, high)}
% endfor
    frnn_taken = k;
}
for (; frnn_taken < frnn_waiting; ++frnn_taken) {
    const ulong frnn_new = ${taken("frnn_taken")};
    ${insert_new()}
}
</%def>
<%def name="taken(s)" filter="trim">
frnn_taken_place(frnn_waiting_squares, frnn_waiting_ids, frnn_waiting, ${s}, frnn_stride, frnn_itself)
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
const size_t frnn_begin = (size_t)${nearest_row.row_number()} * k;
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
