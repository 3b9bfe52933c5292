<%include file="types.cl.mako"/>
<%namespace name="bounds" file="bounds.cl.mako"/>
// Bounding box with the first non-finite row, and a sample of how crowded the cells around points are.
// Config fields used: work_group_size, dim, real.
<%def name="scratch()">
    local int handed[${max(1, work_group_size // 2) * (2 * dim + 1) * (2 if real == "double" else 1)}];
    ${bounds.begin()}
</%def>
<%def name="settle(boxes, g)">
    ${bounds.fold(max(1, work_group_size // 2), boxes, g)}
</%def>

// The box of the finite rows of one share of the points, and its first row that is not finite.
// Launch: groups of ${work_group_size}, group g reads rows g * span up to (g + 1) * span.
// In: points (n, dim). Out: boxes (groups, 2 * dim + 1): low, high, the row as an id, INT_MAX where all rows are finite.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void bounding_box(const int n, const int span, global const real *restrict points, global real *restrict boxes)
{
    ${scratch()}
    const int end = min((long)n, (long)(get_group_id(0) + 1) * span);
    for (int i = (int)get_group_id(0) * span + (int)get_local_id(0); i < end; i += ${work_group_size}) {
% for k in range(dim):
        const real x${k} = points[(size_t)i * ${dim} + ${k}];
% endfor
        ${bounds.take("x", "i")}
    }
    ${settle("boxes", "(int)get_group_id(0)")}
}

// One box and one row from those of all groups.
// Launch: one group. In: shares (groups, 2 * dim + 1). Out: boxes (2 * dim + 1,) from place on.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void whole_box(const int groups, global const real *restrict shares, global real *restrict boxes,
               const int place)
{
    ${scratch()}
    for (int g = get_local_id(0); g < groups; g += ${work_group_size}) {
        ${bounds.take_box("shares", "g")}
    }
    ${settle("boxes + place", "0")}
}

// Counts points in a sample of cells: those whose hash ends in zeros. Cells need no address here, only a hash.
// Launch: groups of ${work_group_size}, group g reads rows g * span up to (g + 1) * span.
// In: points (n, dim). Out: counters (2 to the power 32 - shift,), zero before.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void sample_occupancy(const int n, const int span, global const real *restrict points, const real inverse,
                      const uint mask, const int shift, global int *restrict counters)
{
    const int end = min((long)n, (long)(get_group_id(0) + 1) * span);
    for (int i = (int)get_group_id(0) * span + (int)get_local_id(0); i < end; i += ${work_group_size}) {
        uint hash = 0;
        for (int k = 0; k < ${dim}; ++k) {
            const real cell = floor(points[(size_t)i * ${dim} + k] * inverse) + (real)0;
% if real == "double":
            hash ^= (uint)as_ulong(cell) ^ (uint)(as_ulong(cell) >> 32);
% else:
            hash ^= as_uint(cell);
% endif
            hash *= 0x85ebca6bu;
            hash ^= hash >> 13;
            hash *= 0xc2b2ae35u;
            hash ^= hash >> 16;
        }
        if ((hash & mask) == 0) atomic_inc(&counters[hash * 0x9e3779b1u >> shift]);
    }
}

// Sum and sum of squares of the sample's counters.
// Launch: one group. In: counters (slots,). Out: sums (2,).
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void sum_occupancy(const int slots, global const int *restrict counters, global ulong *restrict sums)
{
    local ulong points[${work_group_size}], squares[${work_group_size}];
    const int l = get_local_id(0);
    ulong sum = 0, square = 0;
    for (int k = l; k < slots; k += ${work_group_size}) {
        const ulong count = counters[k];
        sum += count;
        square += count * count;
    }
    points[l] = sum;
    squares[l] = square;
    for (int other = ${work_group_size // 2}; other > 0; other /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < other) {
            points[l] += points[l + other];
            squares[l] += squares[l + other];
        }
    }
    if (l == 0) {
        sums[0] = points[0];
        sums[1] = squares[0];
    }
}
