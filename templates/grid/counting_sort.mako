<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="cells" file="/grid/cells.mako"/>
<%namespace name="places" file="/common/point_layout.mako"/>
## The kernels that sort points into the cells of `cells.cl.mako`, by counting or by sorting.
## Config fields used: dim, components, layout, work_group_size.
<%def name="build()">
// Counts the points of each cell; the count that a point finds is its rank in the cell.
// Launch: one work-item per point. In: points (n, dim). Out: counts (cells,), zero before; addresses, ranks (n,).
// Source: Hoetzlein (2014), counting sort.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void count_cells(const int n, global const real *restrict points, ${cells.grid("")},
                 global int *restrict counts, global int *restrict addresses,
                 global int *restrict ranks)
{
    const int i = get_global_id(0);
    if (i >= n) return;
    const real_vec p = ${geometry.load("points", "i")};
    ${cells.address("p")}
    addresses[i] = address;
    ranks[i] = atomic_inc(&counts[address]);
}

// The order of the points: each goes to the place that its cell and rank give it.
// Launch: one work-item per point. In: starts (cells + 1,), addresses, ranks (n,). Out: order (n,), place -> point.
// Ids are scattered and points gathered after them, as a scattered write costs more than a scattered read.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void order_points(const int n, global const int *restrict addresses, global const int *restrict ranks,
                  global const int *restrict starts, global int *restrict order)
{
    const int i = get_global_id(0);
    if (i < n) order[starts[addresses[i]] + ranks[i]] = i;
}

// The sort key of each point: the address of its cell.
// Launch: one work-item per point. In: points (n, dim). Out: keys (n,). Source: Green (2010), grid by sorting.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void cell_keys(const int n, global const real *restrict points, ${cells.grid("")},
               global uint *restrict keys)
{
    const int i = get_global_id(0);
    if (i >= n) return;
    const real_vec p = ${geometry.load("points", "i")};
    ${cells.address("p")}
    keys[i] = address;
}

// Where each cell starts among the sorted keys: the first place whose key is not below the cell.
// Launch: one work-item per cell and one more. In: keys (n,), ascending. Out: starts (cells + 1,).
// A search for each cell, where Green (2010) lets points mark their cell's start: no item waits for a long empty run.
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

// Copies points into sorted order.
// Launch: one work-item per place. In: order (n,). Out: sorted, in the layout of the config.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void gather_points(const int n, global const real *restrict points, global const int *restrict order,
                   ${places.array("sorted")})
{
    const int t = get_global_id(0);
    if (t >= n) return;
    const int i = order[t];
    const real_vec p = ${geometry.load("points", "i")};
${places.put("sorted", "n", "t", "p", "i")}
}

${places.read_back()}
</%def>
