<%include file="geometry.cl.mako"/>
<%namespace name="geometry" file="geometry.cl.mako"/>
<%namespace name="visit" file="visit.cl.mako"/>
// Cells on a torus: the coordinate of a point, its address, the window of a query, and the kernels that bin points.
// Config fields used: dim, components, wrapped, scalar_loads, work_group_size, foreign.

// Coordinate of x on one axis. Monotone in x, rounding included, which is all that exactness asks of it; it is clamped
// before the conversion, so that no value, NaN included, leaves the integers.
int frnn_coordinate(const real x, const real low, const real inverse)
{
    const real range = 536870912;
    return (int)floor(fmin(fmax((x - low) * inverse, -range), range));
}

// Address of the cell that holds p.
int frnn_address(const real_vec p, const frnn_record low, const real inverse, const int4 shape)
{
% for k, component in enumerate(components):
% if wrapped:
    const int at${k} = frnn_coordinate(p${component}, low.s${k}, inverse) & (shape.s${k} - 1);
% else:
    const int at${k} = clamp(frnn_coordinate(p${component}, low.s${k}, inverse), 0, shape.s${k} - 1);
% endif
% endfor
    return ${"(at2 * shape.s1 + at1)" if dim == 3 else "at1"} * shape.s0 + at0;
}

<%def name="arguments()">
    global const frnn_record *restrict frnn_sorted, global const int *restrict frnn_starts,
    const frnn_record frnn_low, const real frnn_inverse, const int4 frnn_shape
</%def>

<%def name="take_query()">
    const int frnn_unit = frnn_first + (int)get_global_id(0);
    if (frnn_unit >= frnn_end) return;
% if foreign:
    const int i = frnn_unit;
    const real_vec q = ${geometry.load("frnn_queries", "i")};
% else:
    const frnn_record frnn_own = frnn_sorted[frnn_unit];
    const int i = FRNN_LANE_ID(frnn_own.s3);
    const real_vec q = ${geometry.point_of("frnn_own")};
% endif
</%def>

<%def name="run(function)">
    // The candidates of one run of places, frnn_t up to frnn_stop.
    for (; frnn_t < frnn_stop; ++frnn_t) {
        ${take_candidate("frnn_t")}
        ${visit.offer(function)}
    }
</%def>

<%def name="take_candidate(place)">
% if scalar_loads:
    global const real *frnn_candidate = (global const real *)(frnn_sorted + (${place}));
    const int j = FRNN_LANE_ID(frnn_candidate[3]);
% for k in range(dim):
    const real frnn_p${k} = frnn_candidate[${k}];
% endfor
% else:
    const frnn_record frnn_candidate = frnn_sorted[${place}];
    const int j = FRNN_LANE_ID(frnn_candidate.s3);
% for k in range(dim):
    const real frnn_p${k} = frnn_candidate.s${k};
% endfor
% endif
</%def>

<%def name="window()">
    // The cells that q - reach .. q + reach meets, reach being the radius padded by one rounding.
    // Where the grid wraps, a window as wide as the torus visits each address once.
% for k, component in enumerate(components):
    int frnn_from${k} = frnn_coordinate(q${component} - frnn_reach, frnn_low.s${k}, frnn_inverse);
    int frnn_to${k} = frnn_coordinate(q${component} + frnn_reach, frnn_low.s${k}, frnn_inverse);
% if wrapped:
    frnn_to${k} = min(frnn_to${k}, frnn_from${k} + frnn_shape.s${k} - 1);
% else:
    frnn_from${k} = clamp(frnn_from${k}, 0, frnn_shape.s${k} - 1);
    frnn_to${k} = clamp(frnn_to${k}, 0, frnn_shape.s${k} - 1);
% endif
% endfor
</%def>

<%def name="rows()">
    // Rows of cells along the first axis; in the body, frnn_row is the address of the row's first cell.
% for k in reversed(range(1, dim)):
    for (int frnn_at${k} = frnn_from${k}; frnn_at${k} <= frnn_to${k}; ++frnn_at${k}) {
    const int frnn_lane${k} = frnn_at${k}${f" & (frnn_shape.s{k} - 1)" if wrapped else ""};
% endfor
    const int frnn_row = ${"(frnn_lane2 * frnn_shape.s1 + frnn_lane1)" if dim == 3 else "frnn_lane1"} * frnn_shape.s0;
${caller.body()}
% for k in range(1, dim):
    }
% endfor
</%def>

<%def name="record(p)" filter="trim">
(frnn_record)(${p}.s0, ${p}.s1, ${f"{p}.s2" if dim == 3 else "0"}, FRNN_ID_LANE(i))
</%def>

<%def name="build()">
// Counts the points of each cell; the count that a point finds is its rank in the cell.
// Launch: one work-item per point. In: points (n, dim). Out: counts (cells,), zero before; ranks (n,).
// Source: Hoetzlein (2014), counting sort.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void count_cells(const int n, global const real *restrict points, const frnn_record low, const real inverse,
                 const int4 shape, global int *restrict counts, global int *restrict ranks)
{
    const int i = get_global_id(0);
    if (i >= n) return;
    const real_vec p = ${geometry.load("points", "i")};
    ranks[i] = atomic_inc(&counts[frnn_address(p, low, inverse, shape)]);
}

// Copies each point to the place that its cell and rank give it.
// Launch: one work-item per point. In: starts (cells + 1,), ranks (n,). Out: sorted (n,).
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void scatter_points(const int n, global const real *restrict points, const frnn_record low, const real inverse,
                    const int4 shape, global const int *restrict starts, global const int *restrict ranks,
                    global frnn_record *restrict sorted)
{
    const int i = get_global_id(0);
    if (i >= n) return;
    const real_vec p = ${geometry.load("points", "i")};
    sorted[starts[frnn_address(p, low, inverse, shape)] + ranks[i]] = ${record("p")};
}

// The sort key of each point: the address of its cell.
// Launch: one work-item per point. In: points (n, dim). Out: keys (n,). Source: Green (2010), grid by sorting.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void cell_keys(const int n, global const real *restrict points, const frnn_record low, const real inverse,
               const int4 shape, global uint *restrict keys)
{
    const int i = get_global_id(0);
    if (i >= n) return;
    const real_vec p = ${geometry.load("points", "i")};
    keys[i] = frnn_address(p, low, inverse, shape);
}

// Copies points into sorted order, which inside a cell is the order of the input.
// Launch: one work-item per place. In: order (n,), place -> point. Out: sorted (n,).
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void gather_points(const int n, global const real *restrict points, global const int *restrict order,
                   global frnn_record *restrict sorted)
{
    const int t = get_global_id(0);
    if (t >= n) return;
    const int i = order[t];
    const real_vec p = ${geometry.load("points", "i")};
    sorted[t] = ${record("p")};
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
</%def>
