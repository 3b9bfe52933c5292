<%include file="/common/geometry.mako"/>
<%namespace name="bounding_box" file="/common/bounding_box.mako"/>
<%namespace name="cell_coordinate" file="/domain/cell_coordinate.mako"/>
<%namespace name="cells" file="/methods/grid/cells.mako"/>
<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="periodic_images" file="/domain/periodic_images.mako"/>
<%namespace name="point_layout" file="/methods/point_layout.mako"/>
<%namespace name="binning_steps" file="/methods/grid/binning/binning_steps.mako"/>
// Sorts each tile of a bucket into cells. This serves queries, for which the starts of cells are not needed. Several groups
// share a bucket, so that a bucket with many queries takes no longer.
// Config fields used: dim, components, periodic, layout, work_group_size, tile; local_ints and slots, which follow from counters.
${cell_coordinate.functions(layout == "columns")}
${periodic_images.functions()}
// The first group of a bucket. A bucket has as many groups as it has tiles, or one more.
int group_of(global const int *restrict ends, const int bucket)
{
    return (bucket ? ends[bucket - 1] : 0) / ${tile} + bucket;
}

// Writes the records of each tile in the order of cells, and joins bounding boxes to that of all records.
// Launch: all / ${tile} groups of ${work_group_size}, rounded down, and one more for each bucket, which has no more
// cells than a group has counters.
// In: ends (buckets,): the end of each bucket; records (all,), in the order of buckets; boxes (groups, 2 * dim + 1).
// Out: sorted, in the layout of the config; counts (buckets,), cleared for the next step; box: from box_start on the
// bounding box of all records.
// Exact because a record is counted and written by the same address.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void sort_tiles(const int all, const int shift, const int buckets, const int groups, ${cells.grid("")}, global const int *restrict ends,
                global const frnn_record *restrict records, global const real *restrict boxes, ${point_layout.array("sorted")},
                global int *restrict counts, global real *restrict box, const int box_start)
{
    ${binning_steps.counters()}
    local ushort sources[${tile}];
    local int chosen;
    const int l = get_local_id(0), group = get_group_id(0);
    // The work-items search for the bucket of the group together: in each round they compare the starts of equal parts
    // of a range.
    int bucket = 0;
    for (int many = buckets; many > 1;) {
<% parts = max(2, work_group_size) %>\
        const int step = (many + ${parts - 1}) / ${parts};
        for (int part = l; part * step < many; part += ${work_group_size}) {
            const int first = bucket + part * step, behind = min(first + step, bucket + many);
            if (group_of(ends, first) <= group && (behind == bucket + many || group_of(ends, behind) > group)) chosen = first;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        many = min(step, bucket + many - chosen);
        bucket = chosen;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    const int from = (bucket ? ends[bucket - 1] : 0) + (group - group_of(ends, bucket)) * ${tile};
    const int held = clamp(ends[bucket] - from, 0, ${tile}), origin = bucket << shift, cells = held ? 1 << shift : 0;
    for (int k = l; k < cells; k += ${work_group_size}) found[k] = 0;
    if (l == 0 && group == group_of(ends, bucket)) counts[bucket] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int t = l; t < held; t += ${work_group_size}) {
        const frnn_record record = records[from + t];
        const real_vec p = ${geometry.point_of("record")};
        ${cells.address("p")}
        atomic_inc(&found[address - origin]);
    }
    ${binning_steps.sum_up()}
    for (int t = l; t < held; t += ${work_group_size}) {
        const frnn_record record = records[from + t];
        const real_vec p = ${geometry.point_of("record")};
        ${cells.address("p")}
        sources[atomic_dec(&found[address - origin]) - 1] = (ushort)t;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = l; k < held; k += ${work_group_size}) {
        ${point_layout.store_record("sorted", "all", "from + k", "records[from + sources[k]]")}
    }
    if (group == 0) {
        ${bounding_box.begin()}
        for (int g = l; g < groups; g += ${work_group_size}) {
            ${bounding_box.include_box("boxes", "g")}
        }
        ${bounding_box.reduce_and_store(slots, "box + box_start", "0")}
    }
}
