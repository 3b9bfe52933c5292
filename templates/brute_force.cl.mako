<%include file="/common/geometry.mako"/>
<%namespace name="visit" file="/traversal/visit.mako"/>
<%namespace name="geometry" file="/common/geometry.mako"/>
// All pairs. Tiles of points pass through local memory; every query of a group looks at each.
// Launch: one work-item per query, groups of ${work_group_size}.
// Config fields used: work_group_size, dim, tile, foreign. Exact because nothing is left out.
<%def name="arguments()">
    const int frnn_n, global const real *restrict frnn_points
% if periodic:
    , global const real *restrict frnn_images
% endif
</%def>

<%def name="point(place)">${geometry.load("frnn_points", place)}</%def>

<%def name="point_id(place)">(${place})</%def>

<%def name="take_query()">
    // In tiles, all items of a group go on to the end, the idle ones in the first one's place.
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
    ${visit.take_up(function, "frnn_active")}
    for (int frnn_start = 0; frnn_start < frnn_n; frnn_start += ${tile}) {
        const int frnn_many = frnn_min(${tile}, frnn_n - frnn_start);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int frnn_k = get_local_id(0); frnn_k < frnn_many * ${dim}; frnn_k += ${work_group_size})
            frnn_tile[frnn_k] = frnn_points[(size_t)frnn_start * ${dim} + frnn_k];
        barrier(CLK_LOCAL_MEM_FENCE);
        ${candidates(function, "frnn_many", "frnn_tile", "frnn_start")}
    }
    if (frnn_active) ${visit.lay_down(function)}
% else:
    ${visit.take_up(function)}
    ${candidates(function, "frnn_n", "frnn_points", "0")}
    ${visit.lay_down(function)}
% endif
</%def>
<%visit:program function="${function}" arguments="${arguments}" walk="${walk}" point="${point}" point_id="${point_id}">
    ${take_query()}
    ${walk(function)}
</%visit:program>
