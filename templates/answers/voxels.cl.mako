<%include file="/common/types.mako"/>
// Points of one voxel get the same number, and become one point.
// Config fields used: work_group_size, dim, real.

// Launch: one work-item per point, groups of ${work_group_size}.
// In: is_lead (n,), voxel_of (n,), points (n, ${dim}). Out: taken, the first point of each voxel.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void take_firsts(const int n, global const int *restrict is_lead, global const int *restrict voxel_of,
                 global const real *restrict points, global real *restrict taken)
{
    const int i = get_global_id(0);
    if (i >= n || !is_lead[i]) return;
    for (int axis = 0; axis < ${dim}; ++axis)
        taken[(size_t)voxel_of[i] * ${dim} + axis] = points[(size_t)i * ${dim} + axis];
}

// How many points a work-item goes through at the place k, where `voxels` are the voxels of sorted points: `chunk` of
// them from the first point of a voxel on, and none at the places between.
int chunk_at(const int k, const int chunk, global const uint *voxels, global const int *starts)
{
    const uint voxel = voxels[k];
    return (k - starts[voxel]) % chunk ? 0 : min(chunk, starts[voxel + 1] - k);
}

// A power of two by which vectors are multiplied, so that the sum of `many` of them does not overflow.
#define FRNN_SHARE(many) ldexp((real)1, (int)clz(many) - 32)

// Adds a number to a sum; what rounding takes from each addition is added up apart.
#define FRNN_ADD(sum, lost, each) { ${"\\"}
    const real frnn_next = sum + each; ${"\\"}
    lost += fabs(sum) >= fabs(each) ? (sum - frnn_next) + each : (each - frnn_next) + sum; ${"\\"}
    sum = frnn_next; ${"\\"}
}

// Adds up the points of each chunk, as vectors from the first point of their voxel.
// Launch: one work-item per place of a sorted point, groups of ${work_group_size}.
// In: half_of, by which coordinates are multiplied, so that their differences do not overflow; voxels (n,), order (n,),
//     starts (voxels + 1,), points (n, ${dim}). Out: sums (n, ${dim}), at the places where chunks begin.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void sum_chunks(const int n, const int chunk, const real half_of, global const uint *restrict voxels,
                global const int *restrict order, global const int *restrict starts, global const real *restrict points,
                global real *restrict sums)
{
    const int k = get_global_id(0);
    if (k >= n) return;
    const int many = chunk_at(k, chunk, voxels, starts);
    if (!many) return;
    const int first = starts[voxels[k]];
    const real share = FRNN_SHARE(starts[voxels[k] + 1] - first);
    for (int axis = 0; axis < ${dim}; ++axis) {
        const real begin = points[(size_t)order[first] * ${dim} + axis] * half_of;
        real sum = 0, lost = 0;
        for (int next = k; next < k + many; ++next) {
            const real each = (points[(size_t)order[next] * ${dim} + axis] * half_of - begin) * share;
            FRNN_ADD(sum, lost, each);
        }
        sums[(size_t)k * ${dim} + axis] = sum + lost;
    }
}

// Launch: one work-item per voxel, groups of ${work_group_size}.
// In: as sum_chunks has them. Out: means, the mean of the points of each voxel.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void find_means(const int voxels, const int chunk, const real half_of, global const int *restrict order,
                global const int *restrict starts, global const real *restrict points, global const real *restrict sums,
                global real *restrict means)
{
    const int v = get_global_id(0);
    if (v >= voxels) return;
    const int first = starts[v], many = starts[v + 1] - first;
    for (int axis = 0; axis < ${dim}; ++axis) {
        real sum = 0, lost = 0;
        for (int k = first; k < first + many; k += chunk) {
            const real each = sums[(size_t)k * ${dim} + axis];
            FRNN_ADD(sum, lost, each);
        }
        const real toward = (sum + lost) / (many * FRNN_SHARE(many));
        means[(size_t)v * ${dim} + axis] = (points[(size_t)order[first] * ${dim} + axis] * half_of + toward) / half_of;
    }
}

// Finds the point with the smallest offset in each chunk, and the first one of several.
// Launch: one work-item per place of a sorted point, groups of ${work_group_size}.
// In: voxels (n,), order (n,), starts, offsets (n,), of points in their own order. Out: nearest (n,), where chunks begin.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void nearest_of_chunks(const int n, const int chunk, global const uint *restrict voxels,
                       global const int *restrict order, global const int *restrict starts,
                       global const ulong *restrict offsets, global int *restrict nearest)
{
    const int k = get_global_id(0);
    if (k >= n) return;
    const int many = chunk_at(k, chunk, voxels, starts);
    int best = order[k];
    for (int next = 1; next < many; ++next)
        if (offsets[order[k + next]] < offsets[best]) best = order[k + next];
    if (many) nearest[k] = best;
}

// Launch: one work-item per voxel, groups of ${work_group_size}.
// In: as nearest_of_chunks has them, points (n, ${dim}). Out: taken, the point of each voxel nearest to its middle.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void take_nearest(const int voxels, const int chunk, global const int *restrict starts,
                  global const ulong *restrict offsets, global const int *restrict nearest,
                  global const real *restrict points, global real *restrict taken)
{
    const int v = get_global_id(0);
    if (v >= voxels) return;
    int best = nearest[starts[v]];
    for (int k = starts[v] + chunk; k < starts[v + 1]; k += chunk)
        if (offsets[nearest[k]] < offsets[best]) best = nearest[k];
    for (int axis = 0; axis < ${dim}; ++axis)
        taken[(size_t)v * ${dim} + axis] = points[(size_t)best * ${dim} + axis];
}
