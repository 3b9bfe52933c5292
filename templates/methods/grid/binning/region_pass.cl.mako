<%include file="/common/geometry.mako"/>
<%namespace name="cell_coordinate" file="/domain/cell_coordinate.mako"/>
<%namespace name="cells" file="/methods/grid/cells.mako"/>
<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="periodic_images" file="/domain/periodic_images.mako"/>
<%namespace name="binning_steps" file="/methods/grid/binning/binning_steps.mako"/>
// Sorts many points into buckets in two passes: first into regions of 1 << span buckets, then each region into its buckets.
// With one pass, groups would write to more lines of memory at a time than caches hold. Here a group sorts a tile in local
// memory, so that neighboring work-items write neighboring records. It appends the records of each run, which is a region or a
// bucket, to what other groups have written, so that only one line is being written for each run.
// Nothing is done where points come nearly sorted and groups enter few buckets: sort_buckets of /methods/grid/binning/bucket_pass.cl.mako
// sorts these in one pass.
// Config fields used: dim, components, periodic, work_group_size, batch; local_ints and tile, which follow from counters and batch.
// Source: Stehle, Jacobsen (2017), "A memory bandwidth-efficient hybrid radix sort on GPUs", §4.
${cell_coordinate.functions(False)}
${periodic_images.functions()}
## Runs for each work-item.
<% own_runs = -(-local_ints // work_group_size) %>\
<%def name="memory_of_tile()">
    local int found[${2 * local_ints}], targets[${local_ints}];
    local ushort runs[${tile}];
    local frnn_record held[${tile}];
</%def>

<%def name="each_own()">
## The records of a work-item stay in registers, because the loop is unrolled.
% if batch > 1:
#pragma unroll
% endif
    for (int m = 0; m < ${batch}; ++m) {
        ${caller.body()}
    }
</%def>

<%def name="write_tile(all_runs, cursors, base)">
    // Writes the first `many` records of the tile. Record own[m] of a work-item belongs to run number run[m], and goes
    // to the cursor of that run plus its base. There are ${all_runs} runs; their elements of `found` are zero before.
    barrier(CLK_LOCAL_MEM_FENCE);
    int rank[${batch}], taken[${own_runs}];
    <%self:each_own>
        rank[m] = m * ${work_group_size} + l < many ? atomic_inc(&found[run[m]]) : 0;
    </%self:each_own>
    barrier(CLK_LOCAL_MEM_FENCE);
    // The results of the atomic operations are used only after the sums, so that no work-item waits for them before.
    for (int m = 0; m < ${own_runs}; ++m) {
        const int k = m * ${work_group_size} + l;
        taken[m] = k < ${all_runs} && found[k] ? atomic_add(&(${cursors})[k], found[k]) : 0;
    }
    ${binning_steps.sum_up()}
    for (int m = 0; m < ${own_runs}; ++m) {
        const int k = m * ${work_group_size} + l;
        if (k < ${all_runs}) targets[k] = ${base} + taken[m] - (k ? found[k - 1] : 0);
    }
    <%self:each_own>
        if (m * ${work_group_size} + l < many) {
            const int slot = (run[m] ? found[run[m] - 1] : 0) + rank[m];
            held[slot] = own[m];
            runs[slot] = (ushort)run[m];
        }
    </%self:each_own>
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = l; s < many; s += ${work_group_size}) sorted[targets[runs[s]] + s] = held[s];
</%def>

