<%include file="cells.cl.mako"/>
<%namespace name="binning" file="binning.cl.mako"/>
<%namespace name="cells" file="cells.cl.mako"/>
<%namespace name="visit" file="visit.cl.mako"/>
// Cells of side at least r, cell by cell over the query's window.
// Launch: one work-item per query, groups of ${work_group_size}; queries that are the points come in sorted order.
// Exact because the window holds every cell of a neighbor. Source: Green (2010), "Processing collisions".
<%def name="walk(function)">
    ${visit.take_up(function)}
    <%visit:each_image args="image" split="${cells.splits(function)}">
        ${cells.window()}
        <%cells:rows>
            for (int frnn_at0 = frnn_from0; frnn_at0 <= frnn_to0; ++frnn_at0) {
                const int frnn_at = frnn_row + (frnn_at0 & frnn_mask.s0);
                const int frnn_stop = frnn_starts[frnn_at + 1];
                int frnn_t = frnn_starts[frnn_at];
                ${cells.run(function, image)}
            }
        </%cells:rows>
    </%visit:each_image>
    ${visit.lay_down(function)}
</%def>

% if function is None:
${binning.build()}
% else:
<%visit:program function="${function}" arguments="${cells.arguments}" walk="${walk}" point="${cells.point}" point_id="${cells.point_id}">
    ${cells.take_query()}
    ${walk(function)}
</%visit:program>
% endif
