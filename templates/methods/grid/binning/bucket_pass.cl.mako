<%include file="/common/geometry.mako"/>
<%namespace name="bounding_box" file="/common/bounding_box.mako"/>
<%namespace name="cell_coordinate" file="/domain/cell_coordinate.mako"/>
<%namespace name="cells" file="/methods/grid/cells.mako"/>
<%namespace name="periodic_images" file="/domain/periodic_images.mako"/>
<%namespace name="lattice" file="/domain/lattice.mako"/>\
<%namespace name="binning_steps" file="/methods/grid/binning/binning_steps.mako"/>
// Sorts points into buckets. Bucket b is the cells from address b << shift on; a work-group counts all buckets in local memory.
// The cells of one bucket are then few enough that a group counts these as well: see /methods/grid/binning/bucket_to_cells.cl.mako.
// Config fields used: dim, components, periodic, work_group_size, batch; local_ints and slots, which follow from counters.
// Source: Stehle, Jacobsen (2017), "A memory bandwidth-efficient hybrid radix sort on GPUs", §4.
${cell_coordinate.functions(False)}
${periodic_images.functions()}

// Counts the points of each bucket, and of each region of 1 << span buckets; and finds the bounding box of the points.
// A group enters a bucket when it has points in it. Where groups enter more than `most` buckets in all,
// /methods/grid/binning/region_pass.cl.mako sorts the points, and otherwise sort_buckets.
// Launch: any number of groups of ${work_group_size}, which stride over the points.
// In: points (n, dim); regions, 0 where there are none. In and out: counts (buckets,), zero before; with regions
// (buckets + 2 * regions + 1,): behind the counts of buckets those of regions, and at the end the number of buckets
// that groups enter. Out: before (groups, buckets), unless regions are used: the points of the bucket that other groups
// have added before this group; boxes (groups, 2 * dim + 1): the low and the high corner of the finite points of each
// group, and its first point that is not finite.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void count_buckets(const int n, const int shift, const int buckets, global const real *restrict points, ${cells.grid("")},
                   global int *restrict counts, global int *restrict before, global real *restrict boxes,
                   const int regions, const int span, const int most)
{
    ${binning_steps.counters()}
    ${bounding_box.begin()}
    local int entered;
    const int stride = get_global_size(0);
    for (int k = get_local_id(0); k < buckets; k += ${work_group_size}) found[k] = 0;
    if (get_local_id(0) == 0) entered = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    <%binning_steps:each_point batch="${batch}">
        ${bounding_box.include_point(lattice.placed("p", "images") + ".s", "i")}
        ${cells.address("p")}
        atomic_inc(&found[address >> shift]);
    </%binning_steps:each_point>
    barrier(CLK_LOCAL_MEM_FENCE);
    // A group that enters more than twice its part of `most` decides for regions. The counts before its own are then
    // not needed, and an atomic operation whose result is not used takes less time.
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
        // Work-items in lockstep begin at different buckets, because they would access one bank of local memory otherwise.
        for (int step = 0; step < 1 << span; ++step) {
            const int b = (k << span) + ((step + k) & ((1 << span) - 1));
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

// Writes points in the order of buckets. Each group sums the counts itself, which takes less time than another launch.
// Launch: the same groups of ${work_group_size} over the same points as count_buckets.
// In: points (n, dim); counts; before (groups, buckets); most: nothing is done where groups have entered more buckets.
// Out: ends (buckets,): the end of each bucket; sorted (n,), records.
// Exact because a group writes the points that it has counted, to positions in each bucket that belong to no other group.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void sort_buckets(const int n, const int shift, const int buckets, global const real *restrict points, ${cells.grid("")},
                  global const int *restrict counts, global const int *restrict before, global int *restrict ends,
                  global frnn_record *restrict sorted, const int regions, const int most)
{
    ${binning_steps.counters()}
    if (regions && counts[buckets + 2 * regions] > most) return;
    const int l = get_local_id(0), stride = get_global_size(0), cells = buckets;
    for (int k = l; k < cells; k += ${work_group_size}) found[k] = counts[k];
    ${binning_steps.sum_up()}
    // The positions of this group in a bucket are filled from the right.
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
