<%include file="/methods/grid/cells.mako"/>
<%namespace name="cells" file="/methods/grid/cells.mako"/>
<%namespace name="point_layout" file="/methods/point_layout.mako"/>
<%namespace name="candidate_run" file="/methods/candidate_run.mako"/>
<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="period_numbers" file="/domain/period_numbers.mako"/>
<%namespace name="blocks" file="/methods/fenns/blocks.mako"/>
<%namespace name="sections" file="/methods/fenns/sections.mako"/>
<%namespace name="tiles" file="/methods/fenns/tiles.mako"/>
<%namespace name="visit" file="/methods/visit.mako"/>
// Runs a function for every neighbor of each query, through a coarse grid in global memory and a fine grid in local
// memory. A group serves the queries of one coarse cell. Its candidates are sorted by fine cells in local memory, all
// at once where they fit, otherwise a tile at a time for each round of queries. Without tiles (tile 0) each query goes
// through the cells of its window in global memory.
// Launch: a group of ${work_group_size} for each coarse cell, then a group for every ${chunk} queries, which serves
// further queries of a crowded cell; without tiles one work-item per query.
// In: frnn_sorted, n records by coarse cells; frnn_sections (cells, 3); where queries are not the points,
// frnn_sorted_queries and frnn_query_sections, or without tiles frnn_queries (m, dim); with periodic axes frnn_images.
// Out: what the function writes.
// Config fields used: work_group_size, dim, components, periodic, tile, chunk, unrolled, foreign, part, images.
// Exact because a neighbor lies in the query's own coarse cell or in the border of a neighboring one, and because both
// grids compute the cells of windows and of points by one function that never decreases.
// Source: Groß, Köster, Krüger (2019), §3.2, algorithms 3 and 4.
<%def name="arguments()">
    ${cells.arguments("frnn_sections")},
    const real frnn_widest, const int4 frnn_fine_shape,
    const frnn_record frnn_fine_inverse, const frnn_record frnn_fine_last
% if foreign and tile:
    , global const frnn_record *restrict frnn_sorted_queries, global const int *restrict frnn_query_sections
% endif
</%def>

<%def name="walk(function)">
% if tile and work_group_size == 1:
    // A group of one work-item has no barriers. A first tile that holds all candidates serves every query.
    for (int frnn_round = 0; frnn_round < frnn_rounds; ++frnn_round) {
        ${by_tiles(function, "!frnn_whole")}
    }
% elif tile:
    for (int frnn_once = frnn_rounds > 0; frnn_once; --frnn_once) {
        ${blocks.load_all()}
    }
% if function.own:
    // Once all candidates are loaded, there are no more barriers.
    for (int frnn_round = 0; frnn_round < (frnn_whole ? frnn_rounds : 0); ++frnn_round) {
        ${take_query()}
        if (frnn_active) {
            ${visit.begin_query(function)}
            ${fine_window(function)}
            ${visit.end_query(function)}
        }
    }
    for (int frnn_round = 0; frnn_round < (frnn_whole ? 0 : frnn_rounds); ++frnn_round) {
        ${by_tiles(function, "1")}
    }
% else:
    // The code of a user's function stands in the kernel once.
    for (int frnn_round = 0; frnn_round < frnn_rounds; ++frnn_round) {
        ${by_tiles(function, "!frnn_whole")}
    }
% endif
% else:
    ${visit.begin_query(function)}
    <%visit:each_image args="image" split="${candidate_run.splits(function)}">
        ${cells.window()}
        <%cells:rows image="${image}">
            // All points of a row of cells are one run, whether they belong to borders or not.
            int frnn_t = ${sections.start("frnn_sections", "frnn_row + frnn_from0")};
            const int frnn_stop = ${sections.end("frnn_sections", "frnn_row + frnn_to0")};
            ${candidate_run.run(function, image)}
        </%cells:rows>
    </%visit:each_image>
    ${visit.end_query(function)}
% endif
</%def>

