<%include file="/common/geometry.mako"/>
<%include file="/common/cell_coordinate.mako"/>
<%namespace name="bounding_box" file="/common/bounding_box.mako"/>
<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="cells" file="/grid/cells.mako"/>
<%namespace name="periodic_images" file="/common/periodic_images.mako"/>
<%namespace name="point_layout" file="/common/point_layout.mako"/>
<%namespace name="binning_steps" file="/grid/binning_steps.mako"/>
// Sorting into a grid so coarse that a work-group counts all of its cells in local memory.
// Config fields used: dim, components, periodic, work_group_size, batch, spread, and room and slots, which follow from
// counters.
// Source: Groß, Köster, Krüger (2019), §3.1.
${periodic_images.functions()}

// The points of each cell, and those of them that cells of other layers see, layers being cells with one place on the last
// axis: counted in local memory first, in the halves of a number, then one atomic for each cell and group; and their box.
// Launch: any number of groups, which stride over the points, so many that none counts more than 65,535. In: points
// (n, dim); of: the images of points at home are found by the numbers of the points (2) or of any position (1); widest:
// the largest reach. In and out: counts (2, cells), zero before. Out: boxes (groups, 2 * dim + 1): the low and high
// corners of finite points, the first other point as an id.
// Source: Algorithm 1.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void count_coarse(const int n, const int of, const real widest, global const real *restrict points, ${cells.grid("")},
                  global int *restrict counts, global real *restrict boxes)
{
    ${binning_steps.counters_of_group()}
    ${bounding_box.begin()}
    const int many = shape.s0 * shape.s1 * shape.s2, stride = get_global_size(0);
    for (int k = get_local_id(0); k < many; k += ${work_group_size}) found[k] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    <%binning_steps:each_point batch="${batch}">
        ${bounding_box.include_point("p.s", "i")}
        ${binning_steps.cell("p", "of")}
        ${binning_steps.show([dim - 1])}
        atomic_add(&found[address], 1 + (shown${dim - 1} << 16));
    </%binning_steps:each_point>
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = get_local_id(0); k < many; k += ${work_group_size}) {
        const uint counted = found[k];
        if (counted) atomic_add(&counts[k], (int)(counted & 65535));
        if (counted >> 16) atomic_add(&counts[many + k], (int)(counted >> 16));
    }
    ${bounding_box.reduce_and_store(slots, "boxes", "(int)get_group_id(0)")}
}

// Where each cell ends, and where the counters begin that fill its sections; and the box of all points.
// Launch: one group. In: boxes (groups, 2 * dim + 1). In and out: counts (2, cells), zero after. Out: sections (cells, 3):
// where the points for other layers begin, the rest of the border begins, and the cell ends; inner (cells, spread):
// first of each ${spread} where the cell ends, too; box (2 * dim + 1,) from place on.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void start_coarse(const int cells, const int groups, global int *restrict counts, global int *restrict sections,
                  global int *restrict inner, global const real *restrict boxes, global real *restrict box, const int place)
{
    ${binning_steps.counters_of_group()}
    const int l = get_local_id(0);
    for (int k = l; k < cells; k += ${work_group_size}) {
        found[k] = counts[k];
        counts[k] = 0;
    }
    ${binning_steps.sum_up()}
    for (int k = l; k < cells; k += ${work_group_size}) {
        const int start = k ? found[k - 1] : 0;
        sections[3 * k] = start;
        sections[3 * k + 1] = start + counts[cells + k];
        sections[3 * k + 2] = inner[${spread} * k] = found[k];
        counts[cells + k] = 0;
    }
    ${bounding_box.begin()}
    for (int g = l; g < groups; g += ${work_group_size}) {
        ${bounding_box.include_box("boxes", "g")}
    }
    ${bounding_box.reduce_and_store(slots, "box + place", "0")}
}

// Points into cell order, within each cell first those that cells of other layers may see, then the rest of the border,
// which other cells of the layer may see, from the left; the others from the right.
// Launch: one work-item per point. In: points (n, dim), of, widest: as above. In and out: sections (cells, 3), where the
// points for other layers, the rest of the border and the next cell begin before: where they end and the cell ends after;
// inner (cells, spread), where each cell ends before. Out: sorted (n,) records.
// Counters run towards each other, so nothing has to be taken off again while other groups still take places, as
// Algorithm 2 does it in print; and they are places, not numbers of points, so that nothing has to be added to them.
// Exact because x is in the border where the cell of x - widest or x + widest is another. Source: Algorithm 2, which has
// one border section; cells of the next layers, two thirds of all neighbors, go through a part of it here.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void sort_coarse(const int n, const int of, const real widest, global const real *restrict points, ${cells.grid("")},
                 global int *restrict sections, global int *restrict inner, global frnn_record *restrict sorted)
{
    const int i = get_global_id(0);
    if (i >= n) return;
    const real_vec p = ${geometry.load("points", "i")};
    ${binning_steps.cell("p", "of")}
    ${binning_steps.show(range(dim))}
    const int border = ${" | ".join(f"shown{k}" for k in range(dim))};
    // One instruction for all counters: work-items that go in step would otherwise take turns.
    global int *const counter = border ? &sections[3 * address + !shown${dim - 1}] : &inner[${spread} * address];
    const int place = atomic_add(counter, border ? 1 : -1) - !border;
    sorted[place] = ${binning_steps.record("p")};
}

// All of this at once, for points so few that launches cost more than they do.
// Launch: one group. In: as above, the cells being at most a third of the counters. Out: sections, sorted, box as above.
// Smaller batches: with more registers groups would be smaller, and a compiler for CPUs dies of eight in 3D.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void place_coarse(const int n, const int of, const real widest, global const real *restrict points, ${cells.grid("")},
                  global int *restrict sections, global frnn_record *restrict sorted, global real *restrict box,
                  const int place)
{
    // Of each cell: its points, then where the others begin, from the right; those that other layers see; and the rest of
    // the border.
    ${binning_steps.counters_of_group()}
    ${bounding_box.begin()}
    const int l = get_local_id(0), cells = shape.s0 * shape.s1 * shape.s2, stride = ${work_group_size};
    local int *const layers = found + cells, *const rests = layers + cells;
    for (int k = l; k < 2 * cells; k += ${work_group_size}) found[k] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    <%binning_steps:each_point batch="${min(batch, 4)}">
        ${bounding_box.include_point("p.s", "i")}
        ${binning_steps.cell("p", "of")}
        ${binning_steps.show([dim - 1])}
        atomic_inc(&found[address]);
        if (shown${dim - 1}) atomic_inc(&layers[address]);
    </%binning_steps:each_point>
    ${binning_steps.sum_up()}
    for (int k = l; k < cells; k += ${work_group_size}) {
        const int start = k ? found[k - 1] : 0;
        rests[k] = start + layers[k];
        layers[k] = start;
        sections[3 * k + 2] = found[k];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    <%binning_steps:each_point batch="${min(batch, 4)}">
        ${binning_steps.cell("p", "of")}
        ${binning_steps.show(range(dim))}
        const int border = ${" | ".join(f"shown{k}" for k in range(dim))};
        local int *const counter = !border ? found : shown${dim - 1} ? layers : rests;
        const int slot = atomic_add(&counter[address], border ? 1 : -1) - !border;
        sorted[slot] = ${binning_steps.record("p")};
    </%binning_steps:each_point>
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = l; k < cells; k += ${work_group_size}) {
        sections[3 * k] = layers[k];
        sections[3 * k + 1] = rests[k];
    }
    ${bounding_box.reduce_and_store(slots, "box + place", "0")}
}

${point_layout.read_back_kernels()}
