<%include file="/common/geometry.mako"/>
<%include file="/common/cell_coordinate.mako"/>
<%namespace name="bounding_box" file="/common/bounding_box.mako"/>
<%namespace name="cells" file="/grid/cells.mako"/>
<%namespace name="periodic_images" file="/common/periodic_images.mako"/>
<%namespace name="binning_steps" file="/grid/binning_binning_steps.mako"/>
// Sorting into buckets, runs of addresses so long that a work-group counts all of them in local memory: bucket b holds the
// cells from b << shift on. What is left for a group to sort is then no more than it can count and write beside each other.
// Config fields used: dim, components, periodic, work_group_size, batch, and room and slots, which follow from counters.
// Source: Stehle, Jacobsen (2017), "A memory bandwidth-efficient hybrid radix sort on GPUs", §4: buckets first, then each at once.
${periodic_images.functions()}
${binning_steps.rooms()}

// The points of each bucket, counted in local memory; and their box.
// Launch: any number of groups, which stride over the points. In: points (n, dim); most: where there are regions, in how many
// buckets groups may have points, added up over groups, before regions serve all. In and out: counts (buckets,), zero
// before, and where there are regions of 1 << span buckets each, (buckets + 2 * regions + 1,): behind those of the buckets
// those of regions, and at the end in how many buckets groups have points, or more than most. Out: before (groups,
// buckets), unless regions serve all: how many points of the bucket other groups count before this group's own, in the order
// in which they came to say so; boxes (groups, 2 * dim + 1): the low and high corners of finite points, the first other point
// as an id.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void count_buckets(const int n, const int shift, const int buckets, global const real *restrict points, ${cells.grid("")},
                   global int *restrict counts, global int *restrict before, global real *restrict boxes,
                   const int regions, const int span, const int most)
{
    ${binning_steps.counters_of_group()}
    ${bounding_box.begin()}
    local int entered;
    const int stride = get_global_size(0);
    for (int k = get_local_id(0); k < buckets; k += ${work_group_size}) found[k] = 0;
    if (get_local_id(0) == 0) entered = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    <%binning_steps:each_point batch="${batch}">
        ${bounding_box.include_point("p.s", "i")}
        ${cells.address("p")}
        atomic_inc(&found[address >> shift]);
    </%binning_steps:each_point>
    barrier(CLK_LOCAL_MEM_FENCE);
    // A group that enters twice as many buckets as groups may on average has regions serve all: then nobody asks who came
    // before, and atomic operations that need not answer take less.
    int own = 0, crowded = 0;
    for (int k = get_local_id(0); k < (regions ? buckets : 0); k += ${work_group_size}) own += found[k] > 0;
    if (regions) {
        atomic_add(&entered, own);
        barrier(CLK_LOCAL_MEM_FENCE);
        crowded = entered > 2 * (most / (int)get_num_groups(0));
    }
    for (int k = get_local_id(0); k < buckets; k += ${work_group_size}) {
        const int counted = found[k];
        if (crowded) {
            if (counted) atomic_add(&counts[k], counted);
        } else {
            before[(int)get_group_id(0) * buckets + k] = counted ? atomic_add(&counts[k], counted) : 0;
        }
    }
    for (int k = get_local_id(0); k < regions; k += ${work_group_size}) {
        int counted = 0;
        // Items that go in step begin at different places, as else all would ask the same bank of the memory.
        for (int turn = 0; turn < 1 << span; ++turn) {
            const int b = (k << span) + ((turn + k) & ((1 << span) - 1));
            if (b < buckets) counted += found[b];
        }
        if (counted) atomic_add(&counts[buckets + k], counted);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (regions && get_local_id(0) == 0) {
        if (crowded) {
            atomic_max(&counts[buckets + 2 * regions], most + 1);
        } else {
            atomic_add(&counts[buckets + 2 * regions], entered);
        }
    }
    ${bounding_box.reduce_and_store(slots, "boxes", "(int)get_group_id(0)")}
}

// Points into the order of buckets. Each group adds the counts up for itself, which takes less than another launch.
// Launch: the same groups over the same points. In: points (n, dim); counts, before (groups, buckets); most: where there are
// regions, nothing is done if counts say that groups have entered more buckets, as `regions` serves these. Out: ends
// (buckets,): where each bucket ends; sorted (n,) records.
// Exact because a group meets the points that it has counted: its places in a bucket are as many, and no other group's.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void sort_buckets(const int n, const int shift, const int buckets, global const real *restrict points, ${cells.grid("")},
                  global const int *restrict counts, global const int *restrict before, global int *restrict ends,
                  global frnn_record *restrict sorted, const int regions, const int most)
{
    ${binning_steps.counters_of_group()}
    if (regions && counts[buckets + 2 * regions] > most) return;
    const int l = get_local_id(0), stride = get_global_size(0), cells = buckets;
    for (int k = l; k < cells; k += ${work_group_size}) found[k] = counts[k];
    ${binning_steps.sum_up()}
    // The places of this group in a bucket are taken from the right.
    for (int k = l; k < cells; k += ${work_group_size}) {
        if (get_group_id(0) == 0) ends[k] = found[k];
        found[k] -= before[(int)get_group_id(0) * buckets + k];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    <%binning_steps:each_point batch="${batch}">
        ${cells.address("p")}
        sorted[atomic_dec(&found[address >> shift]) - 1] = ${binning_steps.record("p")};
    </%binning_steps:each_point>
}

// Both at once, by groups that take places in buckets when they have counted. Each bucket has room for somewhat more points
// than it had the time before; what a group has for one that has no room for all of it makes a run of numbers elsewhere, so
// that those who look for the points of a bucket meet no others. The last group adds up the counts.
// Launch: as count_buckets. In: ends_before (buckets,). In and out: counts (2 * buckets + 2,), of buckets, zero before, then
// groups that are done and points without room, both zero before and after, then of each bucket the last run of it, one
// more than its place in runs, zero before. Out: records, as room_of has them; homeless (n,): the numbers of points without
// room, run by run; runs (groups, buckets, 3), those there are: the run before, or 0, where it begins, its points; ends
// (buckets + 1,): where each bucket ends, and how many points have no room; boxes as above.
// Exact because the last group has seen that all others were done.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void share_buckets(const int n, const int shift, const int buckets, global const real *restrict points, ${cells.grid("")},
                   global int *restrict counts, global const int *restrict ends_before, global int *restrict ends,
                   global frnn_record *restrict records, global int *restrict homeless, global int *restrict runs,
                   global real *restrict boxes)
{
    ${binning_steps.counters_of_group()}
    ${bounding_box.begin()}
    local int done;
    const int l = get_local_id(0), stride = get_global_size(0), rooms = room_of(ends_before, buckets);
    for (int k = l; k < buckets; k += ${work_group_size}) found[k] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    <%binning_steps:each_point batch="${batch}">
        ${bounding_box.include_point("p.s", "i")}
        ${cells.address("p")}
        atomic_inc(&found[address >> shift]);
    </%binning_steps:each_point>
    barrier(CLK_LOCAL_MEM_FENCE);
    // The next place of the group in each bucket, or behind all rooms.
    for (int k = l; k < buckets; k += ${work_group_size}) {
        const int counted = found[k];
        if (!counted) continue;
        found[k] = room_of(ends_before, k) + atomic_add(&counts[k], counted);
        if (found[k] + counted > room_of(ends_before, k + 1)) {
            const int begin = atomic_add(&counts[buckets + 1], counted), run = (int)get_group_id(0) * buckets + k;
            vstore3((int3)(atomic_xchg(&counts[buckets + 2 + k], run + 1), begin, counted), run, runs);
            found[k] = rooms + begin;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    <%binning_steps:each_point batch="${batch}">
        ${cells.address("p")}
        const int place = atomic_inc(&found[address >> shift]);
        if (place < rooms) {
            records[place] = ${binning_steps.record("p")};
        } else {
            homeless[place - rooms] = i;
        }
    </%binning_steps:each_point>
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (l == 0) done = atomic_inc(&counts[buckets]) + 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    // By atomic operations, as no cache may answer for others.
    const int cells = done == (int)get_num_groups(0) ? buckets : 0;
    for (int k = l; k < cells; k += ${work_group_size}) found[k] = atomic_add(&counts[k], 0);
    ${binning_steps.sum_up()}
    for (int k = l; k < cells; k += ${work_group_size}) ends[k] = found[k];
    if (cells && l == 0) {
        ends[buckets] = atomic_xchg(&counts[buckets + 1], 0);
        atomic_xchg(&counts[buckets], 0);
    }
    ${bounding_box.reduce_and_store(slots, "boxes", "(int)get_group_id(0)")}
}
