<%include file="/grid/cells.mako"/>
<%namespace name="binning" file="/grid/counting_sort.mako"/>
<%namespace name="cells" file="/grid/cells.mako"/>
<%namespace name="marked_rows" file="/first_pass/hit_mask_to_rows.mako"/>
<%namespace name="places" file="/common/point_layout.mako"/>
<%namespace name="runs" file="/traversal/candidate_run.mako"/>
<%namespace name="seams" file="/grid/wrapped_window.mako"/>
<%namespace name="visit" file="/traversal/visit.mako"/>
// Cells of side at least r, cell by cell over the query's window.
// Launch: one work-item per query, groups of ${work_group_size}; queries that are the points come in sorted order.
// Exact because the window holds every cell of a neighbor. Source: Green (2010), "Processing collisions".
<%def name="walk(function)">
    ${visit.take_up(function)}
% if first_pass == "read_mask":
    ${marked_rows.read(function)}
% endif
% if images == "wraps_once":
    ${seams.window(cells.cell)}
    <%seams:each_nest args="image" function="${function}" cut="frnn_below0 | frnn_above0">
        ${nest(function, image)}
    </%seams:each_nest>
% else:
    <%visit:each_image args="image" split="${runs.splits(function)}">
        ${cells.window()}
        ${nest(function, image)}
    </%visit:each_image>
% endif
    ${visit.lay_down(function)}
</%def>

<%def name="nest(function, image)">
    <%cells:rows image="${image}">
        for (int frnn_at0 = frnn_from0; frnn_at0 <= frnn_to0; ++frnn_at0) {
% if images == "wraps_once" and image != "plain":
            ${seams.place(0)}
% else:
            const int frnn_lane0 = frnn_at0 & frnn_mask.s0;
% endif
            const int frnn_stop = frnn_starts[frnn_row + frnn_lane0 + 1];
            int frnn_t = frnn_starts[frnn_row + frnn_lane0];
            ${runs.run(function, image)}
        }
    </%cells:rows>
</%def>

% if function is None:
${binning.build()}
% else:
<%visit:program function="${function}" arguments="${cells.arguments}" walk="${walk}" point="${places.point}" point_id="${places.point_id}">
    ${cells.take_query(function)}
    ${walk(function)}
</%visit:program>
% endif
