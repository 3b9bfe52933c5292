<%include file="/grid/cells.mako"/>
<%namespace name="binning" file="/grid/counting_sort.mako"/>
<%namespace name="cells" file="/grid/cells.mako"/>
<%namespace name="marked_rows" file="/first_pass/hit_mask_to_rows.mako"/>
<%namespace name="places" file="/common/point_layout.mako"/>
<%namespace name="runs" file="/traversal/candidate_run.mako"/>
<%namespace name="seams" file="/grid/wrapped_window.mako"/>
<%namespace name="visit" file="/traversal/visit.mako"/>
// Strip by strip: cells that follow each other along the first axis hold their points in one run, so a row of the
// window costs two lookups, whatever its length. On a torus a strip is cut in two where it passes the seam, and where an
// axis is periodic there is a strip for each image of the box.
// Launch: one work-item per query, groups of ${work_group_size}; queries that are the points come in sorted order.
// Exact because the window holds every cell of a neighbor. Source: Chisholm (2020), §3, algorithms 2 to 5.
<%def name="walk(function)">
    ${visit.take_up(function)}
% if first_pass == "read_mask":
    ${marked_rows.read(function)}
% endif
% if images == "wraps_once":
    ${seams.window(cells.cell)}
    // The strip in the box and what lies behind an edge that it passes, or else behind the seam of the torus: edges are
    // seams too, so there are two runs at most.
    const int frnn_begin = (frnn_from0 + (frnn_below0 ? frnn_hindmost.s0 + 1 : 0)) & frnn_mask.s0;
    const int frnn_finish = frnn_begin + (frnn_to0 - frnn_from0) + 1;
    const int frnn_over = frnn_min(frnn_finish - frnn_shape.s0, frnn_shape.s0);
    const int frnn_here0 = frnn_below0 ? 0 : frnn_begin, frnn_there0 = frnn_below0 ? frnn_begin : 0;
    const int frnn_here1 = frnn_below0 ? frnn_over : frnn_min(frnn_finish, frnn_shape.s0);
    const int frnn_there1 = frnn_below0 ? frnn_shape.s0 : frnn_max(frnn_over, 0);
    const int frnn_side = frnn_above0 - frnn_below0;
    const real frnn_other = (real)frnn_side * frnn_lengths.s0;
    <%seams:each_nest args="image" function="${function}" cut="frnn_over > 0">
        <%cells:rows image="${image}">
            int frnn_t = frnn_starts[frnn_row + frnn_here0], frnn_stop = frnn_starts[frnn_row + frnn_here1];
% if image == "plain":
            ${runs.run(function, image)}
% elif seams.agree(function) and first_pass != "write_mask":
            ${both(function, image)}
% else:
            for (int frnn_part = 0;;) {
                const int frnn_base0 = frnn_part ? frnn_side : 0;
                const real frnn_carry0 = frnn_part ? frnn_other : 0;
                ${runs.run(function, image)}
                if (frnn_part++ || frnn_over <= 0) break;
                frnn_t = frnn_starts[frnn_row + frnn_there0];
                frnn_stop = frnn_starts[frnn_row + frnn_there1];
            }
% endif
        </%cells:rows>
    </%seams:each_nest>
% else:
    <%visit:each_image args="image" split="${runs.splits(function)}">
        ${cells.window()}
        // On the first axis, in places: a strip that passes the seam of the torus goes on at the row's first cell.
        const int frnn_begin = frnn_from0 & frnn_mask.s0;
        const int frnn_finish = frnn_begin + (frnn_to0 - frnn_from0) + 1;
        <%cells:rows image="${image}">
            for (int frnn_first0 = frnn_begin, frnn_left = frnn_finish; frnn_left > 0; frnn_first0 = 0, frnn_left -= frnn_shape.s0) {
                int frnn_t = frnn_starts[frnn_row + frnn_first0];
                const int frnn_stop = frnn_starts[frnn_row + frnn_min(frnn_left, frnn_shape.s0)];
                ${runs.run(function, image)}
            }
        </%cells:rows>
    </%visit:each_image>
% endif
    ${visit.lay_down(function)}
</%def>

<%def name="both(function, image)">
    // Both runs of a strip in one loop, two candidates at a time, so that work-items in step do not go through the second
    // one after the other; a run of an odd length gives its first candidate away before.
    int frnn_again = 0, frnn_last = 0;
    if (frnn_over > 0) {
        frnn_again = frnn_starts[frnn_row + frnn_there0];
        frnn_last = frnn_starts[frnn_row + frnn_there1];
    }
    if ((frnn_stop - frnn_t) & 1) {
        const int frnn_base0 = 0;
        const real frnn_carry0 = 0;
        ${candidate(function, image, "frnn_t")}
        ++frnn_t;
    }
    if ((frnn_last - frnn_again) & 1) {
        const int frnn_base0 = frnn_side;
        const real frnn_carry0 = frnn_other;
        ${candidate(function, image, "frnn_again")}
        ++frnn_again;
    }
    const uint frnn_seam = frnn_stop, frnn_end_of_both = frnn_seam + (uint)(frnn_last - frnn_again);
    frnn_again -= frnn_stop;
    #pragma unroll 1
    for (uint frnn_next = frnn_t; frnn_next < frnn_end_of_both; frnn_next += 2) {
        const int frnn_past = frnn_next >= frnn_seam;
        const int frnn_place = frnn_past ? (int)(frnn_next + frnn_again) : (int)frnn_next;
        const int frnn_base0 = frnn_past ? frnn_side : 0;
        const real frnn_carry0 = frnn_past ? frnn_other : 0;
        ${candidate(function, image, "frnn_place")}
        ${candidate(function, image, "frnn_place + 1")}
    }
</%def>

<%def name="candidate(function, image, place)">
    {
        ${places.take_candidate(place)}
        ${visit.offer(function, image, place=place)}
    }
</%def>

% if function is None:
${binning.build()}
% else:
<%visit:program function="${function}" arguments="${cells.arguments}" walk="${walk}" point="${places.point}" point_id="${places.point_id}">
    ${cells.take_query(function)}
    ${walk(function)}
</%visit:program>
% endif
