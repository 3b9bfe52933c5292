## Defines what the library's functions that find the k nearest neighbors share: the arguments of a row, and its number. Rows
## are in ascending order of squared distance, index and shift. A full row lowers reach2 to the squared distance of its last
## neighbor, so that walks may leave out candidates beyond it. See registers.mako and heap.mako.
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
if ((leaves_out != 0) & (j == rows[i]) & ${" & ".join(f"(shift{component} == 0)" for component in components)}) break;
% endif
</%def>
