## Defines the kernels that sort points into cells, by counting or by sorting.
## In scope: what including /methods/grid/cells.mako defines.
## Config fields used: dim, components, layout, work_group_size.
<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="cells" file="/methods/grid/cells.mako"/>
<%namespace name="lattice" file="/domain/lattice.mako"/>\
<%namespace name="point_layout" file="/methods/point_layout.mako"/>
<%def name="kernels()">
// Counts the points of each cell. The count before a point is added is the rank of the point in its cell.
// Launch: one work-item per point, groups of ${work_group_size}.
// In: points (n, dim). In and out: counts (cells,), zero before. Out: addresses, ranks (n,).
// Source: Hoetzlein (2014), counting sort.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void count_cells(const int n, global const real *restrict points, ${cells.grid("")},
                 global int *restrict counts, global int *restrict addresses,
                 global int *restrict ranks)
{
    const int i = get_global_id(0);
    if (i >= n) return;
    const real_vec p = ${geometry.load("points", "i")};
    ${lattice.choose_table("", "i")}
    ${cells.own_grid("")}
    ${cells.address("p")}
    addresses[i] = address;
    ranks[i] = atomic_inc(&counts[address]);
}

// Writes the number of each point to the place that the point's cell and rank give.
// Launch: one work-item per point, groups of ${work_group_size}.
// In: starts (cells + 1,), addresses, ranks (n,). Out: order (n,), the number of the point at each place.
// Numbers are scattered and points are then gathered, because a scattered write costs more than a scattered read.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void order_points(const int n, global const int *restrict addresses, global const int *restrict ranks,
                  global const int *restrict starts, global int *restrict order)
{
    const int i = get_global_id(0);
    if (i < n) order[starts[addresses[i]] + ranks[i]] = i;
}

// Computes the sort key of each point, which is the address of its cell.
// Launch: one work-item per point, groups of ${work_group_size}.
// In: points (n, dim). Out: keys (n,).
// Source: Green (2010), grid by sorting.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void cell_keys(const int n, global const real *restrict points, ${cells.grid("")},
               global uint *restrict keys)
{
    const int i = get_global_id(0);
    if (i >= n) return;
    const real_vec p = ${geometry.load("points", "i")};
    ${lattice.choose_table("", "i")}
    ${cells.own_grid("")}
    ${cells.address("p")}
    keys[i] = address;
}

// Finds the start of each cell among the sorted keys: the first place whose key is not below the cell's address.
// Launch: one work-item per cell and one more, groups of ${work_group_size}.
// In: keys (n,), ascending. Out: starts (cells + 1,).
// Each cell searches, while in Green (2010) points write the starts of cells: no work-item waits for a run of empty cells.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void cell_starts(const int n, const int cells, global const uint *restrict keys, global int *restrict starts)
{
    const int cell = get_global_id(0);
    if (cell > cells) return;
    int from = 0, to = n;
    while (from < to) {
        const int middle = from + (to - from) / 2;
        if (keys[middle] < (uint)cell) from = middle + 1; else to = middle;
    }
    starts[cell] = from;
}

// Copies points into search order.
// Launch: one work-item per place, groups of ${work_group_size}.
// In: points (n, dim), order (n,). Out: sorted, n points in the layout of the config.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void gather_points(const int n, global const real *restrict points, global const int *restrict order,
                   ${point_layout.array("sorted")})
{
    const int t = get_global_id(0);
    if (t >= n) return;
    const int i = order[t];
    const real_vec p = ${geometry.load("points", "i")};
${point_layout.store("sorted", "n", "t", "p", "i")}
}

${point_layout.read_back_kernels()}
</%def>
