<%include file="cells.cl.mako"/>
<%namespace name="binning" file="binning.cl.mako"/>
<%namespace name="cells" file="cells.cl.mako"/>
<%namespace name="visit" file="visit.cl.mako"/>
<%namespace name="periodic_box" file="periodic.cl.mako"/>
// Cells of side at least r, cell by cell over the query's window.
// Launch: one work-item per query, groups of ${work_group_size}; queries that are the points come in sorted order.
// Exact because the window holds every cell of a neighbor. Source: Green (2010), "Processing collisions".
<%def name="walk(function)">
    ${visit.take_up(function)}
    <%visit:each_image args="image" split="${cells.splits(function)}" pairs="${cells.pairs(function)}">
        ${cells.window(function)}
        <%cells:rows>
% if cells.pairs(function):
            const int frnn_many0 = frnn_to0 - frnn_from0 + 1;
            const int frnn_all0 = frnn_many0 + (frnn_two ? frnn_to0_next - frnn_from0_next + 1 : 0);
            for (int frnn_k0 = 0; frnn_k0 < frnn_all0; ++frnn_k0) {
                const int frnn_next0 = frnn_k0 >= frnn_many0;
                const int frnn_at0 = frnn_next0 ? frnn_from0_next + (frnn_k0 - frnn_many0) : frnn_from0 + frnn_k0;
                if (frnn_two) { ${periodic_box.next_image("frnn_t0 + frnn_own0 + frnn_next0")} }
% else:
            for (int frnn_at0 = frnn_from0; frnn_at0 <= frnn_to0; ++frnn_at0) {
% endif
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
