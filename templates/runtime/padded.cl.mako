<%include file="/common/contract.mako"/>
// Writes the rows of a neighbor list to a table, filled up with a number.
// Launch: one work-item per element of the table, groups of ${work_group_size}.
// In: offsets (rows + 1,) from offsets_first on; indices (pairs,) from indices_first on. Out: found, (rows, columns) from
// found_first on.
// Config fields used: work_group_size, offset.
// Correct because every element is written by one work-item, and no row is longer than a row of the table.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void padded(const long elements, const int columns, global const ${offset} *offsets, const long offsets_first,
            global const int *indices, const long indices_first,
            global int *found, const long found_first, const int fill)
{
    const long element = get_global_id(0);
    if (element >= elements) return;
    const long row = element / columns, column = element % columns;
    const long k = offsets[offsets_first + row] + column;
    found[found_first + element] = k < offsets[offsets_first + row + 1] ? indices[indices_first + k] : fill;
}
