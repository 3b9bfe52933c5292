<%include file="/common/geometry.mako"/>
<%include file="/common/cell_coordinate.mako"/>
<%namespace name="bounds" file="/common/bounding_box.mako"/>
<%namespace name="cells" file="/grid/cells.mako"/>
<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="periodic_box" file="/common/periodic_images.mako"/>
<%namespace name="places" file="/common/point_layout.mako"/>
<%namespace name="steps" file="/grid/binning_steps.mako"/>
// Tiles of buckets in the order of cells, of records that `bucket_pass` and `region_pass` have sorted: for queries, of which
// nobody looks up where a cell starts. However many lie in one bucket, groups share them.
// Config fields used: dim, components, periodic, layout, work_group_size, tile, and room and slots, which follow from counters.
${periodic_box.numbers()}
// The first group of a bucket: each has as many as it has tiles, or one more.
int group_of(global const int *restrict ends, const int bucket)
{
    return (bucket ? ends[bucket - 1] : 0) / ${tile} + bucket;
}

// Launch: all / ${tile} groups, rounded down, and one more for each bucket, of no more cells than counters. In: ends (buckets,):
// where each bucket ends; records (all,) in the order of buckets; boxes (groups, 2 * dim + 1) of the rows. Out: sorted; counts
// (buckets,), zero for the next time; box (2 * dim + 1,) from place on.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void sort_tiles(const int all, const int shift, const int buckets, const int groups, ${cells.grid("")}, global const int *restrict ends,
                global const frnn_record *restrict records, global const real *restrict boxes, ${places.array("sorted")},
                global int *restrict counts, global real *restrict box, const int place)
{
    ${steps.counters_of_group()}
    local ushort sources[${tile}];
    local int chosen;
    const int l = get_local_id(0), group = get_group_id(0);
    // All items ask together between which buckets the group's own lies, then between which of these.
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
    ${steps.sum_up()}
    for (int t = l; t < held; t += ${work_group_size}) {
        const frnn_record record = records[from + t];
        const real_vec p = ${geometry.point_of("record")};
        ${cells.address("p")}
        sources[atomic_dec(&found[address - origin]) - 1] = (ushort)t;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = l; k < held; k += ${work_group_size}) {
        ${places.put_record("sorted", "all", "from + k", "records[from + sources[k]]")}
    }
    if (group == 0) {
        ${bounds.begin()}
        for (int g = l; g < groups; g += ${work_group_size}) {
            ${bounds.take_box("boxes", "g")}
        }
        ${bounds.fold(slots, "box + place", "0")}
    }
}
