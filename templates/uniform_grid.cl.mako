<%include file="cells.cl.mako"/>
<%namespace name="binning" file="binning.cl.mako"/>
<%namespace name="cells" file="cells.cl.mako"/>
<%namespace name="visit" file="visit.cl.mako"/>
<%namespace name="geometry" file="geometry.cl.mako"/>
// Cells of side at least r, cell by cell over the query's window.
// Launch: one work-item per query, groups of ${work_group_size}; queries that are the points come in sorted order.
// Config fields used: work_group_size, foreign. Exact because the window holds every cell of a neighbor.
// Source: Green (2010), "Processing collisions".
<%def name="walk(function)">
    ${cells.take_query()}
    ${visit.take_up(function)}
    ${cells.window()}
    <%cells:rows>
        for (int frnn_at0 = frnn_from0; frnn_at0 <= frnn_to0; ++frnn_at0) {
            const int frnn_at = frnn_row + FRNN_LANE(frnn_at0, frnn_shape.s0, frnn_wrapped);
            const int frnn_stop = frnn_starts[frnn_at + 1];
            int frnn_t = frnn_starts[frnn_at];
            ${cells.run(function)}
        }
    </%cells:rows>
    ${visit.lay_down(function)}
</%def>

% if function is None:
${binning.build()}
% else:
${geometry.root()}
${function.preamble}
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void visit(${visit.arguments()} ${cells.arguments()}, ${function.arguments})
{
${walk(function)}
}
% endif
