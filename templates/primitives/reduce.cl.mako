<%include file="/common/types.mako"/>
<%include file="/primitives/occupancy_sample.mako"/>
<%namespace name="bounds" file="/common/bounding_box.mako"/>
<%namespace name="gifts" file="/common/group_exchange.mako"/>
<%namespace name="period" file="/common/period_numbers.mako"/>
// Bounding box with the first non-finite row, and how crowded the cells of a sample of points are.
// Config fields used: work_group_size, dim, real.
<%def name="bounding_box()">
<% last_int, slots = 2 * dim * (2 if real == "double" else 1), max(1, work_group_size // 2) %>\
    // The box of the group's rows. It gives that, and counts itself; the last that does so has what all have given: as nothing
    // orders a group's atomic operations for others, the count is made of the answers to all gifts, which are zero.
    local int handed[${slots * (2 * dim + 1) * (2 if real == "double" else 1)}];
    ${bounds.begin()}
    local int ended;
    const int l = get_local_id(0), own = get_group_id(0), groups = get_num_groups(0);
    const int end = min((long)n, (long)(own + 1) * span);
    for (int i = own * span + l; i < end; i += ${work_group_size}) {
% for k in range(dim):
        const real x${k} = points[(size_t)i * ${dim} + ${k}];
% endfor
        ${bounds.take("x", "i")}
    }
    ${bounds.gather(slots)}
    if (l == 0) {
        const int g = own;
        int counts = 1;
% for k in range(dim):
        counts += ${gifts.give(k, f"low{k}")};
        counts += ${gifts.give(dim + k, f"high{k}")};
% endfor
        counts += ${gifts.give_int(last_int, "bad")};
        ended = atomic_add(&told[${last_int + 1} * groups], counts) + 1;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const int last = ended == groups, others = last ? groups : 0;
    for (int g = l; g < others; g += ${work_group_size}) {
% for k in range(dim):
        low${k} = fmin(low${k}, ${gifts.take(k)});
        high${k} = fmax(high${k}, ${gifts.take(dim + k)});
% endfor
        bad = min(bad, ${gifts.take_int(last_int)});
    }
    ${bounds.gather(slots)}
    if (last && l == 0) {
        atomic_xchg(&told[${last_int + 1} * groups], 0);
        ${bounds.keep("boxes + place", "0")}
        ${caller.body()}
    }
</%def>

// The box of the finite rows of an array, and its first row that is not finite.
// Launch: groups of ${work_group_size}, group g reads rows g * span up to (g + 1) * span. In: points (n, dim). In and out: told, what
// groups have found, a column of ints for each, and how many have ended, all zero before and after. Out: boxes, from place on: low,
// high, the row as an id, INT_MAX where all rows are finite.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void bounding_box(const int n, const int span, global const real *restrict points, global int *restrict told,
                  global real *restrict boxes, const int place)
{
    <%self:bounding_box>
    </%self:bounding_box>
}

// The same of points in a periodic box, with what walks need to know of them: share, period and images as in images.cl.mako.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void box_and_images(const int n, const int span, global const real *restrict points, global int *restrict told,
                    const real share, global const real *restrict period, global real *restrict images,
                    global real *restrict boxes, const int place)
{
    <%self:bounding_box>
        ${period.measure("low{k}", "high{k}")}
    </%self:bounding_box>
}

<%def name="slot_of_cell()">
    // The counter that point i's cell may have. Cells need no address here, only a hash, which is never 0.
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

// Gives the cells of a sample of points a counter each, by their hashes. Of cells that share one the largest hash has it.
// Launch: one work-item per sampled point. In: points (n, dim), of which one of each `stride` is sampled. Out: slots
// (2, 2 to the power 32 - shift): hashes, zero before.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void sample_cells(const int sampled, const int stride, global const real *restrict points, const real inverse, const int shift,
                  global uint *restrict slots)
{
    if (get_global_id(0) >= sampled) return;
    const int i = place_of(get_global_id(0), stride);
    ${slot_of_cell()}
    atomic_max(&slots[slot], hash);
}

// Counts the points in these cells: of all points one of each `step`.
// Launch: groups of ${work_group_size}, group g counts numbers g * span up to (g + 1) * span. In: points (n, dim). Out: slots:
// counts behind the hashes, zero before.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void count_in_cells(const int n, const int counted, const int span, const int step, global const real *restrict points,
                    const real inverse, const int shift, global uint *restrict slots)
{
    const int end = min((long)counted, (long)(get_group_id(0) + 1) * span);
    for (int k = (int)get_group_id(0) * span + (int)get_local_id(0); k < end; k += ${work_group_size}) {
        const uint i = place_of(k, step);
        if (i >= (uint)n) break;  // of the last ones, which may be fewer
        ${slot_of_cell()}
        if (slots[slot] == hash) atomic_inc(&slots[(1u << (32 - shift)) + slot]);
    }
}

// What the sampled points found: how many have a counter, and how many others were counted in their cells; the sum of these
// and of their squares.
// Launch: one group. In: points (n, dim); slots. Out: sums (3,).
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void sum_samples(const int sampled, const int stride, const int step, global const real *restrict points, const real inverse,
                 const int shift, global const uint *restrict slots, global ulong *restrict sums)
{
    local ulong found[${work_group_size}], crowds[${work_group_size}], squares[${work_group_size}];
    const int l = get_local_id(0);
    ulong have = 0, crowd = 0, square = 0;
    for (int k = l; k < sampled; k += ${work_group_size}) {
        const int i = place_of(k, stride);
        ${slot_of_cell()}
        if (slots[slot] == hash) {
            const ulong others = slots[(1u << (32 - shift)) + slot] - (place_of(i / step, step) == i);
            ++have;
            crowd += others;
            square += others * others;
        }
    }
    found[l] = have;
    crowds[l] = crowd;
    squares[l] = square;
    barrier(CLK_LOCAL_MEM_FENCE);
    // By one item: by halves, the compiler of one runtime for CPUs left half of three sums out.
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
