<%include file="/common/contract.mako"/>
// Writes the pairs of a neighbor list as two rows of long: the queries, and their neighbors.
// Launch: one work-item per pair, groups of ${work_group_size}.
// In: offsets (rows + 1,) from offsets_first on, ascending from 0; indices (pairs,) from indices_first on. Out: found, the
// neighbors from points_at on and the queries from queries_at on.
// Config fields used: work_group_size, offset.
// Correct because the query of pair k is the last one whose row begins at or before k: rows without pairs begin where the
// next row begins. Adjacent work-items go the same way through offsets.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void edges(const long pairs, const int rows, global const ${offset} *offsets, const long offsets_first,
           global const int *indices, const long indices_first,
           global long *found, const long points_at, const long queries_at)
{
    const long k = get_global_id(0);
    if (k >= pairs) return;
    int low = 0, high = rows - 1;
    while (low < high) {
        const int middle = low + (high - low + 1) / 2;
        if (offsets[offsets_first + middle] <= k) low = middle;
        else high = middle - 1;
    }
    found[queries_at + k] = low;
    found[points_at + k] = indices[indices_first + k];
}
