## The text of the library's own NeighborFunctions, a def for each piece, named FUNCTION_PIECE.
## Flags: offset ("int" or "long"), distances ("", "root" or "square"), vectors, shifts, bounded, held, components,
## small, pairs ("", "int" or "long").
## What is written in another form first, where it is asked for, is told of in clfrnn/methods/answers.py.
<%def name="count_arguments()">
global int *counts\
% if small:
, global uchar *bytes, global const int *asked, const int place\
% endif
</%def>
<%def name="count_state()">int frnn_count = 0;</%def>
<%def name="count_per_neighbor()">++frnn_count;</%def>
<%def name="count_finish()">
% if small:
// Counts of 255 and more are written as they are.
if (asked[place]) bytes[i] = (uchar)frnn_min(frnn_count, 255);
if (!asked[place] || frnn_count >= 255) counts[i] = frnn_count;
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
${offset} frnn_place = offsets[i - first_row];
% if held:
// The last ${held} of the row's neighbors wait for a place from which on they are a whole sector of memory.
const ${offset} frnn_opening = frnn_place;
int${held} frnn_last = 0;
% endif
</%def>
<%def name="write_per_neighbor()">
% if bounded:
## A list that is too short for its pairs is written as far as it goes, and thrown away. Places below zero are out of it too.
if ((u${offset})frnn_place >= (u${offset})capacity) break;
% endif
% if held:
frnn_last = (int${held})(${", ".join(f"frnn_last.s{k:x}" for k in range(1, held))}, j);
++frnn_place;
if (!(frnn_place & ${held - 1})) {
    if (frnn_place - frnn_opening >= ${held}) {
% for k in range(0, held, 4):
        *(global int4 *)(indices + frnn_place - ${held - k}) = frnn_last.s${"".join(f"{k + m:x}" for m in range(4))};
% endfor
    } else {
        ${write_last("frnn_place - frnn_opening")}
    }
}
% else:
indices[frnn_place] = j;
% if distances == "root":
distances[frnn_place] = frnn_sqrt(d2);
% elif distances == "square":
distances[frnn_place] = d2;
% endif
% if vectors:
% for component in components:
vectors[(size_t)frnn_place * ${len(components)} + ${loop.index}] = dx${component};
% endfor
% endif
% if shifts:
% for component in components:
shifts[(size_t)frnn_place * ${len(components)} + ${loop.index}] = shift${component};
% endfor
% endif
++frnn_place;
% endif
</%def>
<%def name="write_finish()">
% if held:
const int frnn_left = min((int)(frnn_place & ${held - 1}), (int)(frnn_place - frnn_opening));
${write_last("frnn_left")}
% endif
</%def>
<%def name="write_last(many)">
% for k in range(1, held):
if (${many} >= ${k}) indices[frnn_place - ${k}] = frnn_last.s${f"{held - k:x}"};
% endfor
</%def>

## Ties go to the lowest id. What lies beyond the best so far need not be offered any more.
<%def name="nearest_arguments()">
global int *indices, global real *distances\
% if pairs:
, global ${pairs}2 *pairs, global const int *asked, const int place\
% endif
</%def>
<%def name="nearest_state()">int frnn_best = -1;</%def>
<%def name="nearest_per_neighbor()">
if (frnn_best < 0 || d2 < reach2 || (d2 == reach2 && j < frnn_best)) {
    frnn_best = j;
    reach2 = d2;
}
</%def>
<%def name="nearest_finish()">
const real frnn_distance = frnn_best < 0 ? (real)INFINITY : frnn_sqrt(reach2);
% if pairs:
if (asked[place]) {
    pairs[i] = (${pairs}2)(frnn_best, as_${pairs}(frnn_distance));
} else {
    indices[i] = frnn_best;
    distances[i] = frnn_distance;
}
% else:
indices[i] = frnn_best;
distances[i] = frnn_distance;
% endif
</%def>
