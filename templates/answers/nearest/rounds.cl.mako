<%include file="/common/geometry.mako"/>
<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="lattice" file="/domain/lattice.mako"/>
<%namespace name="nearest_image" file="/domain/nearest_image.mako"/>
// Finds the rows of k nearest neighbors that are not full, and measures the vectors and shifts of rows.
// Config fields used: work_group_size, dim, components, again, periodic, known.

<%def name="declare_row()">
    const int u = get_global_id(0);
% if again:
    const int row = u < m ? rows[u] : 0;
% else:
    const int row = u;
% endif
    const int is_short = u < m && indices[(size_t)row * k + (k - 1)] < 0;
</%def>

// Counts the rows that are not full, so that one addition to global memory serves a group.
// Launch: one work-item per query, groups of ${work_group_size}.
// In: indices (all rows, k), -1 behind the last neighbor of a row; rows (m,), where queries fill some rows only.
// Out: counters[0] grows by the number of rows that are not full.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void count_short_rows(const int m, const int k, global const int *restrict indices,
% if again:
                      global const int *restrict rows,
% endif
                      global int *restrict counters)
{
    local int many;
    ${declare_row()}
    if (get_local_id(0) == 0) many = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (is_short) atomic_inc(&many);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0 && many) atomic_add(&counters[0], many);
}

// Collects the rows that are not full, in any order, and the queries that they belong to.
// Launch: as count_short_rows.
// In: as count_short_rows; queries (all rows, dim). Out: short_rows (found,), positions (found, dim); counters[1] grows
// by the number of rows that are not full.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void take_short_rows(const int m, const int k, global const int *restrict indices,
% if again:
                     global const int *restrict rows,
% endif
                     global const real *restrict queries, global int *restrict counters, global int *restrict short_rows,
                     global real *restrict positions)
{
    local int many, begin;
    ${declare_row()}
    if (get_local_id(0) == 0) many = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    const int own = is_short ? atomic_inc(&many) : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0) begin = many ? atomic_add(&counters[1], many) : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (is_short) {
        short_rows[begin + own] = row;
% for c in range(dim):
        positions[(size_t)(begin + own) * ${dim} + ${c}] = queries[(size_t)row * ${dim} + ${c}];
% endfor
    }
}

// Writes the vector and, with periodic axes, the shift of each entry of the rows; zeros behind the last neighbor.
// Launch: one work-item per entry, groups of ${work_group_size}, or fewer that serve several entries each.
// In: indices (m, k); points (n, dim), queries (m, dim); with periodic axes period, see /domain/period_numbers.mako. Out: vectors (m, k, dim);
// shifts (m, k, dim), with periodic axes; where the shifts are known, they are read.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void measure_rows(const int k, global const int *restrict indices,
                  const int n, global const real *restrict points, global const real *restrict queries,
% if periodic:
                  global const real *restrict ${"periods" if batched else "period"}, global int *restrict shifts,
% if batched:
                  global const int *restrict systems,
% endif
% endif
                  global real *restrict vectors, const long entries)
{
    for (long entry = get_global_id(0); entry < entries; entry += get_global_size(0)) {
        const int number = indices[entry], j = (uint)number < (uint)n ? number : 0;
        const real_vec p = ${geometry.load("points", "j")};
        const real_vec q = ${geometry.load("queries", "(entry / k)")};
% if batched:
        ${lattice.period_of("periods", "systems[entry / k]")}
% endif
% if known:
% for c in range(dim):
        const int s${c} = shifts[entry * ${dim} + ${c}];
% endfor
% for c, component in enumerate(components):
<% parts = [f"(real)s{axis} * {lattice.vector_of_period(axis, c)}" for axis in range(dim)] %>\
        const real d${c} = (p${component} - q${component}) + ${f"({lattice.sum_of(parts)})" if skewed else f"(real)s{c} * period[{c}]"};
% endfor
% else:
        ${nearest_image.differences()}
% endif
% for c in range(dim):
        vectors[entry * ${dim} + ${c}] = number < 0 ? (real)0 : d${c};
% if periodic and not known:
        shifts[entry * ${dim} + ${c}] = number < 0 ? 0 : s${c};
% endif
% endfor
    }
}
