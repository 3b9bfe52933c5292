<%include file="/common/geometry.mako"/>
<%include file="/common/cell_coordinate.mako"/>
<%namespace name="bounds" file="/common/bounding_box.mako"/>
<%namespace name="cells" file="/grid/cells.mako"/>
<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="periodic_box" file="/common/periodic_images.mako"/>
<%namespace name="places" file="/common/point_layout.mako"/>
<%namespace name="steps" file="/grid/binning_steps.mako"/>
// The cells of buckets, whose records `bucket_pass` and `region_pass` have sorted.
// Config fields used: dim, components, periodic, layout, work_group_size, tile, and room and slots, which follow from counters.
${periodic_box.numbers()}
<%def name="each_record()">
    for (int t = l; t < held; t += ${work_group_size}) {
        const frnn_record record = records[from + t];
        const real_vec p = ${geometry.point_of("record")};
        ${cells.address("p")}
        ${caller.body()}
    }
</%def>

// Points into the order of cells, bucket by bucket, and where each cell starts; and the box of all points.
// Launch: one group for each bucket, of no more cells than counters. In: ends (buckets,): where each bucket ends; records (n,)
// in the order of buckets; boxes (groups, 2 * dim + 1) of shares of the points. Out: starts (all + 1,), of all cells; sorted;
// counts (buckets,), zero for the next time; box (2 * dim + 1,) from place on.
// Exact because a record is counted and placed by the same address.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void fill_cells(const int n, const int shift, const int all, const int groups, ${cells.grid("")}, global const int *restrict ends,
                global const frnn_record *restrict records, global const real *restrict boxes, global int *restrict starts,
                ${places.array("sorted")}, global int *restrict counts, global real *restrict box, const int place)
{
    ${steps.counters_of_group()}
    // Where the points of the bucket come from, in the order of cells, so that they are written one behind the other: a
    // record by itself takes the memory of GPUs as long as some of them.
    local ushort sources[${tile}];
    const int l = get_local_id(0), bucket = get_group_id(0), origin = bucket << shift;
    const int cells = min(1 << shift, all - origin);
    const int from = bucket ? ends[bucket - 1] : 0, held = ends[bucket] - from;
    for (int k = l; k < cells; k += ${work_group_size}) found[k] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    <%self:each_record>
        atomic_inc(&found[address - origin]);
    </%self:each_record>
    ${steps.sum_up()}
    for (int k = l; k < cells; k += ${work_group_size}) starts[origin + k + 1] = from + found[k];
    if (l == 0) {
        counts[bucket] = 0;
        if (!bucket) starts[0] = 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const int ordered = held <= ${tile} ? held : 0;
    <%self:each_record>
        const int slot = atomic_dec(&found[address - origin]) - 1;
        if (ordered) {
            sources[slot] = (ushort)t;
        } else {
            ${places.put_record("sorted", "n", "from + slot", "record")}
        }
    </%self:each_record>
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = l; k < ordered; k += ${work_group_size}) {
        ${places.put_record("sorted", "n", "from + k", "records[from + sources[k]]")}
    }
    if (bucket == 0) {
        ${bounds.begin()}
        for (int g = l; g < groups; g += ${work_group_size}) {
            ${bounds.take_box("boxes", "g")}
        }
        ${bounds.fold(slots, "box + place", "0")}
    }
}
