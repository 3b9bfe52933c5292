<%include file="/common/geometry.mako"/>
<%include file="/common/cell_coordinate.mako"/>
<%namespace name="bounds" file="/common/bounding_box.mako"/>
<%namespace name="cells" file="/grid/cells.mako"/>
<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="periodic_box" file="/common/periodic_images.mako"/>
<%namespace name="places" file="/common/point_layout.mako"/>
<%namespace name="steps" file="/grid/binning_steps.mako"/>
// Few points into the order of cells in one launch, as launches cost more than they do: every group reads all points,
// and selects those of its own bucket, the cells from bucket << shift on. One coordinate decides for most points.
// Config fields used: dim, components, periodic, layout, work_group_size, batch, tile, spread, and room and slots, which follow
// from counters.
${periodic_box.numbers()}
<%def name="put_point()">
        const real_vec p = ${geometry.load("points", "i")};
        ${cells.address("p")}
        if (address >> shift == bucket) {
            const int slot = from + atomic_dec(&found[address - origin]) - 1;
            ${places.put("sorted", "n", "slot", "p", "i")}
        }
</%def>

// Launch: one group for each bucket, of no more cells than counters, and one for the box. In: points (n, dim). Out: starts
// (all + 1,), of all cells; sorted; box (2 * dim + 1,) of the points from place on.
// Exact because a group counts the points of lower buckets, too, so that it knows where its own begin.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void select_cells(const int n, const int shift, const int all, global const real *restrict points, ${cells.grid("")},
                  global int *restrict starts, ${places.array("sorted")}, global real *restrict box, const int place)
{
    ${steps.counters_of_group()}
    // The points of the bucket as they are met; counts of lower ones, by many counters, as all items add to them.
    local int selected[${tile}], lower[${spread}], met;
    const int l = get_local_id(0), stride = ${work_group_size}, bucket = get_group_id(0), origin = bucket << shift;
    const int selects = bucket < (int)get_num_groups(0) - 1, looked = selects ? n : 0;
    const int cells = selects ? min(1 << shift, all - origin) : 0;
    for (int k = l; k < cells; k += stride) found[k] = 0;
    for (int k = l; k < ${spread}; k += stride) lower[k] = 0;
    if (l == 0) met = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    ${bounds.begin()}
    <%steps:each_point batch="${batch}" first="l" n="(n - looked)">
        ${bounds.take("p.s", "i")}
    </%steps:each_point>
    // As many points at a time as an item has bits, one for each in a row of cells that the bucket has a part of; others are
    // in other buckets.
    const int of_row = ${"shape.s1 * shape.s0" if dim == 3 else "shape.s0"}, first_row = origin / of_row, last_row = (origin + cells - 1) / of_row;
    int below = 0;
    for (int begin = 0; begin < looked; begin += 64 * stride) {
        ulong near = 0, bit = 1;
        <%steps:each_point batch="${batch}" first="(begin + l)" n="min(looked, begin + 64 * stride)">
            ${cells.row("p")}
            below += row < first_row;
            near |= ((row >= first_row) & (row <= last_row)) ? bit : 0;
            bit <<= 1;
        </%steps:each_point>
        for (; near; near &= near - 1) {
            const int i = begin + l + (63 - (int)clz(near & -near)) * stride;
            const real_vec p = ${geometry.load("points", "i")};
            ${cells.address("p")}
            const int its = address >> shift;
            below += its < bucket;
            if (its == bucket) {
                atomic_inc(&found[address - origin]);
                const int turn = atomic_inc(&met);
                if (turn < ${tile}) selected[turn] = i;
            }
        }
    }
    if (below) atomic_add(&lower[l % ${spread}], below);
    ${steps.sum_up()}
    int from = 0;
    for (int k = 0; k < ${spread}; ++k) from += lower[k];
    for (int k = l; k < cells; k += stride) starts[origin + k + 1] = from + found[k];
    if (l == 0 && bucket == 0) starts[0] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    // Where there was no room for the numbers of all of them, all points are gone through again.
    const int held = met <= ${tile} ? met : 0, again = met <= ${tile} ? 0 : looked;
    for (int t = l; t < held; t += stride) {
        const int i = selected[t];
        ${put_point()}
    }
    for (int i = l; i < again; i += stride) {
        ${put_point()}
    }
    if (!selects) {
        ${bounds.fold(slots, "box + place", "0")}
    }
}
