## The text of the library's own NeighborFunctions, a def for each piece, named FUNCTION_PIECE.
## Flags: offset ("int" or "long"), distances ("", "root" or "square"), vectors, components.
<%def name="count_arguments()">global int *counts</%def>
<%def name="count_state()">int frnn_count = 0;</%def>
<%def name="count_per_neighbor()">++frnn_count;</%def>
<%def name="count_finish()">counts[i] = frnn_count;</%def>

<%def name="write_arguments()" filter="trim">
global const ${offset} *offsets, global int *indices\
% if distances:
, global real *distances\
% endif
% if vectors:
, global real *vectors\
% endif
</%def>
<%def name="write_state()">${offset} frnn_place = offsets[i];</%def>
<%def name="write_per_neighbor()">
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
++frnn_place;
</%def>
<%def name="write_finish()"></%def>
