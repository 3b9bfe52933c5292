<%include file="/common/geometry.mako"/>
<%include file="/common/cell_coordinate.mako"/>
<%namespace name="bounds" file="/common/bounding_box.mako"/>
<%namespace name="cells" file="/grid/cells.mako"/>
<%namespace name="periodic_box" file="/common/periodic_images.mako"/>
<%namespace name="steps" file="/grid/binning_steps.mako"/>
// Sorting into buckets, runs of addresses so long that a work-group counts all of them in local memory: bucket b holds the
// cells from b << shift on. What is left for a group to sort is then no more than it can count and write beside each other.
// Config fields used: dim, components, periodic, work_group_size, batch, and room and slots, which follow from counters.
// Source: Stehle, Jacobsen (2017), "A memory bandwidth-efficient hybrid radix sort on GPUs", §4: buckets first, then each at once.
${periodic_box.numbers()}

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
    ${steps.counters_of_group()}
    ${bounds.begin()}
    local int entered;
    const int stride = get_global_size(0);
    for (int k = get_local_id(0); k < buckets; k += ${work_group_size}) found[k] = 0;
    if (get_local_id(0) == 0) entered = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    <%steps:each_point batch="${batch}">
        ${bounds.take("p.s", "i")}
        ${cells.address("p")}
        atomic_inc(&found[address >> shift]);
    </%steps:each_point>
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
    ${bounds.fold(slots, "boxes", "(int)get_group_id(0)")}
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
    ${steps.counters_of_group()}
    if (regions && counts[buckets + 2 * regions] > most) return;
    const int l = get_local_id(0), stride = get_global_size(0), cells = buckets;
    for (int k = l; k < cells; k += ${work_group_size}) found[k] = counts[k];
    ${steps.sum_up()}
    // The places of this group in a bucket are taken from the right.
    for (int k = l; k < cells; k += ${work_group_size}) {
        if (get_group_id(0) == 0) ends[k] = found[k];
        found[k] -= before[(int)get_group_id(0) * buckets + k];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    <%steps:each_point batch="${batch}">
        ${cells.address("p")}
        sorted[atomic_dec(&found[address >> shift]) - 1] = ${steps.record("p")};
    </%steps:each_point>
}
