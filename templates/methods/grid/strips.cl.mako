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
// Runs a function for every neighbor of each query, strip by strip over the window of the query. A strip is the cells
// of a row of the window. The points of cells that follow each other on the first axis are one run, so a strip costs
// two lookups, whatever its length. A strip that passes the end of the torus is two runs. Where an axis is periodic,
// there is a strip for each image of the box.
// Launch: one work-item per query, groups of ${work_group_size}. Queries that are the points, or have a sorted copy,
// come in search order.
// In: frnn_sorted, the n points by cells; frnn_starts (cells + 1,); frnn_queries (m, dim), where these are not the
// points; with periodic axes frnn_images. Out: what the function writes.
// Config fields used: dim, images, first_pass.
## And periodic.
// Exact because the window holds every cell in which a neighbor can lie.
// Source: Chisholm (2020), §3, algorithms 2 to 5.
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
    // A strip is at most two runs: the part in the box, and the part beyond an edge of the box. Where it passes no edge, these
    // are the parts before and after the end of the torus. The torus ends at the edges of the box, so there is no third run.
    const int frnn_begin = (frnn_from0 + (frnn_below0 ? frnn_hindmost.s0 + 1 : 0)) & frnn_mask.s0;
    const int frnn_finish = frnn_begin + (frnn_to0 - frnn_from0) + 1;
    const int frnn_over = frnn_min(frnn_finish - frnn_shape.s0, frnn_shape.s0);
    const int frnn_first_from = frnn_below0 ? 0 : frnn_begin, frnn_second_from = frnn_below0 ? frnn_begin : 0;
    const int frnn_first_to = frnn_below0 ? frnn_over : frnn_min(frnn_finish, frnn_shape.s0);
    const int frnn_second_to = frnn_below0 ? frnn_shape.s0 : frnn_max(frnn_over, 0);
    const int frnn_second_base = frnn_above0 - frnn_below0;
% if reduced:
% elif skewed:
    // The part of the first lattice vector in the displacement of the second run.
    ${cell_window.part("frnn_second_part", 0, "frnn_second_base")}
% else:
    const real frnn_second_displacement = (real)frnn_second_base * frnn_lengths.s0;
% endif
    <%cell_window:each_nest args="image" function="${function}" cut="frnn_over > 0">
        <%cells:rows image="${image}">
            int frnn_t = frnn_starts[frnn_row + frnn_first_from], frnn_stop = frnn_starts[frnn_row + frnn_first_to];
% if reduced and image != "plain":
            // The shifts and the displacements of the two runs.
            ${cell_window.displace("frnn_near_base", "frnn_near", "0", image)}
            ${cell_window.displace("frnn_beyond_base", "frnn_beyond", "frnn_second_base", image)}
% elif skewed and image == "moved":
            // The displacements of the two runs.
            ${cell_window.add_parts("frnn_near", "(real)0")}
            ${cell_window.add_parts("frnn_beyond", "frnn_second_part{k}")}
% endif
% if image == "plain":
            ${candidate_run.run(function, image, last=capture(cells.is_last_row))}
% elif cell_window.votes(function) and first_pass != "write_mask":
            ${both_runs(function, image)}
% else:
            for (int frnn_part = 0;;) {
                ${displacement("frnn_part ? {beyond} : {near}", image)}
                ${candidate_run.run(function, image)}
                if (frnn_part++ || frnn_over <= 0) break;
                frnn_t = frnn_starts[frnn_row + frnn_second_from];
                frnn_stop = frnn_starts[frnn_row + frnn_second_to];
            }
% endif
        </%cells:rows>
    </%cell_window:each_nest>
% else:
    <%visit:each_image args="image" split="${candidate_run.splits(function)}">
        ${cells.window()}
        ${cells.ends_of_runs()}
        <%cells:rows image="${image}">
            <%cells:runs>
                ${candidate_run.run(function, image, last="1" if periodic else f"({capture(cells.is_last_row)} & (frnn_left <= frnn_shape.s0))")}
            </%cells:runs>
        </%cells:rows>
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

<%def name="both_runs(function, image)">
    // One loop takes both runs of a strip, two candidates at a time, so that work-items in lockstep do not wait while
    // some of them go through a second run. The first candidate of a run of odd length is tested before the loop.
    int frnn_second = 0, frnn_second_stop = 0;
    if (frnn_over > 0) {
        frnn_second = frnn_starts[frnn_row + frnn_second_from];
        frnn_second_stop = frnn_starts[frnn_row + frnn_second_to];
    }
    if ((frnn_stop - frnn_t) & 1) {
        ${displacement("{near}", image)}
        ${candidate(function, image, "frnn_t")}
        ++frnn_t;
    }
    if ((frnn_second_stop - frnn_second) & 1) {
        ${displacement("{beyond}", image)}
        ${candidate(function, image, "frnn_second")}
        ++frnn_second;
    }
    const uint frnn_first_stop = frnn_stop, frnn_both_stop = frnn_first_stop + (uint)(frnn_second_stop - frnn_second);
    frnn_second -= frnn_stop;
    #pragma unroll 1
    for (uint frnn_step = frnn_t; frnn_step < frnn_both_stop; frnn_step += 2) {
        const int frnn_in_second = frnn_step >= frnn_first_stop;
        const int frnn_candidate_place = frnn_in_second ? (int)(frnn_step + frnn_second) : (int)frnn_step;
        ${displacement("frnn_in_second ? {beyond} : {near}", image)}
        ${candidate(function, image, "frnn_candidate_place")}
        ${candidate(function, image, "frnn_candidate_place + 1")}
    }
</%def>

<%def name="displacement(choice, image)" filter="trim">
## The shift and the displacement of the first run, `near`, or of the second, `beyond`: in a box on the first axis alone. In a
## cell the displacement is computed anew where it is that of one lattice vector, because there are few registers.
% if reduced:
% for k in range(dim):
const int frnn_base${k} = ${choice.format(near=f"frnn_near_base{k}", beyond=f"frnn_beyond_base{k}")};
% endfor
% else:
const int frnn_base0 = ${choice.format(near="0", beyond="frnn_second_base")};
% endif
% if skewed and image == "along" and not reduced:
${cell_window.part("frnn_displacement", 0, "frnn_base0")}
% elif skewed:
% for k in range(dim):
const real frnn_displacement${k} = ${choice.format(near=f"frnn_near{k}", beyond=f"frnn_beyond{k}")};
% endfor
% else:
const real frnn_displacement0 = ${choice.format(near="0", beyond="frnn_second_displacement")};
% endif
</%def>\
<%def name="candidate(function, image, place)">
    {
        ${point_layout.load_candidate(place)}
        ${visit.offer(function, image, place=place)}
    }
</%def>

% if function is None:
${counting_sort.kernels()}
% else:
<%visit:program function="${function}" arguments="${cells.arguments}" walk="${walk}" point="${point_layout.point}" point_id="${point_layout.point_id}">
    ${cells.take_query(function)}
    ${walk(function)}
</%visit:program>
% endif
