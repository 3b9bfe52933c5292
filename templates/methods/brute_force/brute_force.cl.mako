<%include file="/common/geometry.mako"/>
<%namespace name="visit" file="/methods/visit.mako"/>
<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="lattice" file="/domain/lattice.mako"/>\
// Runs a function for every neighbor of each query, by a test of every point.
// Launch: one work-item per query, groups of ${work_group_size}. With `tile`, points pass through local memory, ${tile}
// at a time, and all queries of a group test each tile.
// In: frnn_points (n, dim); frnn_queries (m, dim), where these are not the points; frnn_images, with periodic axes.
// Out: what the function writes.
// Config fields used: work_group_size, dim, tile, periodic, foreign.
// Exact because no point is left out.
<%def name="arguments()">
    const int frnn_n, global const real *restrict frnn_points
% if periodic:
    , ${lattice.array("frnn_")}
% endif
</%def>

<%def name="point(place)">${geometry.load("frnn_points", place)}</%def>

<%def name="point_id(place)">(${place})</%def>

<%def name="take_query()">
    // With tiles, every work-item of a group stays to the end for the barriers. Idle ones take the first query.
    const int frnn_query = frnn_first + (int)get_global_id(0);
% if tile:
    local real frnn_tile[${tile * dim}];
    const int i = frnn_query < frnn_end ? frnn_query : frnn_first;
    const int frnn_active = frnn_query < frnn_end;
% else:
    if (frnn_query >= frnn_end) return;
    const int i = frnn_query;
% endif
    const real_vec frnn_q = ${geometry.load("frnn_queries" if foreign else "frnn_points", "i")};
</%def>

<%def name="candidates(function, many, array, first)">
    <%visit:each_image args="image">
        for (int frnn_k = 0; frnn_k < ${many}; ++frnn_k) {
            const int j = ${first} + frnn_k;
% for k in range(dim):
            const real frnn_p${k} = ${array}[(size_t)frnn_k * ${dim} + ${k}];
% endfor
            ${visit.offer(function, "any")}
        }
    </%visit:each_image>
</%def>

<%def name="walk(function)">
% if tile:
    ${visit.begin_query(function, "frnn_active")}
    for (int frnn_start = 0; frnn_start < frnn_n; frnn_start += ${tile}) {
        const int frnn_many = frnn_min(${tile}, frnn_n - frnn_start);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int frnn_k = get_local_id(0); frnn_k < frnn_many * ${dim}; frnn_k += ${work_group_size})
            frnn_tile[frnn_k] = frnn_points[(size_t)frnn_start * ${dim} + frnn_k];
        barrier(CLK_LOCAL_MEM_FENCE);
        ${candidates(function, "frnn_many", "frnn_tile", "frnn_start")}
    }
    if (frnn_active) ${visit.end_query(function)}
% else:
    ${visit.begin_query(function)}
    ${candidates(function, "frnn_n", "frnn_points", "0")}
    ${visit.end_query(function)}
% endif
</%def>
<%visit:program function="${function}" arguments="${arguments}" walk="${walk}" point="${point}" point_id="${point_id}">
    ${take_query()}
    ${walk(function)}
</%visit:program>
