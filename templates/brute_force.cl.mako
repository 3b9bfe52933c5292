<%include file="geometry.cl.mako"/>
<%namespace name="visit" file="visit.cl.mako"/>
<%namespace name="geometry" file="geometry.cl.mako"/>
${geometry.root()}
// All pairs. Tiles of points pass through local memory; every query of a group looks at each.
// Launch: one work-item per query, groups of ${work_group_size}.
// Config fields used: work_group_size, dim, tile, foreign. Exact because nothing is left out.
${function.preamble}
<%def name="walk(function)">
    local real frnn_tile[${tile * dim}];
    const int frnn_query = frnn_first + (int)get_global_id(0);
    const int frnn_active = frnn_query < frnn_end;
    const int i = frnn_active ? frnn_query : frnn_first;
% if foreign:
    const real_vec q = ${geometry.load("frnn_queries", "i")};
% else:
    const real_vec q = ${geometry.load("frnn_points", "i")};
% endif
    ${visit.take_up(function, "frnn_active")}
    for (int frnn_start = 0; frnn_start < frnn_n; frnn_start += ${tile}) {
        const int frnn_many = min(${tile}, frnn_n - frnn_start);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = get_local_id(0); k < frnn_many * ${dim}; k += ${work_group_size})
            frnn_tile[k] = frnn_points[(size_t)frnn_start * ${dim} + k];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int frnn_k = 0; frnn_k < frnn_many; ++frnn_k) {
            const int j = frnn_start + frnn_k;
% for k in range(dim):
            const real frnn_p${k} = frnn_tile[frnn_k * ${dim} + ${k}];
% endfor
            ${visit.offer(function)}
        }
    }
    if (frnn_active) ${visit.lay_down(function)}
</%def>
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void visit(${visit.arguments()} const int frnn_n, global const real *restrict frnn_points, ${function.arguments})
{
${walk(function)}
}
