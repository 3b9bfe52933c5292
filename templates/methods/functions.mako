## Defines the text of the library's own functions: a def for each piece of a function, named FUNCTION_PIECE.
## In scope are the arguments of own_function in clfrnn/runtime/rendering.py: offset ("int" or "long"), distances ("", "root"
## or "square"), vectors, shifts, bounded, held, components, small, pairs ("", "int" or "long").
## Why counts are first written as bytes and nearest neighbors as pairs: see clfrnn/answers/count_nearest.py.
<%def name="count_arguments()">
global int *counts\
% if small:
, global uchar *bytes, global const int *disorder, const int disorder_start\
% endif
</%def>
<%def name="count_state()">int frnn_count = 0;</%def>
<%def name="count_per_neighbor()">++frnn_count;</%def>
<%def name="count_finish()">
% if small:
// A count of 255 or more does not fit a byte and is also written as an int.
if (disorder[disorder_start]) bytes[i] = (uchar)frnn_min(frnn_count, 255);
if (!disorder[disorder_start] || frnn_count >= 255) counts[i] = frnn_count;
% else:
counts[i] = frnn_count;
% endif
</%def>

<%def name="write_arguments()" filter="trim">
global const ${offset} *offsets, const int first_row, global int *indices\
% if distances:
, global real *distances\
% endif
% if vectors:
, global real *vectors\
% endif
% if shifts:
, global int *shifts\
% endif
% if bounded:
, const ${offset} capacity\
% endif
</%def>
<%def name="write_state()">
## frnn_entry is the position in the list where the next neighbor is written.
${offset} frnn_entry = offsets[i - first_row];
% if held:
// The last ${held} neighbors of the row stay in registers until they fill a whole sector of memory.
const ${offset} frnn_opening = frnn_entry;
int${held} frnn_last = 0;
% endif
</%def>
<%def name="write_per_neighbor()">
% if bounded:
## A list with more pairs than its capacity is written up to the capacity and then discarded. An offset below zero has
## overflowed.
if ((u${offset})frnn_entry >= (u${offset})capacity) break;
% endif
% if held:
frnn_last = (int${held})(${", ".join(f"frnn_last.s{k:x}" for k in range(1, held))}, j);
++frnn_entry;
if (!(frnn_entry & ${held - 1})) {
    if (frnn_entry - frnn_opening >= ${held}) {
% for k in range(0, held, 4):
        *(global int4 *)(indices + frnn_entry - ${held - k}) = frnn_last.s${"".join(f"{k + m:x}" for m in range(4))};
% endfor
    } else {
        ${write_last("frnn_entry - frnn_opening")}
    }
}
% else:
indices[frnn_entry] = j;
% if distances == "root":
distances[frnn_entry] = frnn_sqrt(d2);
% elif distances == "square":
distances[frnn_entry] = d2;
% endif
% if vectors:
% for component in components:
vectors[(size_t)frnn_entry * ${len(components)} + ${loop.index}] = dx${component};
% endfor
% endif
% if shifts:
% for component in components:
shifts[(size_t)frnn_entry * ${len(components)} + ${loop.index}] = shift${component};
% endfor
% endif
++frnn_entry;
% endif
</%def>
<%def name="write_finish()">
% if held:
const int frnn_left = min((int)(frnn_entry & ${held - 1}), (int)(frnn_entry - frnn_opening));
${write_last("frnn_left")}
% endif
</%def>
<%def name="write_last(many)">
% for k in range(1, held):
if (${many} >= ${k}) indices[frnn_entry - ${k}] = frnn_last.s${f"{held - k:x}"};
% endfor
</%def>

## Of neighbors at the same distance, the one with the lowest id counts. Each closer neighbor lowers reach2, so that the
## walk may leave out candidates beyond it.
<%def name="nearest_arguments()">
global int *indices, global real *distances\
% if pairs:
, global ${pairs}2 *pairs, global const int *disorder, const int disorder_start\
% endif
</%def>
<%def name="nearest_state()">int frnn_nearest = -1;</%def>
<%def name="nearest_per_neighbor()">
if (frnn_nearest < 0 || d2 < reach2 || (d2 == reach2 && j < frnn_nearest)) {
    frnn_nearest = j;
    reach2 = d2;
}
</%def>
<%def name="nearest_finish()">
const real frnn_distance = frnn_nearest < 0 ? (real)INFINITY : frnn_sqrt(reach2);
% if pairs:
if (disorder[disorder_start]) {
    pairs[i] = (${pairs}2)(frnn_nearest, as_${pairs}(frnn_distance));
} else {
    indices[i] = frnn_nearest;
    distances[i] = frnn_distance;
}
% else:
indices[i] = frnn_nearest;
distances[i] = frnn_distance;
% endif
</%def>
