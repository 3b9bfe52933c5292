<%include file="/common/types.mako"/>
<%namespace name="visit" file="/methods/visit.mako"/>\
// Runs a function once for each row, without neighbors.
// Launch: one work-item per row, groups of ${work_group_size}.
// In and out: what the function reads and writes.
// Config fields used: work_group_size, real, lanes.
${visit.piece(function, "preamble")}
#pragma OPENCL FP_CONTRACT OFF
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void each_row(const int frnn_rows,
${visit.piece(function, "arguments")}
)
{
    const int i = get_global_id(0);
    if (i >= frnn_rows) return;
    ${visit.piece(function, "finish")}
}
