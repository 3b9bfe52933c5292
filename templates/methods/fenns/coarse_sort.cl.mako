<%include file="/common/geometry.mako"/>
<%namespace name="bounding_box" file="/common/bounding_box.mako"/>
<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="cell_coordinate" file="/domain/cell_coordinate.mako"/>
<%namespace name="cells" file="/methods/grid/cells.mako"/>
<%namespace name="periodic_images" file="/domain/periodic_images.mako"/>
<%namespace name="lattice" file="/domain/lattice.mako"/>\
<%namespace name="point_layout" file="/methods/point_layout.mako"/>
<%namespace name="binning_steps" file="/methods/grid/binning/binning_steps.mako"/>
// Sorts points into a grid so coarse that a work-group counts all of its cells in local memory. The border of a cell is
// the points that queries in other cells may see. A layer is the cells with one index on the last axis.
// Config fields used: dim, components, periodic, layout, work_group_size, batch, spread; local_ints and slots, which follow
// from counters.
// Source: Groß, Köster, Krüger (2019), §3.1.
${cell_coordinate.functions(False)}
${periodic_images.functions()}

// Counts the points of each cell, and those of them that other layers see; and finds the bounding box of the points. A group
// counts in local memory, both numbers in the halves of one int, and then adds its counts to those of all groups.
// Launch: any number of groups of ${work_group_size}, which stride over the points; none counts more than 65,535 points.
// In: points (n, dim); inverse_row: the row of images with the inverse lengths to use, 2 for points and 1 for any position;
// widest: the largest reach. In and out: counts (2, cells), zero before. Out: boxes (groups, 2 * dim + 1): the low and the high
// corner of the finite points of each group, and its first point that is not finite.
// Source: Algorithm 1.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void count_coarse(const int n, const int inverse_row, const real widest, global const real *restrict points, ${cells.grid("")},
                  global int *restrict counts, global real *restrict boxes)
{
    ${binning_steps.counters()}
    ${bounding_box.begin()}
    const int many = shape.s0 * shape.s1 * shape.s2, stride = get_global_size(0);
    for (int k = get_local_id(0); k < many; k += ${work_group_size}) found[k] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    <%binning_steps:each_point batch="${batch}">
        ${bounding_box.include_point(lattice.placed("p", "images") + ".s", "i")}
        ${binning_steps.cell("p", "inverse_row")}
        ${binning_steps.seen_from_other_cells([dim - 1])}
        atomic_add(&found[address], 1 + (seen${dim - 1} << 16));
    </%binning_steps:each_point>
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = get_local_id(0); k < many; k += ${work_group_size}) {
        const uint counted = found[k];
        if (counted) atomic_add(&counts[k], (int)(counted & 65535));
        if (counted >> 16) atomic_add(&counts[many + k], (int)(counted >> 16));
    }
    ${bounding_box.reduce_and_store(slots, "boxes", "(int)get_group_id(0)")}
}

// Computes where each cell ends and where each of its sections is filled from; and joins bounding boxes to that of all points.
// Launch: one group of ${work_group_size}.
// In: boxes (groups, 2 * dim + 1). In and out: counts (2, cells), cleared for the next step. Out: sections (cells, 3): where
// the points that other layers see begin, where the rest of the border begins, and where the cell ends; inner (cells, spread):
// the first element of each row is the end of the cell as well; box: from box_start on the bounding box of all points.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void start_coarse(const int cells, const int groups, global int *restrict counts, global int *restrict sections,
                  global int *restrict inner, global const real *restrict boxes, global real *restrict box, const int box_start)
{
    ${binning_steps.counters()}
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
    ${bounding_box.reduce_and_store(slots, "box + box_start", "0")}
}

// Writes points in the order of cells. In each cell come first the points that other layers may see, then the rest of the
// border, which other cells of the layer may see; both are filled from the left, and the other points from the right.
// Launch: one work-item per point, groups of ${work_group_size}.
// In: points (n, dim); inverse_row and widest as above. In and out: sections (cells, 3): where the points that other layers
// see, the rest of the border and the next cell begin before; where the first two end and the cell ends after; inner (cells,
// spread): the end of each cell before. Out: sorted (n,), records.
// The counters are positions that run towards each other, so that nothing is added or subtracted while other groups still use
// them, as in Algorithm 2.
// Exact because x is in the border where the cell of x - widest or of x + widest is another than that of x.
// Source: Algorithm 2, which has one border section. Here queries in other layers, two thirds of all neighboring cells, read
// only a part of the border.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void sort_coarse(const int n, const int inverse_row, const real widest, global const real *restrict points, ${cells.grid("")},
                 global int *restrict sections, global int *restrict inner, global frnn_record *restrict sorted)
{
    const int i = get_global_id(0);
    if (i >= n) return;
    const real_vec p = ${geometry.load("points", "i")};
    ${lattice.choose_table("", "i")}
    ${binning_steps.cell("p", "inverse_row")}
    ${binning_steps.seen_from_other_cells(range(dim))}
    const int border = ${" | ".join(f"seen{k}" for k in range(dim))};
    // One instruction serves all counters, because work-items in lockstep would run two instructions one after the other.
    global int *const counter = border ? &sections[3 * address + !seen${dim - 1}] : &inner[${spread} * address];
    const int place = atomic_add(counter, border ? 1 : -1) - !border;
    sorted[place] = ${binning_steps.record("p")};
}

// Counts and writes few points as the kernels above do, in one launch, because three launches would take longer than the work.
// Launch: one group of ${work_group_size}.
// In: points (n, dim), inverse_row and widest as above; there are at most a third as many cells as counters. Out: sections
// (cells, 3), sorted (n,), box as above.
// Batches are smaller here: the group would be smaller with more registers, and a compiler for CPUs crashes at eight points in
// 3D.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void place_coarse(const int n, const int inverse_row, const real widest, global const real *restrict points, ${cells.grid("")},
                  global int *restrict sections, global frnn_record *restrict sorted, global real *restrict box,
                  const int box_start)
{
    // Three counters for each cell: its points, and later the end of those outside the border; the points that other
    // layers see; and the rest of the border.
    ${binning_steps.counters()}
    ${bounding_box.begin()}
    const int l = get_local_id(0), cells = shape.s0 * shape.s1 * shape.s2, stride = ${work_group_size};
    local int *const layers = found + cells, *const rests = layers + cells;
    for (int k = l; k < 2 * cells; k += ${work_group_size}) found[k] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    <%binning_steps:each_point batch="${min(batch, 4)}">
        ${bounding_box.include_point(lattice.placed("p", "images") + ".s", "i")}
        ${binning_steps.cell("p", "inverse_row")}
        ${binning_steps.seen_from_other_cells([dim - 1])}
        atomic_inc(&found[address]);
        if (seen${dim - 1}) atomic_inc(&layers[address]);
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
        ${binning_steps.cell("p", "inverse_row")}
        ${binning_steps.seen_from_other_cells(range(dim))}
        const int border = ${" | ".join(f"seen{k}" for k in range(dim))};
        local int *const counter = !border ? found : seen${dim - 1} ? layers : rests;
        const int slot = atomic_add(&counter[address], border ? 1 : -1) - !border;
        sorted[slot] = ${binning_steps.record("p")};
    </%binning_steps:each_point>
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = l; k < cells; k += ${work_group_size}) {
        sections[3 * k] = layers[k];
        sections[3 * k + 1] = rests[k];
    }
    ${bounding_box.reduce_and_store(slots, "box + box_start", "0")}
}

${point_layout.read_back_kernels()}