<%def name="by_tiles(function, load)">
        ${take_query()}
        ${visit.begin_query(function, "frnn_active")}
        int frnn_cell_number = 0, frnn_s = 0;
        for (int frnn_more = 1; frnn_more;) {
            for (int frnn_once = ${load}; frnn_once; --frnn_once) {
% if work_group_size == 1:
                const int frnn_first_tile = frnn_cell_number == 0 & frnn_s == 0;
                ${blocks.load_tile()}
                frnn_whole = frnn_first_tile & (frnn_cell_number >= frnn_neighbors);
% else:
                ${blocks.load_tile()}
% endif
            }
            if (frnn_active) {
                ${fine_window(function)}
            }
            frnn_more = ${load} && frnn_cell_number < frnn_neighbors;
        }
        if (frnn_active) ${visit.end_query(function)}
</%def>

<%def name="take_query()">
        const int frnn_k = frnn_begin + frnn_round * ${work_group_size} + frnn_l;
        int frnn_active = frnn_k < frnn_finish;
        const frnn_record frnn_own_record =
            ${"frnn_sorted_queries" if foreign else "frnn_sorted"}[frnn_active ? frnn_k : frnn_begin];
        const real_vec frnn_q = ${geometry.point_of("frnn_own_record")};
        int i = FRNN_LANE_ID(frnn_own_record.s3);
% if foreign and periodic:
        if (${period_numbers.is_far()}) frnn_active = 0;
% endif
% if part:
        frnn_active &= i >= frnn_part_first & i < frnn_part_end;
        if (!frnn_active) i = frnn_part_first;
% endif
</%def>

<%def name="fine_window(function)">
                // The fine cells in the window of the query, and the candidates in each row of them.
% for k, component in enumerate(components):
<% seen, reach = (f"frnn_inside{k}", f"frnn_reach{k}") if periodic else (f"frnn_q{component}", "frnn_reach") %>\
                const int frnn_from${k} = ${tiles.fine_cell(k, f"{seen} - {reach}")};
                const int frnn_to${k} = ${tiles.fine_cell(k, f"{seen} + {reach}")};
% endfor
% if skewed and function.own:
                // Where no candidate of the block is an image, nothing is displaced, and no candidate's image is looked up.
                if (frnn_unmoved & !(${" | ".join(f"frnn_own{k}" for k in range(dim))})) {
                    ${fine_rows(function, "plain")}
                } else {
                    ${fine_rows(function, "moved")}
                }
% else:
                ${fine_rows(function, "moved" if periodic else "plain")}
% endif
</%def>\
<%def name="fine_rows(function, image)" filter="trim">
% for k in reversed(range(1, dim)):
                for (int frnn_at${k} = frnn_from${k}; frnn_at${k} <= frnn_to${k}; ++frnn_at${k}) {
% endfor
                    const int frnn_row = ${tiles.fine_row("frnn_at")};
                    int frnn_t = frnn_fine[frnn_row + frnn_from0];
                    const int frnn_stop = frnn_fine[frnn_row + frnn_to0 + 1];
% if function.light and unrolled:
#pragma unroll ${unrolled[image != "plain"]}
% endif
                    for (; frnn_t < frnn_stop; ++frnn_t) {
                        ${tiles.load_candidate(image)}
                        ${visit.offer(function, image)}
                    }
% for k in range(1, dim):
                }
% endfor
</%def>

<%def name="take_query_alone()">
    // Without tiles a query is given by its place, or by its number.
    ${cells.take_query(function)}
% if images == "far_from_box":
    if (!(${period_numbers.is_far()})) return;
% endif
</%def>

% if tile:
${blocks.functions()}
% endif
<%visit:program function="${function}" arguments="${arguments}" walk="${walk}" point="${point_layout.point}" point_id="${point_layout.point_id}">
% if tile:
    ${blocks.declare()}
    ${blocks.take_cell()}
% else:
    ${take_query_alone()}
% endif
    ${walk(function)}
</%visit:program>
