<%include file="/common/geometry.mako"/>
<%include file="/common/cell_coordinate.mako"/>
<%namespace name="cells" file="/grid/cells.mako"/>
<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="periodic_box" file="/common/periodic_images.mako"/>
<%namespace name="steps" file="/grid/binning_steps.mako"/>
// Sorting into buckets in two passes, for points so many that memory holds more lines which groups have begun than caches
// do: first into regions, runs of 1 << span buckets, then each region into its buckets. A group sorts a tile in local memory, so
// that what goes to one run is written by items beside each other, and takes places for it behind all that other groups have
// taken there: as many lines are open as there are runs. Nothing is done for points that come so nearly sorted that groups
// enter few buckets each, which `bucket_pass` serves in one pass.
// Config fields used: dim, components, periodic, work_group_size, batch, and room and tile, which follow from counters and
// batch.
// Source: Stehle, Jacobsen (2017), "A memory bandwidth-efficient hybrid radix sort on GPUs", §4.
${periodic_box.numbers()}
## Runs that an item looks after.
<% own_runs = -(-room // work_group_size) %>\
<%def name="memory_of_tile()">
    local int found[${2 * room}], places[${room}];
    local ushort runs[${tile}];
    local frnn_record held[${tile}];
</%def>

<%def name="each_of_item()">
## In registers, as long as loops are unrolled.
% if batch > 1:
#pragma unroll
% endif
    for (int m = 0; m < ${batch}; ++m) {
        ${caller.body()}
    }
</%def>

<%def name="write_tile(all_runs, cursors, base)">
    // The first `many` of the records that items hold as mine[m], each of run of[m] out of ${all_runs}: to where the cursor of
    // the run stands, behind its base. Of `cells` numbers found, all that there are of runs are at zero.
    barrier(CLK_LOCAL_MEM_FENCE);
    int rank[${batch}], taken[${own_runs}];
    <%self:each_of_item>
        rank[m] = m * ${work_group_size} + l < many ? atomic_inc(&found[of[m]]) : 0;
    </%self:each_of_item>
    barrier(CLK_LOCAL_MEM_FENCE);
    // What is taken is not looked at before sums are there, so that nobody waits for it meanwhile.
    for (int m = 0; m < ${own_runs}; ++m) {
        const int k = m * ${work_group_size} + l;
        taken[m] = k < ${all_runs} && found[k] ? atomic_add(&(${cursors})[k], found[k]) : 0;
    }
    ${steps.sum_up()}
    for (int m = 0; m < ${own_runs}; ++m) {
        const int k = m * ${work_group_size} + l;
        if (k < ${all_runs}) places[k] = ${base} + taken[m] - (k ? found[k - 1] : 0);
    }
    <%self:each_of_item>
        if (m * ${work_group_size} + l < many) {
            const int slot = (of[m] ? found[of[m] - 1] : 0) + rank[m];
            held[slot] = mine[m];
            runs[slot] = (ushort)of[m];
        }
    </%self:each_of_item>
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = l; s < many; s += ${work_group_size}) sorted[places[runs[s]] + s] = held[s];
</%def>

// Points into the order of regions, and where regions and buckets start.
// Launch: a group for each tile of ${tile} points. In: points (n, dim); most: buckets that groups enter where there is nothing
// to do. In and out: counts (buckets + 2 * regions + 1,): of buckets, of regions, how many places of each region are taken,
// zero before, and how many buckets groups enter, or more than most. Out: starts (regions + 2,) of regions, and n, and whether there is
// anything to do; ends (buckets,): where each bucket starts; sorted (n,) records.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void sort_regions(const int n, const int shift, const int span, const int buckets, const int regions,
                  global const real *restrict points, ${cells.grid("")}, global int *restrict counts,
                  global int *restrict starts, global int *restrict ends, global frnn_record *restrict sorted,
                  const int most)
{
    ${memory_of_tile()}
    const int served = counts[buckets + 2 * regions] > most, l = get_local_id(0);
    if (get_global_id(0) == 0) starts[regions + 1] = served;
    if (!served) return;
    const int first_point = (int)get_group_id(0) * ${tile}, many = min(${tile}, n - first_point);
    real_vec some[${batch}];
    frnn_record mine[${batch}];
    int of[${batch}];
    <%self:each_of_item>
        some[m] = ${geometry.load("points", f"first_point + min(m * {work_group_size} + l, many - 1)")};
    </%self:each_of_item>
    // Behind the counts of the tile those of all points: summed up together, they tell where regions start.
    const int cells = 2 * regions;
    for (int k = l; k < cells; k += ${work_group_size}) found[k] = k < regions ? 0 : counts[buckets + k - regions];
    <%self:each_of_item>
        const int i = first_point + min(m * ${work_group_size} + l, many - 1);
        const real_vec p = some[m];
        ${cells.address("p")}
        of[m] = address >> (shift + span);
        mine[m] = ${steps.record("p")};
    </%self:each_of_item>
    ${write_tile("regions", "counts + (buckets + regions)", "found[regions + k - 1] - many")}
    // A region has few buckets, and items beside each other add up the same.
    for (int k = get_global_id(0); k < buckets; k += (int)get_global_size(0)) {
        int start = found[regions + (k >> span) - 1] - many;
        for (int b = k >> span << span; b < k; ++b) start += counts[b];
        ends[k] = start;
    }
    for (int k = get_global_id(0); k <= regions; k += (int)get_global_size(0)) starts[k] = found[regions + k - 1] - many;
}

// The records of each region into the order of its buckets.
// Launch: n / ${tile} groups, rounded down, and one more for each region, whose last tile is not full. In:
// starts (regions + 2,); records (n,) in the order of regions. In and out: ends (buckets,), where each bucket starts before
// and ends after. Out: sorted (n,) records; counts (buckets + 2 * regions + 1,), all but those of buckets at zero for the next
// time.
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
    // Region r has the groups from starts[r] / ${tile} + r on, up to those of the next: as many as it has tiles, or one more.
    for (int r = l; r < regions; r += ${work_group_size})
        if (t >= starts[r] / ${tile} + r && t <= starts[r + 1] / ${tile} + r) region_of_group = r;
    for (int k = l; k < 1 << span; k += ${work_group_size}) found[k] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    const int region = region_of_group, origin = region << span, cells = min(1 << span, buckets - origin);
    const int start = starts[region], all = starts[region + 1] - start;
    const int tile = t - (start / ${tile} + region), whole = all / ${tile};
    const int many = tile < whole ? ${tile} : tile == whole ? all % ${tile} : 0;
    const int first_record = many ? start + tile * ${tile} : 0;
    frnn_record mine[${batch}];
    int of[${batch}];
    <%self:each_of_item>
        mine[m] = records[first_record + min(m * ${work_group_size} + l, max(many - 1, 0))];
    </%self:each_of_item>
    <%self:each_of_item>
        const real_vec p = ${geometry.point_of("mine[m]")};
        ${cells.address("p")}
        of[m] = (address >> shift) - origin;
    </%self:each_of_item>
    ${write_tile("cells", "ends + origin", "0")}
}
