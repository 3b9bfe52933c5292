<%include file="/methods/grid/cells.mako"/>
<%namespace name="counting_sort" file="/methods/grid/binning/counting_sort.mako"/>
<%namespace name="cells" file="/methods/grid/cells.mako"/>
<%namespace name="cell_window" file="/methods/grid/cell_window.mako"/>
<%namespace name="lattice" file="/domain/lattice.mako"/>\
<%namespace name="hit_mask_to_rows" file="/methods/first_pass/hit_mask_to_rows.mako"/>
<%namespace name="point_layout" file="/methods/point_layout.mako"/>
<%namespace name="candidate_run" file="/methods/candidate_run.mako"/>
<%namespace name="census" file="/answers/nearest/census.mako"/>\
<%namespace name="visit" file="/methods/visit.mako"/>
// Runs a function for every neighbor of each query, cell by cell over the window of the query.
// Launch: one work-item per query, groups of ${work_group_size}. Queries that are the points, or have a sorted copy,
// come in search order.
// In: frnn_sorted, the n points by cells; frnn_starts (cells + 1,); frnn_queries (m, dim), where these are not the
// points; with periodic axes frnn_images. Out: what the function writes.
// Config fields used: dim, images, first_pass.
## And periodic.
// Exact because the window holds every cell in which a neighbor can lie.
// Source: Green (2010), "Processing collisions".
<%def name="walk(function)">
% if census.takes(function):
    ${census.declare(function)}
% endif
    ${visit.begin_query(function)}
    ${cells.own_grid("frnn_")}
% if census.takes(function):
    ${census.begin(function)}
% endif
% if function.skips:
    if (reach2 >= 0) {
% endif
% if first_pass == "read_mask":
    ${hit_mask_to_rows.write_rows(function)}
% endif
% if images == "wraps_once":
    ${cell_window.wrapped(cells.cell)}
    <%cell_window:each_nest args="image" function="${function}" cut="frnn_below0 | frnn_above0">
        ${nest(function, image)}
    </%cell_window:each_nest>
% else:
    <%visit:each_image args="image" split="${candidate_run.splits(function)}">
        ${cells.window()}
        ${nest(function, image)}
    </%visit:each_image>
% endif
% if census.takes(function):
    ${census.end(function)}
% endif
% if function.skips:
    }
% endif
    ${visit.end_query(function)}
</%def>

<%def name="nest(function, image)">
    <%cells:rows image="${image}">
        for (int frnn_at0 = frnn_from0; frnn_at0 <= frnn_to0; ++frnn_at0) {
% if images == "wraps_once" and image != "plain":
            ${cell_window.wrapped_cell(0)}
% if reduced:
            ${cell_window.displace("frnn_base", "frnn_displacement", lattice.counted("frnn_base") + "0", image)}
% elif skewed:
% if image == "moved":
            ${cell_window.add_parts("frnn_displacement", "frnn_part0_{k}")}
% else:
            ${cell_window.part("frnn_displacement", 0, "frnn_base0")}
% endif
% endif
% else:
            const int frnn_index0 = frnn_at0 & frnn_mask.s0;
% endif
            const int frnn_stop = frnn_starts[frnn_row + frnn_index0 + 1];
            int frnn_t = frnn_starts[frnn_row + frnn_index0];
            ${candidate_run.run(function, image, last=f"({capture(cells.is_last_row)} & (frnn_at0 == frnn_to0))" if image == "plain" else "1")}
        }
    </%cells:rows>
</%def>

% if function is None:
${counting_sort.kernels()}
% else:
<%visit:program function="${function}" arguments="${cells.arguments}" walk="${walk}" point="${point_layout.point}" point_id="${point_layout.point_id}">
    ${cells.take_query(function)}
    ${walk(function)}
</%visit:program>
% endif
