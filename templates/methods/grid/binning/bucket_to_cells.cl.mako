<%include file="/common/geometry.mako"/>
<%namespace name="bounding_box" file="/common/bounding_box.mako"/>
<%namespace name="cell_coordinate" file="/domain/cell_coordinate.mako"/>
<%namespace name="cells" file="/methods/grid/cells.mako"/>
<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="periodic_images" file="/domain/periodic_images.mako"/>
<%namespace name="point_layout" file="/methods/point_layout.mako"/>
<%namespace name="binning_steps" file="/methods/grid/binning/binning_steps.mako"/>
// Sorts the points of each bucket into cells.
// Config fields used: dim, components, periodic, layout, work_group_size, tile; local_ints and slots, which follow from counters.
${cell_coordinate.functions(layout == "columns")}
${periodic_images.functions()}
<%def name="each_record()">
    for (int t = l; t < held; t += ${work_group_size}) {
        const frnn_record record = records[from + t];
        const real_vec p = ${geometry.point_of("record")};
        ${cells.address("p")}
        ${caller.body()}
    }
</%def>

// Writes the points of each bucket in the order of cells, and the start of each cell; and joins bounding boxes to that
// of all points.
// Launch: a group of ${work_group_size} for each bucket, which has no more cells than the group has counters.
// In: ends (buckets,): the end of each bucket; records (n,), in the order of buckets; boxes (groups, 2 * dim + 1). Out:
// starts (all + 1,) of all cells; sorted, n points in the layout of the config; counts (buckets,), cleared for the next
// step; box: from box_start on the bounding box of all points.
// Exact because a record is counted and written by the same address.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void fill_cells(const int n, const int shift, const int all, const int groups, ${cells.grid("")}, global const int *restrict ends,
                global const frnn_record *restrict records, global const real *restrict boxes, global int *restrict starts,
                ${point_layout.array("sorted")}, global int *restrict counts, global real *restrict box, const int box_start)
{
    ${binning_steps.counters()}
    // The positions of the bucket's records in the order of cells, so that neighboring work-items write neighboring
    // points: a GPU takes as long to write one record as to write the whole sector of memory.
    local ushort sources[${tile}];
    const int l = get_local_id(0), bucket = get_group_id(0), origin = bucket << shift;
    const int cells = min(1 << shift, all - origin);
    const int from = bucket ? ends[bucket - 1] : 0, held = ends[bucket] - from;
    for (int k = l; k < cells; k += ${work_group_size}) found[k] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    <%self:each_record>
        atomic_inc(&found[address - origin]);
    </%self:each_record>
    ${binning_steps.sum_up()}
    for (int k = l; k < cells; k += ${work_group_size}) starts[origin + k + 1] = from + found[k];
    if (l == 0) {
        counts[bucket] = 0;
        if (!bucket) starts[0] = 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const int staged = held <= ${tile} ? held : 0;
    <%self:each_record>
        const int slot = atomic_dec(&found[address - origin]) - 1;
        if (staged) {
            sources[slot] = (ushort)t;
        } else {
            ${point_layout.store_record("sorted", "n", "from + slot", "record")}
        }
    </%self:each_record>
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = l; k < staged; k += ${work_group_size}) {
        ${point_layout.store_record("sorted", "n", "from + k", "records[from + sources[k]]")}
    }
    if (bucket == 0) {
        ${bounding_box.begin()}
        for (int g = l; g < groups; g += ${work_group_size}) {
            ${bounding_box.include_box("boxes", "g")}
        }
        ${bounding_box.reduce_and_store(slots, "box + box_start", "0")}
    }
}
