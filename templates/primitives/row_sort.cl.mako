<%include file="/common/types.mako"/>
<%namespace name="geometry" file="/common/geometry.mako"/>
// Sorts the entries inside each row of a list, by point, or by squared distance and then point; then by shift.
// Config fields used: work_group_size, dim, by_distance, offset, distances, vectors, shifts, square_root.
% if by_distance:
${geometry.root()}
% endif
% if shifts:
// Whether the shift at place a comes before that at b, the first axis counting most.
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
    { const int held = indices[${a}]; indices[${a}] = indices[${b}]; indices[${b}] = held; }
% for array in moved:
    { const real held = ${array}[${a}]; ${array}[${a}] = ${array}[${b}]; ${array}[${b}] = held; }
% endfor
% for array, kind in (("vectors", "real"),) * vectors + (("shifts", "int"),) * shifts:
    for (int k = 0; k < ${dim}; ++k) {
        const ${kind} held = ${array}[(size_t)(${a}) * ${dim} + k];
        ${array}[(size_t)(${a}) * ${dim} + k] = ${array}[(size_t)(${b}) * ${dim} + k];
        ${array}[(size_t)(${b}) * ${dim} + k] = held;
    }
% endfor
</%def>
// Launch: one work-item per row, rows first up to end. In: offsets (m + 1,). In and out: indices, and what goes with them.
// Rows that end beyond capacity are left alone: the list will be made again, with room.
% if tile:
// Rows of up to ${tile} entries are left to sort_short_rows.
% endif
// With by_distance, keys holds squared distances; they become distances once the row stands.
// Heapsort: in place, and never slower than n log n whatever the row's order was.
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
        // As long as the root has a child: asked of the root, as in the longest rows the child's number would overflow.
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

// The first row that begins at a pair or behind it.
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
keys_of_rows[${entry}] < own_key
% elif by_distance:
((keys_of_rows[${entry}] < own_key) | ((keys_of_rows[${entry}] == own_key) & (numbers[${entry}] < own)))
% else:
numbers[${entry}] < own
% endif
</%def>

// The same of rows of up to ${tile} entries, of which each counts those that come before it.
// Launch: groups of ${work_group_size}, items first up to end, each group for the rows that begin within ${tile} pairs.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void sort_short_rows(const int first, const int end, const int rows, global const ${offset} *restrict offsets,
                     global int *restrict indices, const long capacity
% for array in moved:
                     , global real *restrict ${array}
% endfor
                     )
{
% if by_distance and real == "float":
    // A square and the number behind it: squares are no less than zero, so that their bits are in their order.
    local ulong keys_of_rows[${pairs_of_group}];
% else:
    local int numbers[${pairs_of_group}];
% if by_distance:
    local real keys_of_rows[${pairs_of_group}];
% endif
% endif
    local int borders[2];
    const int l = get_local_id(0);
    const long begin = (first / ${work_group_size} + (long)get_group_id(0)) * ${tile};
    for (int k = l; k < 2; k += ${work_group_size}) borders[k] = first_row_from(offsets, rows, begin + k * ${tile});
    barrier(CLK_LOCAL_MEM_FENCE);
    const int first_row = borders[0], last_row = borders[1];
    // What comes before the first row of the group is another's.
    const int own_rows = first_row < last_row;
    const int opening = own_rows ? (int)clamp((long)offsets[first_row] - begin, 0l, ${tile}l) : 0;
    const int many = own_rows ? (int)clamp(min((long)offsets[last_row], capacity) - begin, 0l, ${pairs_of_group}l) : 0;
    for (int k = opening + l; k < many; k += ${work_group_size}) {
% if by_distance and real == "float":
        keys_of_rows[k] = (ulong)as_uint(keys[begin + k]) << 32 | (uint)indices[begin + k];
% else:
        numbers[k] = indices[begin + k];
% if by_distance:
        keys_of_rows[k] = keys[begin + k];
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
        // Rows that are too long, or that do not fit; and offsets that are none, as there were too many pairs.
        if (start < 0 | start >= ${tile} | stop - start > ${tile} | stop <= k | begin + stop > capacity) continue;
% if by_distance and real == "float":
        const ulong own_key = keys_of_rows[k];
        const int own = (int)own_key;
% else:
        const int own = numbers[k];
% if by_distance:
        const real own_key = keys_of_rows[k];
% endif
% endif
        int place = start;
        for (int other = start; other < stop; ++other) place += ${smaller("other")};
        indices[begin + place] = own;
% if by_distance and distances:
        keys[begin + place] = frnn_sqrt(${"as_float((uint)(own_key >> 32))" if real == "float" else "own_key"});
% endif
    }
}
% endif
