<%include file="geometry.cl.mako"/>
<%include file="coordinates.cl.mako"/>
<%namespace name="bounds" file="bounds.cl.mako"/>
<%namespace name="geometry" file="geometry.cl.mako"/>
<%namespace name="cells" file="cells.cl.mako"/>
<%namespace name="periodic_box" file="periodic.cl.mako"/>
// Sorting into a grid so coarse that a work-group counts all of its cells in local memory.
// Config fields used: dim, components, periodic, work_group_size, and room and slots, which follow from counters.
// Source: Groß, Köster, Krüger (2019), §3.1.
${periodic_box.numbers()}
<%def name="cell(p, turns)">
    // The cell that holds p, or in a periodic box its image at home; turns: where the numbers that find the image begin.
% for k, component in enumerate(components):
% if periodic:
    const real at${k} = ${p}${component} - (real)frnn_image(${p}${component}, images[${3 * dim + k}], images[${turns} * ${dim} + ${k}]) * images[${k}];
% else:
    const real at${k} = ${p}${component};
% endif
    const int lane${k} = frnn_cell(at${k}, low.s${k}, inverse.s${k}, foremost.s${k}, hindmost.s${k});
% endfor
    const int address = ${"(lane2 * shape.s1 + lane1)" if dim == 3 else "lane1"} * shape.s0 + lane0;
</%def>

<%def name="counters_of_group()">
    // Once they have been read, what items hand to each other takes their place.
    local int found[${room}], *const handed = found;
</%def>

<%def name="record(p)" filter="trim">
(frnn_record)(${p}.s0, ${p}.s1, ${f"{p}.s2" if dim == 3 else "0"}, FRNN_ID_LANE(i))
</%def>

// The points of each cell: counted in local memory first, then one atomic for each cell and group; and their box.
// Launch: any number of groups, which stride over the points. In: points (n, dim); of: the images of points at home are
// found by the numbers of the points (2) or of any position (1). In and out: counts (cells,), zero before.
// Out: boxes (groups, 2 * dim + 1): the low and high corners of finite points, the first other point as an id.
// Source: Algorithm 1.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void count_coarse(const int n, const int of, global const real *restrict points, ${cells.grid("")},
                  global int *restrict counts, global real *restrict boxes)
{
    ${counters_of_group()}
    ${bounds.begin()}
    const int many = shape.s0 * shape.s1 * shape.s2;
    for (int k = get_local_id(0); k < many; k += ${work_group_size}) found[k] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_global_id(0); i < n; i += get_global_size(0)) {
        const real_vec p = ${geometry.load("points", "i")};
        ${bounds.take("p.s", "i")}
        ${cell("p", "of")}
        atomic_inc(&found[address]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = get_local_id(0); k < many; k += ${work_group_size})
        if (found[k]) atomic_add(&counts[k], found[k]);
    ${bounds.fold(slots, "boxes", "(int)get_group_id(0)")}
}

// Where each cell starts, and where counters that fill it from both ends begin; and the box of all points.
// Launch: one group. In: boxes (groups, 2 * dim + 1). In and out: counts (cells,), the points of each cell before, where it
// ends after. Out: starts (cells + 1,), the total last; borders (cells,), the same; cleared (cells,), all zero; box
// (2 * dim + 1,) from place on.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void start_coarse(const int cells, const int groups, global int *restrict counts, global int *restrict starts,
                  global int *restrict borders, global int *restrict cleared, global const real *restrict boxes,
                  global real *restrict box, const int place)
{
    ${counters_of_group()}
    const int l = get_local_id(0);
    const int each = (cells + ${work_group_size - 1}) / ${work_group_size}, shares = (cells + each - 1) / each;
    const int begin = min(cells, l * each), end = min(cells, begin + each);
    for (int k = l; k < cells; k += ${work_group_size}) {
        found[k] = counts[k];
        cleared[k] = 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    // Each item sums up its share in place; then the last sums of the shares are summed up (Hillis and Steele).
    for (int k = begin + 1; k < end; ++k) found[k] += found[k - 1];
    for (int reach = 1; reach < shares; reach *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        const int before = l >= reach && begin < end ? found[(l - reach + 1) * each - 1] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (before) found[end - 1] += before;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const int first = l && begin < end ? found[begin - 1] : 0;
    if (l == 0) starts[cells] = found[cells - 1];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = end - 1; k > begin; --k) found[k] = first + found[k - 1];
    if (begin < end) found[begin] = first;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = l; k < cells; k += ${work_group_size}) {
        starts[k] = borders[k] = found[k];
        counts[k] += found[k];
    }
    ${bounds.begin()}
    for (int g = l; g < groups; g += ${work_group_size}) {
        ${bounds.take_box("boxes", "g")}
    }
    ${bounds.fold(slots, "box + place", "0")}
}

// Points into cell order, within each cell those first that another cell's queries may see: its border fills from the
// left, the rest from the right.
// Launch: one work-item per point. In: points (n, dim), of: as above, widest: the largest reach. In and out: borders
// (cells,), where each cell starts before, and counts (cells,), where it ends before: where its border ends after.
// Out: sorted (n,) records.
// The counters run towards each other, so nothing has to be taken off again while other groups still take places, as
// Algorithm 2 does it in print; and they are places, not numbers of points, so that nothing has to be added to them.
// Exact because x is in the border where the cell of x - widest or x + widest is another, by the function that gives a
// query its cell. Source: Algorithm 2.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void sort_coarse(const int n, const int of, const real widest, global const real *restrict points, ${cells.grid("")},
                 global int *restrict counts, global int *restrict borders, global frnn_record *restrict sorted)
{
    const int i = get_global_id(0);
    if (i >= n) return;
    const real_vec p = ${geometry.load("points", "i")};
    ${cell("p", "of")}
    int border = 0;
% for k in range(dim):
    {
        const real reach = ${periodic_box.widest(k, "widest", "images")};
        const int from = frnn_coordinate(at${k} - reach, low.s${k}, inverse.s${k});
        const int to = frnn_coordinate(at${k} + reach, low.s${k}, inverse.s${k});
% if periodic:
        const int first = lengths.s${k} > 0 ? from : foremost.s${k}, last = lengths.s${k} > 0 ? to : hindmost.s${k};
% else:
        const int first = foremost.s${k}, last = hindmost.s${k};
% endif
        border |= clamp(from, first, last) != lane${k} | clamp(to, first, last) != lane${k};
    }
% endfor
    // One instruction for both counters: work-items that go in step would otherwise take turns.
    const int place = atomic_add(border ? &borders[address] : &counts[address], border ? 1 : -1) - !border;
    sorted[place] = ${record("p")};
}

// The ids of the points in sorted order. Launch: one work-item per place. In: sorted (n,) records. Out: order (n,).
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void coarse_order(const int n, global const frnn_record *restrict sorted, global int *restrict order)
{
    const int t = get_global_id(0);
    if (t < n) order[t] = FRNN_LANE_ID(sorted[t].s3);
}
