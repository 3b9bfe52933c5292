<%include file="/common/geometry.mako"/>
<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="lattice" file="/domain/lattice.mako"/>\
// Measures the distances, vectors and shifts of the pairs of a list, from the list's indices.
// Config fields used: work_group_size, dim, components, items, real, offset, square_root, distances, vectors, shifts, periodic.
% if distances == "root":
${geometry.root()}
% endif

// The row of a pair, one of the rows from `row` up to `end`: the last row that begins at the pair or before it.
int row_of(global const ${offset} *restrict offsets, int row, int end, const ${offset} pair)
{
    while (end - row > 1) {
        const int middle = row + (end - row) / 2;
        if (offsets[middle] <= pair) row = middle;
        else end = middle;
    }
    return row;
}

<%namespace name="nearest_image" file="/domain/nearest_image.mako"/>

## In a cell the period has more rows: see /domain/period_numbers.mako.
// Writes the distance, the vector and the shift of each pair.
// Launch: a group of ${work_group_size} for every ${work_group_size * items} pairs; this launch has the work-items from
// first up to end.
// In: offsets (rows + 1,); capacity, the number of pairs that fit the list; points (n, dim); queries, of which number
// first_row has the first row; indices (capacity,); period (3, dim). Out: distances (capacity,), vectors and shifts
// (capacity, dim). A list with more pairs than its capacity is discarded, so what is written to it does not matter.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void measure_pairs(const int first, const int end, const int rows, global const ${offset} *restrict offsets, const long capacity,
                   const int n, global const real *restrict points, const int first_row, global const real *restrict queries,
                   global const int *restrict indices
% if periodic:
                   , global const real *restrict ${"periods" if batched else "period"}
% if batched:
                   , global const int *restrict systems
% endif
% endif
% if distances:
                   , global real *restrict distances
% endif
% if vectors:
                   , global real *restrict vectors
% endif
% if shifts:
                   , global int *restrict shifts
% endif
                   )
{
    local int borders[2];
    const int l = get_local_id(0);
    const long many = min((long)offsets[rows], capacity);
    const long begin = (first / ${work_group_size} + (long)get_group_id(0)) * ${work_group_size * items};
    const long finish = min(many, begin + ${work_group_size * items});
    for (int k = l; k < 2; k += ${work_group_size}) borders[k] = begin < finish ? row_of(offsets, 0, rows, k ? finish - 1 : begin) : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    const int first_of_group = borders[0], end_of_group = borders[1] + 1;
    for (long pair = begin + l; pair < finish; pair += ${work_group_size}) {
        const int row = row_of(offsets, first_of_group, end_of_group, pair);
        const int number = indices[pair], j = (uint)number < (uint)n ? number : 0;
        const real_vec p = ${geometry.load("points", "j")}, q = ${geometry.load("queries", "(first_row + row)")};
% if batched:
        ${lattice.period_of("periods", "systems[first_row + row]")}
% endif
        ${nearest_image.differences()}
% if distances:
        const real square = ${" + ".join(f"d{k} * d{k}" for k in range(dim))};
        distances[pair] = ${"frnn_sqrt(square)" if distances == "root" else "square"};
% endif
% for k in range(dim):
% if vectors:
        vectors[(size_t)pair * ${dim} + ${k}] = d${k};
% endif
% if shifts:
        shifts[(size_t)pair * ${dim} + ${k}] = s${k};
% endif
% endfor
    }
}
