% if weighted:
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
% endif
#pragma OPENCL FP_CONTRACT OFF
// Sums of the columns of a table, over the rows that each of `parts` adds up: every parts-th row, from a row of its own on.
// Launch: one work-item per part and column, groups of ${work_group_size}.
// In: table (rows, columns), int32; with `weighted`, whole numbers in two words, the second of which counts in units of
// `unit`, and weights (rows,) of the rows. Out: sums (parts, columns), int64 or with `weighted` float64.
// Repeatable because each work-item adds its rows in ascending order.
// Config fields used: work_group_size, weighted.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void column_sums(const int rows, const int columns, const int parts,
% if weighted:
                 global const long2 *restrict table, const double unit, global const double *restrict weights,
                 global double *restrict sums)
% else:
                 global const int *restrict table, global long *restrict sums)
% endif
{
    const int place = get_global_id(0);
    if (place >= parts * columns) return;
    const int part = place / columns, column = place % columns;
    ${"double" if weighted else "long"} sum = 0;
    for (int row = part; row < rows; row += parts) {
        const size_t entry = (size_t)row * columns + column;
% if weighted:
        sum += weights[row] * ((double)table[entry].s0 + (double)table[entry].s1 * unit);
% else:
        sum += table[entry];
% endif
    }
    sums[place] = sum;
}
