<%include file="/common/types.mako"/>
<%namespace name="geometry" file="/common/geometry.mako"/>
// Sorts the entries of each row of a list by point, or by squared distance and then by point; entries of one point by shift.
// Config fields used: work_group_size, tile, dim, real, by_distance, offset, distances, vectors, shifts, square_root; moved
// follows from these.
% if by_distance:
${geometry.root()}
% endif
% if shifts:
// Whether the shift of entry a comes before that of entry b. The first axis counts most.
int nearer_image(global const int *restrict shifts, const long a, const long b)
{
    for (int k = 0; k < ${dim}; ++k) {
        const int difference = shifts[a * ${dim} + k] - shifts[b * ${dim} + k];
        if (difference) return difference < 0;
    }
    return 0;
}
% endif
<%def name="before(a, b)" filter="trim">
<% image = f" || (indices[{a}] == indices[{b}] && nearer_image(shifts, {a}, {b}))" if shifts else "" %>\
% if by_distance:
(keys[${a}] < keys[${b}] || (keys[${a}] == keys[${b}] && (indices[${a}] < indices[${b}]${image})))\
% else:
(indices[${a}] < indices[${b}]${image})\
% endif
</%def>
<%def name="swap(a, b)">
    { const int swapped = indices[${a}]; indices[${a}] = indices[${b}]; indices[${b}] = swapped; }
% for array in moved:
    { const real swapped = ${array}[${a}]; ${array}[${a}] = ${array}[${b}]; ${array}[${b}] = swapped; }
% endfor
% for array, kind in (("vectors", "real"),) * vectors + (("shifts", "int"),) * shifts:
    for (int k = 0; k < ${dim}; ++k) {
        const ${kind} swapped = ${array}[(size_t)(${a}) * ${dim} + k];
        ${array}[(size_t)(${a}) * ${dim} + k] = ${array}[(size_t)(${b}) * ${dim} + k];
        ${array}[(size_t)(${b}) * ${dim} + k] = swapped;
    }
% endfor
</%def>
// Sorts each row by heapsort, which works in place and takes n log n steps whatever the order of the row was.
// Launch: one work-item per row, groups of ${work_group_size}; this launch has the rows from first up to end.
// In: offsets (m + 1,). In and out: indices (capacity,), and the arrays that are moved with them. With by_distance,
// keys (capacity,) are squared distances, which become distances when the row is sorted. A row that ends beyond
// capacity stays unsorted, because its list is made again.
% if tile:
// Rows of up to ${tile} entries are left to sort_short_rows.
% endif
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void sort_rows(const int first, const int end, global const ${offset} *restrict offsets, global int *restrict indices, const long capacity
% for array in moved:
               , global real *restrict ${array}
% endfor
% if vectors:
               , global real *restrict vectors
% endif
% if shifts:
               , global int *restrict shifts
% endif
               )
{
    const int i = first + (int)get_global_id(0);
    if (i >= end) return;
    const ${offset} begin = offsets[i];
    if (begin < 0 || offsets[i + 1] < begin || offsets[i + 1] > capacity) return;
    const int length = (int)(offsets[i + 1] - begin);
% if tile:
    if (length <= ${tile}) return;
% endif
    int unheaped = length / 2;
    for (int heap = length; heap > 1;) {
        int root;
        if (unheaped > 0) {
            root = --unheaped;
        } else {
            --heap;
            root = 0;
            ${swap("begin", "begin + heap")}
        }
        // As long as the root has a child. The root is compared, because the number of a child may overflow in the
        // longest rows.
        while (root < heap / 2) {
            int child = 2 * root + 1;
            if (child + 1 < heap && ${before("begin + child", "begin + child + 1")}) ++child;
            if (!${before("begin + root", "begin + child")}) break;
            ${swap("begin + root", "begin + child")}
            root = child;
        }
    }
% if by_distance and distances:
    for (int k = 0; k < length; ++k) keys[begin + k] = frnn_sqrt(keys[begin + k]);
% endif
}
% if tile:

