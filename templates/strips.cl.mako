<%include file="cells.cl.mako"/>
<%namespace name="binning" file="binning.cl.mako"/>
<%namespace name="cells" file="cells.cl.mako"/>
<%namespace name="visit" file="visit.cl.mako"/>
// Strip by strip: cells that follow each other along the first axis hold their points in one run, so a row of the
// window costs two lookups, whatever its length. On a torus a strip is cut in two where it passes the seam, and where an
// axis is periodic there is a strip for each image of the box.
// Launch: one work-item per query, groups of ${work_group_size}; queries that are the points come in sorted order.
// Exact because the window holds every cell of a neighbor. Source: Chisholm (2020), §3, algorithms 2 to 5.
<%def name="walk(function)">
    ${visit.take_up(function)}
    <%visit:each_image args="image" split="${cells.splits(function)}">
        ${cells.window()}
        // On the first axis, in places: a strip that passes the seam of the torus goes on at the row's first cell.
        const int frnn_begin = frnn_from0 & frnn_mask.s0;
        const int frnn_finish = frnn_begin + (frnn_to0 - frnn_from0) + 1;
        <%cells:rows>
            for (int frnn_part = 0; frnn_part * frnn_shape.s0 < frnn_finish; ++frnn_part) {
                int frnn_t = frnn_starts[frnn_row + (frnn_part ? 0 : frnn_begin)];
                const int frnn_stop =
                    frnn_starts[frnn_row + frnn_min(frnn_finish - frnn_part * frnn_shape.s0, frnn_shape.s0)];
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
