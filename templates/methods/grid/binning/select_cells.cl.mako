<%include file="/common/geometry.mako"/>
<%namespace name="bounding_box" file="/common/bounding_box.mako"/>
<%namespace name="cell_coordinate" file="/domain/cell_coordinate.mako"/>
<%namespace name="cells" file="/methods/grid/cells.mako"/>
<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="periodic_images" file="/domain/periodic_images.mako"/>
<%namespace name="lattice" file="/domain/lattice.mako"/>\
<%namespace name="point_layout" file="/methods/point_layout.mako"/>
<%namespace name="binning_steps" file="/methods/grid/binning/binning_steps.mako"/>
// Sorts few points into cells in one launch, because launches would take longer than the sort.
// Config fields used: dim, components, periodic, layout, work_group_size, batch, tile, spread; local_ints and slots, which
// follow from counters.
${cell_coordinate.functions(layout == "columns")}
${periodic_images.functions()}
<%def name="store_point()">
        const real_vec p = ${geometry.load("points", "i")};
        ${cells.address("p")}
        if (address >> shift == bucket) {
            const int slot = from + atomic_dec(&found[address - origin]) - 1;
            ${point_layout.store("sorted", "n", "slot", "p", "i")}
        }
</%def>

// Writes the points of each bucket in the order of cells: every group reads all points and selects those of its own bucket,
// which is the cells from address bucket << shift on. For most points one coordinate decides that they belong elsewhere.
// Launch: a group of ${work_group_size} for each bucket, which has no more cells than the group has counters; and one for the
// bounding box.
// In: points (n, dim). Out: starts (all + 1,) of all cells; sorted, n points in the layout of the config; box: from box_start
// on the bounding box of the points.
// Exact because each group also counts the points of lower buckets, whose number is the start of its own bucket.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void select_cells(const int n, const int shift, const int all, global const real *restrict points, ${cells.grid("")},
                  global int *restrict starts, ${point_layout.array("sorted")}, global real *restrict box, const int box_start)
{
    ${binning_steps.counters()}
    // The numbers of the bucket's points. The points of lower buckets have many counters, because all work-items add to them.
    local int selected[${tile}], lower[${spread}], many;
    const int l = get_local_id(0), stride = ${work_group_size}, bucket = get_group_id(0), origin = bucket << shift;
    const int selects = bucket < (int)get_num_groups(0) - 1, looked = selects ? n : 0;
    const int cells = selects ? min(1 << shift, all - origin) : 0;
    for (int k = l; k < cells; k += stride) found[k] = 0;
    for (int k = l; k < ${spread}; k += stride) lower[k] = 0;
    if (l == 0) many = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    ${bounding_box.begin()}
    <%binning_steps:each_point batch="${batch}" first="l" n="(n - looked)">
        ${bounding_box.include_point(lattice.placed("p", "images") + ".s", "i")}
    </%binning_steps:each_point>
    // A work-item reads 64 points at a time and sets a bit for each point in a row of cells that the bucket has a part
    // of. The other points belong to other buckets.
    const int of_row = ${"shape.s1 * shape.s0" if dim == 3 else "shape.s0"}, first_row = origin / of_row, last_row = (origin + cells - 1) / of_row;
    int below = 0;
    for (int begin = 0; begin < looked; begin += 64 * stride) {
        ulong near = 0, bit = 1;
        <%binning_steps:each_point batch="${batch}" first="(begin + l)" n="min(looked, begin + 64 * stride)">
            ${cells.row("p")}
            below += row < first_row;
            near |= ((row >= first_row) & (row <= last_row)) ? bit : 0;
            bit <<= 1;
        </%binning_steps:each_point>
        for (; near; near &= near - 1) {
            const int i = begin + l + (63 - (int)clz(near & -near)) * stride;
            const real_vec p = ${geometry.load("points", "i")};
            ${cells.address("p")}
            const int its = address >> shift;
            below += its < bucket;
            if (its == bucket) {
                atomic_inc(&found[address - origin]);
                const int slot = atomic_inc(&many);
                if (slot < ${tile}) selected[slot] = i;
            }
        }
    }
    if (below) atomic_add(&lower[l % ${spread}], below);
    ${binning_steps.sum_up()}
    int from = 0;
    for (int k = 0; k < ${spread}; ++k) from += lower[k];
    for (int k = l; k < cells; k += stride) starts[origin + k + 1] = from + found[k];
    if (l == 0 && bucket == 0) starts[0] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    // If the numbers of the bucket's points do not fit, all points are read again.
    const int held = many <= ${tile} ? many : 0, again = many <= ${tile} ? 0 : looked;
    for (int t = l; t < held; t += stride) {
        const int i = selected[t];
        ${store_point()}
    }
    for (int i = l; i < again; i += stride) {
        ${store_point()}
    }
    if (!selects) {
        ${bounding_box.reduce_and_store(slots, "box + box_start", "0")}
    }
}
