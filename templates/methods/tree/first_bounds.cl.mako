<%include file="/common/geometry.mako"/>
<%namespace name="point_layout" file="/methods/point_layout.mako"/>
// Finds a radius within which each point of a tree certainly has k neighbors, from the points beside it in search order.
// Config fields used: work_group_size, dim, layout, beside, steps.
<% near = work_group_size + 2 * beside %>\

// Launch: one work-item per point, in search order, groups of ${work_group_size}.
// In: sorted, n points in search order. Out: radii (n,), by the numbers of points: none larger than `most`, which points
// have that see fewer than k others.
// Exact because the squared distances of k points beside the query, computed as walks compute them, are no larger than the
// bound, and the square of the radius, rounded, is no smaller than that.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void find_first_bounds(const int frnn_n, ${point_layout.constant_array("frnn_sorted")}, const int k, const real most,
                       global real *restrict radii)
{
    local real others[${near * dim}];
    // How many squared distances lie in each step, eight of which are a factor of two: a column for each work-item.
    local uchar found[${steps * work_group_size}];
    const int l = get_local_id(0), t = get_global_id(0), first = t - l - ${beside};
    const int from = max(0, -first), end = min(${near}, frnn_n - first);
    for (int s = l; s < ${near}; s += ${work_group_size}) {
        const int place = clamp(first + s, 0, frnn_n - 1);
        const real_vec p = ${point_layout.point("place")};
% for c, component in enumerate(components):
        others[${c * near} + s] = p${component};
% endfor
    }
    for (int step = 0; step < ${steps}; ++step) found[step * ${work_group_size} + l] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (t >= frnn_n) return;
% for c in range(dim):
    const real own${c} = others[${c * near} + ${beside} + l];
% endfor
    uint farthest = 0;
    for (int s = from; s < end; ++s) {
        ${squared_distance()}
        farthest = max(farthest, as_uint(square) >> 20);
    }
    for (int s = from; s < end; ++s) {
        ${squared_distance()}
        if (s != ${beside} + l) ++found[min(farthest - (as_uint(square) >> 20), (uint)${steps - 1}) * ${work_group_size} + l];
    }
    int step = ${steps}, counted = 0;
    while (step > 0 && counted < k) counted += found[--step * ${work_group_size} + l];
    // The largest number of that step, and a radius whose square is no smaller.
    const real bound = as_float(((farthest - (uint)step + 1) << 20) - 1);
    radii[${point_layout.point_id("t")}] = counted < k || !(bound < INFINITY) ? most : fmin(most, sqrt(bound) * (1 + 4 * FRNN_EPSILON));
}

<%def name="squared_distance()">
% for c in range(dim):
        const real away${c} = others[${c * near} + s] - own${c};
% endfor
        const real square = ${" + ".join(f"away{c} * away{c}" for c in range(dim))};
</%def>
