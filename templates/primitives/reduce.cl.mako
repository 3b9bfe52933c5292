<%include file="/common/types.mako"/>
<%include file="/primitives/occupancy_sample.mako"/>
<%namespace name="bounding_box" file="/common/bounding_box.mako"/>
<%namespace name="group_exchange" file="/common/group_exchange.mako"/>
<%namespace name="period_numbers" file="/domain/period_numbers.mako"/>
// Reduces points to their bounding box with the first row that is not finite, to their bulk without strays, and samples how many
// points share a cell.
// Config fields used: work_group_size, dim, real, bulk_sample, bulk_times.
<%def name="reduce_points()">
<% last_int, slots = 2 * dim * (2 if real == "double" else 1), max(1, work_group_size // 2) %>\
    // The group reduces its rows, publishes their box and counts itself as done. The group that is done last collects
    // all boxes. Nothing orders the atomic operations of one group for another. The count is therefore computed from
    // the old values that all of them return, which are zero: it cannot be added before the box has arrived.
    local int exchange[${slots * (2 * dim + 1) * (2 if real == "double" else 1)}];
    ${bounding_box.begin()}
    local int done;
    const int l = get_local_id(0), own = get_group_id(0), groups = get_num_groups(0);
    const int end = min((long)n, (long)(own + 1) * span);
    for (int i = own * span + l; i < end; i += ${work_group_size}) {
% for k in range(dim):
        const real x${k} = points[(size_t)i * ${dim} + ${k}];
% endfor
        ${bounding_box.include_point("x", "i")}
    }
    ${bounding_box.reduce(slots)}
    if (l == 0) {
        const int g = own;
        int counts = 1;
% for k in range(dim):
        counts += ${group_exchange.publish(k, f"low{k}")};
        counts += ${group_exchange.publish(dim + k, f"high{k}")};
% endfor
        counts += ${group_exchange.publish_int(last_int, "bad")};
        done = atomic_add(&partials[${last_int + 1} * groups], counts) + 1;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const int last = done == groups, others = last ? groups : 0;
    for (int g = l; g < others; g += ${work_group_size}) {
% for k in range(dim):
        low${k} = fmin(low${k}, ${group_exchange.collect(k)});
        high${k} = fmax(high${k}, ${group_exchange.collect(dim + k)});
% endfor
        bad = min(bad, ${group_exchange.collect_int(last_int)});
    }
    ${bounding_box.reduce(slots)}
    if (last && l == 0) {
        atomic_xchg(&partials[${last_int + 1} * groups], 0);
        ${bounding_box.store("boxes + box_start", "0")}
        ${caller.body()}
    }
</%def>

// Finds the bounding box of the finite rows of an array, and its first row that is not finite.
// Launch: groups of ${work_group_size}; group g reads the rows from g * span up to (g + 1) * span.
// In: points (n, dim). In and out: partials: a column of ints for each group, and the number of groups that are done;
// all zero before and after. Out: boxes, from box_start on: low corner, high corner, and the row in the form of an id,
// INT_MAX where all rows are finite.
// Correct because the group that is done last has seen that the boxes of all groups have arrived.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void bounding_box(const int n, const int span, global const real *restrict points, global int *restrict partials,
                  global real *restrict boxes, const int box_start)
{
    <%self:reduce_points>
    </%self:reduce_points>
}

// Finds the bounding box as the kernel above does, and from it the numbers of a periodic walk.
// Launch, in and out: as the kernel above, and share, period and images as in /methods/domain_tables/periodic_images.cl.mako.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void box_and_images(const int n, const int span, global const real *restrict points, global int *restrict partials,
                    const real share, global const real *restrict period, global real *restrict images,
                    global real *restrict boxes, const int box_start)
{
    <%self:reduce_points>
        ${period_numbers.measure("low{k}", "high{k}")}
    </%self:reduce_points>
}

