<%include file="types.cl.mako"/>
<%namespace name="geometry" file="geometry.cl.mako"/>
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
