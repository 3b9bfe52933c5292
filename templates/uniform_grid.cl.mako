<%include file="cells.cl.mako"/>
<%namespace name="binning" file="binning.cl.mako"/>
<%namespace name="cells" file="cells.cl.mako"/>
<%namespace name="visit" file="visit.cl.mako"/>
// Cells of side at least r, cell by cell over the query's window.
// Launch: one work-item per query, groups of ${work_group_size}; queries that are the points come in sorted order.
// Exact because the window holds every cell of a neighbor. Source: Green (2010), "Processing collisions".
<%def name="walk(function)">
    ${visit.take_up(function)}
    <%visit:images>
        ${cells.window()}
        <%cells:rows>
            for (int frnn_at0 = frnn_from0; frnn_at0 <= frnn_to0; ++frnn_at0) {
                const int frnn_at = frnn_row + (frnn_at0 & frnn_mask.s0);
                const int frnn_stop = frnn_starts[frnn_at + 1];
                int frnn_t = frnn_starts[frnn_at];
                ${cells.run(function)}
            }
        </%cells:rows>
    </%visit:images>
    ${visit.lay_down(function)}
</%def>

% if function is None:
${binning.build()}
% else:
${visit.program(function, cells.arguments, cells.take_query, walk, cells.point, cells.point_id)}
% endif
