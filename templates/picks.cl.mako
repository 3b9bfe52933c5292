<%include file="geometry.cl.mako"/>
<%include file="coordinates.cl.mako"/>
<%namespace name="bounds" file="bounds.cl.mako"/>
<%namespace name="cells" file="cells.cl.mako"/>
<%namespace name="geometry" file="geometry.cl.mako"/>
<%namespace name="periodic_box" file="periodic.cl.mako"/>
<%namespace name="places" file="places.cl.mako"/>
<%namespace name="steps" file="coarse_steps.cl.mako"/>
// Few points into the order of cells in one launch, as launches cost more than they do: every group reads all points,
// and picks those of its own bucket, the cells from bucket << shift on.
// Config fields used: dim, components, periodic, layout, work_group_size, batch, tile, spread, and room and slots, which follow
// from counters.
${periodic_box.numbers()}
<%def name="place_point(to)">
    {
        const real_vec p = ${geometry.load("points", "i")};
        ${cells.address("p")}
        ${to}[atomic_dec(&found[address - origin]) - 1] = i;
    }
</%def>

// Launch: one group for each bucket, of no more cells than counters. In: points (n, dim). Out: starts (all + 1,), of all
// cells; sorted; box (2 * dim + 1,) of the points from place on.
// Exact because a group counts the points of lower buckets, too, so that it knows where its own begin.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void pick_cells(const int n, const int shift, const int all, global const real *restrict points, ${cells.grid("")},
                global int *restrict starts, ${places.array("sorted")}, global real *restrict box, const int place)
{
    ${steps.counters_of_group()}
    // The points of the bucket as they are met, and in the order of cells; counts of lower ones, by many counters, as
    // all items add to them.
    local int picked[${tile}], sources[${tile}], lower[${spread}], met;
    const int l = get_local_id(0), stride = ${work_group_size}, bucket = get_group_id(0), origin = bucket << shift;
    const int cells = min(1 << shift, all - origin);
    for (int k = l; k < cells; k += stride) found[k] = 0;
    for (int k = l; k < ${spread}; k += stride) lower[k] = 0;
    if (l == 0) met = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    ${bounds.begin()}
    int below = 0;
    <%steps:each_point batch="${batch}" first="l">
        if (bucket == 0) {
            ${bounds.take("p.s", "i")}
        }
        ${cells.address("p")}
        const int its = address >> shift;
        below += its < bucket;
        if (its == bucket) {
            atomic_inc(&found[address - origin]);
            const int turn = atomic_inc(&met);
            if (turn < ${tile}) picked[turn] = i;
        }
    </%steps:each_point>
    if (below) atomic_add(&lower[l % ${spread}], below);
    ${steps.sum_up()}
    int from = 0;
    for (int k = 0; k < ${spread}; ++k) from += lower[k];
    for (int k = l; k < cells; k += stride) starts[origin + k + 1] = from + found[k];
    if (l == 0 && bucket == 0) starts[0] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    // Written one behind the other where there is room for the order of them; else all points are gone through again.
    const int held = met <= ${tile} ? met : 0, again = met <= ${tile} ? 0 : n;
    for (int t = l; t < held; t += stride) {
        const int i = picked[t];
        ${place_point("sources")}
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int t = l; t < held; t += stride) {
        const int i = sources[t];
        const real_vec p = ${geometry.load("points", "i")};
        ${places.put("sorted", "n", "from + t", "p", "i")}
    }
    <%steps:each_point batch="${batch}" first="l" n="again">
        ${cells.address("p")}
        if (address >> shift == bucket) {
            const int slot = from + atomic_dec(&found[address - origin]) - 1;
            ${places.put("sorted", "n", "slot", "p", "i")}
        }
    </%steps:each_point>
    if (bucket == 0) {
        ${bounds.fold(slots, "box + place", "0")}
    }
}