// Writes points in the order of regions, and the starts of regions and buckets.
// Launch: a group of ${work_group_size} for each tile of ${tile} points.
// In: points (n, dim); most: nothing is done where groups enter no more buckets than this. In and out: counts (buckets +
// 2 * regions + 1,): the points of each bucket, the points of each region, the points written to each region, zero before, and
// the number of buckets that groups enter.
// Out: starts (regions + 2,): the start of each region, n, and whether anything is done; ends (buckets,): the start of each
// bucket; sorted (n,), records.
// Exact because a group reserves positions in a region for the records that it has counted there, and no other group has them.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void sort_regions(const int n, const int shift, const int span, const int buckets, const int regions,
                  global const real *restrict points, ${cells.grid("")}, global int *restrict counts,
                  global int *restrict starts, global int *restrict ends, global frnn_record *restrict sorted,
                  const int most)
{
    ${memory_of_tile()}
    const int used = counts[buckets + 2 * regions] > most, l = get_local_id(0);
    if (get_global_id(0) == 0) starts[regions + 1] = used;
    if (!used) return;
    const int first_point = (int)get_group_id(0) * ${tile}, many = min(${tile}, n - first_point);
    real_vec some[${batch}];
    frnn_record own[${batch}];
    int run[${batch}];
    <%self:each_own>
        some[m] = ${geometry.load("points", f"first_point + min(m * {work_group_size} + l, many - 1)")};
    </%self:each_own>
    // Behind the counts of the tile stand those of all points. Their sums, less the points of the tile, are the starts
    // of regions.
    const int cells = 2 * regions;
    for (int k = l; k < cells; k += ${work_group_size}) found[k] = k < regions ? 0 : counts[buckets + k - regions];
    <%self:each_own>
        const int i = first_point + min(m * ${work_group_size} + l, many - 1);
        const real_vec p = some[m];
        ${cells.address("p")}
        run[m] = address >> (shift + span);
        own[m] = ${binning_steps.record("p")};
    </%self:each_own>
    ${write_tile("regions", "counts + (buckets + regions)", "found[regions + k - 1] - many")}
    // A region has few buckets, and neighboring work-items add the same counts.
    for (int k = get_global_id(0); k < buckets; k += (int)get_global_size(0)) {
        int start = found[regions + (k >> span) - 1] - many;
        for (int b = k >> span << span; b < k; ++b) start += counts[b];
        ends[k] = start;
    }
    for (int k = get_global_id(0); k <= regions; k += (int)get_global_size(0)) starts[k] = found[regions + k - 1] - many;
}

// Writes the records of each region in the order of buckets.
// Launch: n / ${tile} groups of ${work_group_size}, rounded down, and one more for each region, because its last tile
// is not full.
// In: starts (regions + 2,); records (n,), in the order of regions. In and out: ends (buckets,): the start of each
// bucket before, its end after. Out: sorted (n,), records; counts (buckets + 2 * regions + 1,), of which all but the
// points of buckets are cleared for the next step.
// Exact as sort_regions.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void sort_within_regions(const int shift, const int span, const int buckets, const int regions, ${cells.grid("")},
                         global int *restrict counts, global const int *restrict starts, global int *restrict ends,
                         global const frnn_record *restrict records, global frnn_record *restrict sorted)
{
    ${memory_of_tile()}
    local int region_of_group;
    const int l = get_local_id(0), t = get_group_id(0);
    if (t == 0)
        for (int k = l; k < 2 * regions + 1; k += ${work_group_size}) counts[buckets + k] = 0;
    if (!starts[regions + 1]) return;
    // Region r has the groups from starts[r] / ${tile} + r on, up to the first of the next region: as many as it has
    // tiles, or one more.
    for (int r = l; r < regions; r += ${work_group_size})
        if (t >= starts[r] / ${tile} + r && t <= starts[r + 1] / ${tile} + r) region_of_group = r;
    for (int k = l; k < 1 << span; k += ${work_group_size}) found[k] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    const int region = region_of_group, origin = region << span, cells = min(1 << span, buckets - origin);
    const int start = starts[region], all = starts[region + 1] - start;
    const int tile = t - (start / ${tile} + region), whole = all / ${tile};
    const int many = tile < whole ? ${tile} : tile == whole ? all % ${tile} : 0;
    const int first_record = many ? start + tile * ${tile} : 0;
    frnn_record own[${batch}];
    int run[${batch}];
    <%self:each_own>
        own[m] = records[first_record + min(m * ${work_group_size} + l, max(many - 1, 0))];
    </%self:each_own>
    <%self:each_own>
        const real_vec p = ${geometry.point_of("own[m]")};
        ${cells.address("p")}
        run[m] = (address >> shift) - origin;
    </%self:each_own>
    ${write_tile("cells", "ends + origin", "0")}
}
