## Defines the text of the functions that count neighbors by distance: a def for each piece of a function, named FUNCTION_PIECE.
## Both write a row of the table for each query: the numbers of its neighbors in each bin. A bin begins with its lower edge and
## ends before its upper edge; the last one ends with it.
## In scope are the arguments of histogram_function in clfrnn/runtime/rendering.py: bins, pi_bins, axis, from_zero, weighted,
## components.

## "edges" counts the neighbors below each edge, in registers, without a branch. Walks that test a vector of candidates count by
## vectors: see /methods/candidate_run.mako. squares (bins + 1,): the squared edges.
<%def name="edges_arguments()">
global const real *squares, global int *table, const int first_row
</%def>
<%def name="edges_state()">
int frnn_count = 0;
% for k in range(bins - from_zero):
const real frnn_edge${k} = squares[${k + from_zero}];
int frnn_nearer${k} = 0;
% endfor
</%def>
<%def name="edges_per_neighbor()">
++frnn_count;
% for k in range(bins - from_zero):
frnn_nearer${k} += d2 < frnn_edge${k};
% endfor
</%def>
<%def name="edges_finish()">
<% below = (["0"] if from_zero else []) + [f"frnn_nearer{k}" for k in range(bins - from_zero)] + ["frnn_count"] %>
global int *frnn_histogram = table + (size_t)(i - first_row) * ${bins};
% for k in range(bins):
frnn_histogram[${k}] = ${below[k + 1]} - ${below[k]};
% endfor
</%def>

## "bins" finds the bin of each neighbor by bisection, and adds to a table of zeros. With pi_bins, pi_squares (pi_bins + 1,) are the squared edges along the
## line of sight, and squares those across it. With weights, these are whole numbers in two words, whose sums do not depend on
## their order: sums (rows, bins) of two words.
<%def name="bins_arguments()">
global const real *squares, global int *table, const int first_row\
% if pi_bins:
, global const real *pi_squares\
% endif
% if weighted:
, global const long2 *weights, global long2 *sums\
% endif
</%def>
<%def name="bins_state()">
<% row = bins * (pi_bins or 1) %>
global int *frnn_histogram = table + (size_t)(i - first_row) * ${row};
% if weighted:
global long2 *frnn_histogram_sums = sums + (size_t)(i - first_row) * ${row};
% endif
</%def>
<%def name="bins_per_neighbor()">
% if pi_bins:
<% across = [component for k, component in enumerate(components) if k != axis] %>
const real frnn_across = ${" + ".join(f"dx{component} * dx{component}" for component in across)};
const real frnn_along = dx${components[axis]} * dx${components[axis]};
% else:
const real frnn_across = d2;
% endif
if (frnn_across < squares[0] || frnn_across > squares[${bins}]) continue;
${bisect("frnn_bin", "squares", "frnn_across", bins)}
% if pi_bins:
if (frnn_along < pi_squares[0] || frnn_along > pi_squares[${pi_bins}]) continue;
${bisect("frnn_pi_bin", "pi_squares", "frnn_along", pi_bins)}
const int frnn_in_bin = frnn_bin * ${pi_bins} + frnn_pi_bin;
% else:
const int frnn_in_bin = frnn_bin;
% endif
++frnn_histogram[frnn_in_bin];
% if weighted:
frnn_histogram_sums[frnn_in_bin] += weights[j];
% endif
</%def>
<%def name="bins_finish()"></%def>

<%def name="bisect(name, edges, value, many)">
int ${name} = 0;
for (int frnn_past = ${many}; frnn_past - ${name} > 1;) {
    const int frnn_middle = (${name} + frnn_past) / 2;
    if (${value} < ${edges}[frnn_middle]) frnn_past = frnn_middle;
    else ${name} = frnn_middle;
}
</%def>
