<%include file="/common/geometry.mako"/>
<%namespace name="point_layout" file="/methods/point_layout.mako"/>
// Finds a radius within which each point of a tree certainly has k neighbors, from the points beside it in search order.
// Config fields used: work_group_size, dim, components, layout, beside, steps.
<%
    near = work_group_size + 2 * beside
    # The leading bits of a squared distance: two steps for each factor of two. The bits behind them tell the part of a step.
    leading, parts = 22, steps.bit_length() - 1
%>\

// Launch: one work-item per point, in search order, groups of ${work_group_size}.
// In: sorted, n points in search order. Out: radii (n,), by the numbers of points: none larger than `most`, which points
// have that see fewer than k others. A point whose radius is more than `alike` times the least one of its group has -1: it
// would make the others of a packet go through all that it reaches.
// Exact because the squared distances of k points beside the query, computed as walks compute them, are no larger than the
// bound, and the square of the radius, rounded, is no smaller than that.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void find_first_bounds(const int frnn_n, ${point_layout.constant_array("frnn_sorted")}, const int k, const real most,
                       const real alike, global real *restrict radii)
{
    local real others[${near * dim}];
    local uint least;
    // How many squared distances lie in each step: a column for each work-item.
    local uchar found[${steps * work_group_size}];
    const int l = get_local_id(0), t = get_global_id(0), first = t - l - ${beside};
    const int from = max(0, -first), end = t < frnn_n ? min(${near}, frnn_n - first) : 0;
    for (int s = l; s < ${near}; s += ${work_group_size}) {
        const int place = clamp(first + s, 0, frnn_n - 1);
        const real_vec p = ${point_layout.point("place")};
% for c, component in enumerate(components):
        others[${c * near} + s] = p${component};
% endfor
    }
    if (l == 0) least = UINT_MAX;
    barrier(CLK_LOCAL_MEM_FENCE);
% for c in range(dim):
    const real own${c} = others[${c * near} + ${beside} + l];
% endfor
    uint farthest = 0;
    for (int s = from; s < end; ++s) {
        ${squared_distance()}
        farthest = max(farthest, as_uint(square) >> ${leading});
    }
    // The step that has the k-th squared distance, counted from that of the farthest, and how many others are nearer.
    ${clear()}
    for (int s = from; s < end; ++s) {
        ${squared_distance()}
        if (s != ${beside} + l) ++found[min(farthest - (as_uint(square) >> ${leading}), (uint)${steps - 1}) * ${work_group_size} + l];
    }
    int step = ${steps}, counted = 0, nearer = 0;
    while (step > 0 && counted < k) {
        nearer = counted;
        counted += found[--step * ${work_group_size} + l];
    }
    // The part of that step, which has ${steps} of them. Behind the last step are smaller squares, which have no part.
    const uint coarse = farthest - (uint)step;
    ${clear()}
    for (int s = from; s < end; ++s) {
        ${squared_distance()}
        const uint bits = as_uint(square);
        if (s != ${beside} + l & bits >> ${leading} == coarse) ++found[(bits >> ${leading - parts} & ${steps - 1}) * ${work_group_size} + l];
    }
    uint part = 0;
    for (; part < ${steps - 1}; ++part) {
        nearer += found[part * ${work_group_size} + l];
        if (nearer >= k) break;
    }
    // The largest number of the part, and a radius whose square is no smaller.
    const real bound = as_float((coarse << ${leading} | part << ${leading - parts} | ${(1 << leading - parts) - 1}u));
    const real radius = counted < k || !(bound < INFINITY) ? most : fmin(most, sqrt(bound) * (1 + 4 * FRNN_EPSILON));
    if (t < frnn_n) atomic_min(&least, as_uint(radius));
    barrier(CLK_LOCAL_MEM_FENCE);
    if (t < frnn_n) radii[${point_layout.point_id("t")}] = radius > alike * as_float(least) ? -1 : radius;
}

<%def name="clear()">
    for (int step = 0; step < ${steps}; ++step) found[step * ${work_group_size} + l] = 0;
</%def>

<%def name="squared_distance()">
% for c in range(dim):
        const real offset${c} = others[${c * near} + s] - own${c};
% endfor
        const real square = ${" + ".join(f"offset{c} * offset{c}" for c in range(dim))};
</%def>