// The first row that begins at a pair or after it.
int first_row_from(global const ${offset} *restrict offsets, const int rows, const long pair)
{
    int low = 0, high = rows;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (offsets[middle] < pair) low = middle + 1;
        else high = middle;
    }
    return low;
}
<% pairs_of_group = 2 * tile %>\
<%def name="smaller(entry)" filter="trim">
% if by_distance and real == "float":
row_keys[${entry}] < own_key
% elif by_distance:
((row_keys[${entry}] < own_key) | ((row_keys[${entry}] == own_key) & (numbers[${entry}] < own)))
% else:
numbers[${entry}] < own
% endif
</%def>

// Sorts the rows of up to ${tile} entries: each entry counts the entries of its row that come before it.
// Launch: a group of ${work_group_size} for the rows that begin in each ${tile} pairs from `start` on; this launch has the
// work-items from first up to end.
// In and out: as sort_rows.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void sort_short_rows(const int first, const int end, const int rows, const long start, global const ${offset} *restrict offsets,
                     global int *restrict indices, const long capacity
% for array in moved:
                     , global real *restrict ${array}
% endfor
                     )
{
% if by_distance and real == "float":
    // The bits of a squared distance and, below them, of a point's number. Squares are not negative, so their bits have
    // their order.
    local ulong row_keys[${pairs_of_group}];
% else:
    local int numbers[${pairs_of_group}];
% if by_distance:
    local real row_keys[${pairs_of_group}];
% endif
% endif
    local int borders[2];
    const int l = get_local_id(0);
    const long begin = start + (first / ${work_group_size} + (long)get_group_id(0)) * ${tile};
    for (int k = l; k < 2; k += ${work_group_size}) borders[k] = first_row_from(offsets, rows, begin + k * ${tile});
    barrier(CLK_LOCAL_MEM_FENCE);
    const int first_row = borders[0], last_row = borders[1];
    // The entries before the first row of the group belong to the group before.
    const int own_rows = first_row < last_row;
    const int opening = own_rows ? (int)clamp((long)offsets[first_row] - begin, 0l, ${tile}l) : 0;
    const int many = own_rows ? (int)clamp(min((long)offsets[last_row], capacity) - begin, 0l, ${pairs_of_group}l) : 0;
    for (int k = opening + l; k < many; k += ${work_group_size}) {
% if by_distance and real == "float":
        row_keys[k] = (ulong)as_uint(keys[begin + k]) << 32 | (uint)indices[begin + k];
% else:
        numbers[k] = indices[begin + k];
% if by_distance:
        row_keys[k] = keys[begin + k];
% endif
% endif
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    for (int k = opening + l; k < many; k += ${work_group_size}) {
        int row = first_row, behind = last_row;
        while (behind - row > 1) {
            const int middle = row + (behind - row) / 2;
            if (offsets[middle] <= begin + k) row = middle;
            else behind = middle;
        }
        const int start = (int)(offsets[row] - begin), stop = (int)(offsets[row + 1] - begin);
        // Rows that are too long or end beyond capacity are skipped, and so are offsets that overflowed.
        if (start < 0 | start >= ${tile} | stop - start > ${tile} | stop <= k | begin + stop > capacity) continue;
% if by_distance and real == "float":
        const ulong own_key = row_keys[k];
        const int own = (int)own_key;
% else:
        const int own = numbers[k];
% if by_distance:
        const real own_key = row_keys[k];
% endif
% endif
        int rank = start;
        for (int other = start; other < stop; ++other) rank += ${smaller("other")};
        indices[begin + rank] = own;
% if by_distance and distances:
        keys[begin + rank] = frnn_sqrt(${"as_float((uint)(own_key >> 32))" if real == "float" else "own_key"});
% endif
    }
}
% endif
