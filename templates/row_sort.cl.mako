<%include file="types.cl.mako"/>
<%namespace name="geometry" file="geometry.cl.mako"/>
// Sorts the entries inside each row of a list, by point or by squared distance and then point.
// Config fields used: work_group_size, dim, by_distance, offset, distances, vectors, square_root.
% if by_distance:
${geometry.root()}
% endif
<%def name="before(a, b)" filter="trim">
% if by_distance:
(keys[${a}] < keys[${b}] || (keys[${a}] == keys[${b}] && indices[${a}] < indices[${b}]))\
% else:
(indices[${a}] < indices[${b}])\
% endif
</%def>
<%def name="swap(a, b)">
    { const int held = indices[${a}]; indices[${a}] = indices[${b}]; indices[${b}] = held; }
% for array in moved:
    { const real held = ${array}[${a}]; ${array}[${a}] = ${array}[${b}]; ${array}[${b}] = held; }
% endfor
% if vectors:
    for (int k = 0; k < ${dim}; ++k) {
        const real held = vectors[(size_t)(${a}) * ${dim} + k];
        vectors[(size_t)(${a}) * ${dim} + k] = vectors[(size_t)(${b}) * ${dim} + k];
        vectors[(size_t)(${b}) * ${dim} + k] = held;
    }
% endif
</%def>
// Launch: one work-item per row, rows first up to end. In: offsets (m + 1,). In and out: indices, and what goes with them.
// With by_distance, keys holds squared distances; they become distances once the row stands.
// Heapsort: in place, and never slower than n log n whatever the row's order was.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void sort_rows(const int first, const int end, global const ${offset} *restrict offsets, global int *restrict indices
% for array in moved:
               , global real *restrict ${array}
% endfor
% if vectors:
               , global real *restrict vectors
% endif
               )
{
    const int i = first + (int)get_global_id(0);
    if (i >= end) return;
    const ${offset} begin = offsets[i];
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
        for (int child = 2 * root + 1; child < heap; child = 2 * root + 1) {
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
