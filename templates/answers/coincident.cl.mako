<%include file="/common/types.mako"/>
<% bits = "long" if real == "double" else "int" %>\
// A few of the points of each place stand for all of them.
// Config fields used: work_group_size, dim, real.

// Launch: one work-item per point, groups of ${work_group_size}.
// In: points (n, ${dim}); systems (n,), where many systems are searched at once, else not read.
// Out: keys (n, ${dim} + many), equal where points have the same coordinates and system.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void place_keys(const int n, const int many, global const real *restrict points, global const int *restrict systems,
                global long *restrict keys)
{
    const int i = get_global_id(0);
    if (i >= n) return;
    global long *const row = keys + (size_t)i * (${dim} + many);
    for (int axis = 0; axis < ${dim}; ++axis) {
        const ${bits} x = ${"as_long" if real == "double" else "as_int"}(points[(size_t)i * ${dim} + axis]);
        // Both zeros are one place. Comparisons of numbers would take subnormal ones for zero where the device flushes.
        row[axis] = (x << 1) == 0 ? 0 : x;
    }
    if (many) row[${dim}] = systems[i];
}

// Launch: one work-item per place of a sorted point, groups of ${work_group_size}.
// In: most; places (n,), the place of each sorted point; order (n,); starts, of places among sorted points.
// Out: is_taken (n,), 1 for the first `most` points of each place.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void mark_first(const int n, const int most, global const uint *restrict places, global const int *restrict order,
                global const int *restrict starts, global int *restrict is_taken)
{
    const int k = get_global_id(0);
    if (k >= n) return;
    is_taken[order[k]] = k - starts[places[k]] < most;
}

// Launch: one work-item per point, groups of ${work_group_size}.
// In: points (n, ${dim}); starts (n + 1,), the numbers of points that are taken before each. Out: ids and taken, of these.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void take_first(const int n, global const real *restrict points, global const int *restrict starts,
                global int *restrict ids, global real *restrict taken)
{
    const int i = get_global_id(0);
    if (i >= n || starts[i + 1] == starts[i]) return;
    const int slot = starts[i];
    ids[slot] = i;
    for (int axis = 0; axis < ${dim}; ++axis)
        taken[(size_t)slot * ${dim} + axis] = points[(size_t)i * ${dim} + axis];
}

// Rows of the nearest of those taken become rows of all points, less the query itself where `itself` says so.
// Launch: one work-item per row, groups of ${work_group_size}.
// In: of, numbers of a row; k, numbers that stay; ids, of those taken; rows in indices, distances, and, where has_vectors,
//     vectors and, where has_shifts, shifts. Out: the same for k.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void name_rows(const int m, const int of, const int k, const int itself, const int has_vectors, const int has_shifts,
               global const int *restrict ids,
               global const int *restrict indices, global const real *restrict distances,
               global const real *restrict vectors, global const int *restrict shifts,
               global int *restrict out_indices, global real *restrict out_distances, global real *restrict out_vectors,
               global int *restrict out_shifts)
{
    const int i = get_global_id(0);
    if (i >= m) return;
    int met = !itself;
    size_t to = (size_t)i * k;
    for (size_t from = (size_t)i * of; from < (size_t)(i + 1) * of && to < (size_t)(i + 1) * k; ++from) {
        const int j = indices[from] < 0 ? -1 : ids[indices[from]];
        int moved = 0;
        if (has_shifts) for (int axis = 0; axis < ${dim}; ++axis) moved |= shifts[from * ${dim} + axis];
        if (!met && j == i && !moved) {
            met = 1;
            continue;
        }
        out_indices[to] = j;
        out_distances[to] = distances[from];
        for (int axis = 0; axis < ${dim}; ++axis) {
            if (has_vectors) out_vectors[to * ${dim} + axis] = vectors[from * ${dim} + axis];
            if (has_vectors & has_shifts) out_shifts[to * ${dim} + axis] = shifts[from * ${dim} + axis];
        }
        ++to;
    }
}

// The links of places, which stand for their first points, become links of all points.
// Launch: one work-item per point, groups of ${work_group_size}.
// In: place_of (n,), ids (places,), links, core and border (places,).
// Out: the same of the points; links go to first points, and that of a first point to where its place is linked.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void spread_links(const int n, global const int *restrict place_of, global const int *restrict ids,
                  global const int *restrict links, global const uchar *restrict core,
                  global const uchar *restrict border, global int *restrict out_links, global uchar *restrict out_core,
                  global uchar *restrict out_border)
{
    const int i = get_global_id(0);
    if (i >= n) return;
    const int place = place_of[i], link = links[place];
    out_links[i] = link < 0 ? -1 : ids[ids[place] == i ? link : place];
    out_core[i] = core[place];
    out_border[i] = border[place];
}

// Launch: one work-item per place, groups of ${work_group_size}.
// In: ids (places,), labels of points. Out: taken (places,), the labels of first points.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void take_labels(const int n, global const int *restrict ids, global const int *restrict labels,
                 global int *restrict taken)
{
    const int place = get_global_id(0);
    if (place < n) taken[place] = labels[ids[place]];
}

// Launch: one work-item per point, groups of ${work_group_size}.
// In: place_of (n,), taken (places,). Out: labels (n,).
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void spread_labels(const int n, global const int *restrict place_of, global const int *restrict taken,
                   global int *restrict labels)
{
    const int i = get_global_id(0);
    if (i < n) labels[i] = taken[place_of[i]];
}