// Finds the bulk of the points: their box without strays. On each axis it reaches as far beyond the inner three quarters of
// a sample as the widest axis has between them, within the box of all points. Where the box is not far wider, it is the bulk.
// Launch: one group of ${work_group_size}.
// In: points (n, dim), of which one out of every `stride` is sampled, at most ${bulk_sample} of them; boxes: from box_start on
// the box of all points. Out: bulk: from bulk_start on its low and its high corner, and the logarithm of how far strays lie
// beyond it.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void find_bulk(const int sampled, const int stride, global const real *restrict points, global const real *restrict boxes,
               const int box_start, global real *restrict bulk, const int bulk_start)
{
    local real values[${bulk_sample * dim}], ends[${2 * dim}];
    const int l = get_local_id(0), outer = sampled / 8;
    for (int s = l; s < sampled * ${dim}; s += ${work_group_size})
        values[s] = points[(size_t)sampled_point(s / ${dim}, stride) * ${dim} + s % ${dim}];
    for (int s = l; s < ${2 * dim}; s += ${work_group_size}) ends[s] = boxes[box_start + s];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = l; s < sampled * ${dim}; s += ${work_group_size}) {
        const real own = values[s];
        int rank = 0;
        for (int other = s % ${dim}; other < sampled * ${dim}; other += ${dim})
            rank += (values[other] < own) | ((values[other] == own) & (other < s));
        if (rank == outer) ends[s % ${dim}] = own;
        if (rank == sampled - 1 - outer) ends[${dim} + s % ${dim}] = own;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    // All lengths are halved, because the side of the box may overflow.
    real widest = 0;
    for (int k = 0; k < ${dim}; ++k) widest = fmax(widest, ends[${dim} + k] / 2 - ends[k] / 2);
    if (l) return;
    real beyond = 0;
    for (int k = 0; k < ${dim}; ++k) {
        const real low = boxes[box_start + k], high = boxes[box_start + ${dim} + k];
        const real from = fmax(low, ends[k] - 2 * widest), to = fmin(high, ends[${dim} + k] + 2 * widest);
        const int strays = widest > 0 && high / 2 - low / 2 > ${bulk_times} * (to / 2 - from / 2);
        bulk[bulk_start + k] = strays ? from : low;
        bulk[bulk_start + ${dim} + k] = strays ? to : high;
        if (strays) beyond = fmax(beyond, fmax(from / 2 - low / 2, high / 2 - to / 2));
    }
    bulk[bulk_start + ${2 * dim}] = beyond > 0 ? log2(fmin(1 + beyond / widest, ${"DBL_MAX" if real == "double" else "FLT_MAX"})) : 0;
}

<%def name="slot_of_cell()">
    // The hash of the cell of point i, which is never 0, and the slot of its counter. Cells have no address here.
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
    hash |= 1;
    const uint slot = hash * 0x9e3779b1u >> shift;
</%def>

// Assigns a counter to the cell of each sampled point, by a hash of the cell. Where several cells share a slot, the
// largest hash has the counter.
// Launch: one work-item per sampled point, groups of ${work_group_size}.
// In: points (n, dim), of which one out of every `stride` is sampled; inverse: the inverse side of a cell. Out: slots
// (2, 1 << (32 - shift)): the first row takes hashes; zero before.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void sample_cells(const int sampled, const int stride, global const real *restrict points, const real inverse, const int shift,
                  global uint *restrict slots)
{
    if (get_global_id(0) >= sampled) return;
    const int i = sampled_point(get_global_id(0), stride);
    ${slot_of_cell()}
    atomic_max(&slots[slot], hash);
}

// Counts the points in the cells that have a counter.
// Launch: groups of ${work_group_size}; group g counts the sampled points from number g * span up to (g + 1) * span.
// In: points (n, dim), of which one out of every `step` is counted. In and out: slots: the second row takes counts;
// zero before.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void count_in_cells(const int n, const int counted, const int span, const int step, global const real *restrict points,
                    const real inverse, const int shift, global uint *restrict slots)
{
    const int end = min((long)counted, (long)(get_group_id(0) + 1) * span);
    for (int k = (int)get_group_id(0) * span + (int)get_local_id(0); k < end; k += ${work_group_size}) {
        const uint i = sampled_point(k, step);
        if (i >= (uint)n) break;  // the last `step` points may be fewer
        ${slot_of_cell()}
        if (slots[slot] == hash) atomic_inc(&slots[(1u << (32 - shift)) + slot]);
    }
}

// Adds up what the sampled points find: how many of their cells have a counter, how many other points were counted in
// these cells, and the squares of these numbers.
// Launch: one group of ${work_group_size}.
// In: points (n, dim); slots. Out: sums (3,).
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void sum_samples(const int sampled, const int stride, const int step, global const real *restrict points, const real inverse,
                 const int shift, global const uint *restrict slots, global ulong *restrict sums)
{
    local ulong found[${work_group_size}], crowds[${work_group_size}], squares[${work_group_size}];
    const int l = get_local_id(0);
    ulong have = 0, crowd = 0, square = 0;
    for (int k = l; k < sampled; k += ${work_group_size}) {
        const int i = sampled_point(k, stride);
        ${slot_of_cell()}
        if (slots[slot] == hash) {
            const ulong others = slots[(1u << (32 - shift)) + slot] - (sampled_point(i / step, step) == i);
            ++have;
            crowd += others;
            square += others * others;
        }
    }
    found[l] = have;
    crowds[l] = crowd;
    squares[l] = square;
    barrier(CLK_LOCAL_MEM_FENCE);
    // One work-item adds. Where halves of the group were added, a compiler for CPUs omitted half of three sums.
    if (l == 0) {
        for (int k = 1; k < ${work_group_size}; ++k) {
            have += found[k];
            crowd += crowds[k];
            square += squares[k];
        }
        sums[0] = have;
        sums[1] = crowd;
        sums[2] = square;
    }
}
