<%include file="/common/geometry.mako"/>
<%include file="/common/cell_coordinate.mako"/>
<%namespace name="bounding_box" file="/common/bounding_box.mako"/>
<%namespace name="cells" file="/grid/cells.mako"/>
<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="periodic_images" file="/common/periodic_images.mako"/>
<%namespace name="point_layout" file="/common/point_layout.mako"/>
<%namespace name="binning_steps" file="/grid/binning_binning_steps.mako"/>
// The cells of buckets, as `buckets` sorts points into them.
// Config fields used: dim, components, periodic, layout, work_group_size, tile, and room and slots, which follow from counters.
${periodic_images.functions()}
${binning_steps.rooms()}
<%def name="each_record()">
    {
        // What the bucket had room for, then run by run what it had none for.
        int run = last, begin = opens, many = kept, housed = 1;
        for (int more = 1; more;) {
            for (int t = l; t < many; t += ${work_group_size}) {
                frnn_record record;
                if (housed) {
                    record = records[begin + t];
                } else {
                    const int i = homeless[begin + t];
                    const real_vec own = ${geometry.load("points", "i")};
                    record = ${binning_steps.record("own")};
                }
                const real_vec p = ${geometry.point_of("record")};
                ${cells.address("p")}
                ${caller.body()}
            }
            more = run;
            if (more) {
                const int3 its = vload3(run - 1, runs);
                run = its.s0, begin = its.s1, many = its.s2, housed = 0;
            }
        }
    }
</%def>

// Points into the order of cells, bucket by bucket, and where each cell starts; and the box of all points.
// Launch: one group for each bucket, of no more cells than counters. In: ends: where each bucket ends; records in the order
// of buckets, (n,), or where groups have shared buckets as room_of has them, and homeless, runs and counts as these groups leave
// them; points (n, dim); boxes (groups, 2 * dim + 1) of shares of the points. Out: starts (all + 1,), of all cells; sorted;
// counts, of buckets and of runs, zero for the next time; box (2 * dim + 1,) from place on.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void fill_cells(const int n, const int shift, const int all, const int groups, ${cells.grid("")}, global const int *restrict ends,
                global const frnn_record *restrict records, const int shared, global const int *restrict ends_before,
                global const int *restrict homeless, global const int *restrict runs, global const real *restrict points,
                global const real *restrict boxes, global int *restrict starts, ${point_layout.array("sorted")},
                global int *restrict counts, global real *restrict box, const int place)
{
    ${binning_steps.counters_of_group()}
    // Where the points of the bucket come from, in the order of cells, so that they are written one behind the other: a
    // record by itself takes the memory of GPUs as long as some of them.
    local ushort sources[${tile}];
    local int last;
    const int l = get_local_id(0), bucket = get_group_id(0), origin = bucket << shift;
    const int cells = min(1 << shift, all - origin);
    const int from = bucket ? ends[bucket - 1] : 0, to = ends[bucket];
    // Of a bucket whose room was too small some points are elsewhere, in runs that follow each other; the rest lies where it opens.
    const int opens = shared ? room_of(ends_before, bucket) : from, last_run = (int)get_num_groups(0) + 2 + bucket;
    const int spilled = shared && to - from > room_of(ends_before, bucket + 1) - opens;
    if (l == 0) last = spilled ? counts[last_run] : 0;
    for (int k = l; k < cells; k += ${work_group_size}) found[k] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    int kept = to - from;
    for (int run = last; run;) {
        const int3 its = vload3(run - 1, runs);
        run = its.s0, kept -= its.s2;
    }
    <%self:each_record>
        atomic_inc(&found[address - origin]);
    </%self:each_record>
    ${binning_steps.sum_up()}
    for (int k = l; k < cells; k += ${work_group_size}) starts[origin + k + 1] = from + found[k];
    if (l == 0) {
        counts[bucket] = 0;
        if (spilled) counts[last_run] = 0;
        if (!bucket) starts[0] = 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const int held = kept == to - from && kept <= ${tile} ? kept : 0;
    <%self:each_record>
        const int slot = atomic_dec(&found[address - origin]) - 1;
        if (held) {
            sources[slot] = (ushort)t;
        } else {
            ${point_layout.store_record("sorted", "n", "from + slot", "record")}
        }
    </%self:each_record>
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = l; k < held; k += ${work_group_size}) {
        ${point_layout.store_record("sorted", "n", "from + k", "records[opens + sources[k]]")}
    }
    if (bucket == 0) {
        ${bounding_box.begin()}
        for (int g = l; g < groups; g += ${work_group_size}) {
            ${bounding_box.include_box("boxes", "g")}
        }
        ${bounding_box.reduce_and_store(slots, "box + place", "0")}
    }
}
