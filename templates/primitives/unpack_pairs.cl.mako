<%include file="/common/contract.mako"/>
<% real = {"int": "float", "long": "double"}[word] %>\
// Unpacks pairs of an integer and the bits of a ${real} into two arrays.
// Launch: one work-item per ${items} pairs, groups of ${work_group_size}.
// In: pairs (n,); disorder[disorder_start]: nothing is done where it is 0. Out: numbers (n,), reals (n,).
// Config fields used: work_group_size, items, word.
% if word == "long":
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
% endif
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void unpack_pairs(const int n, global const int *restrict disorder, const int disorder_start, global const ${word}2 *restrict pairs,
          global int *restrict numbers, global ${real} *restrict reals)
{
    if (!disorder[disorder_start]) return;
    const int begin = (int)get_group_id(0) * ${work_group_size * items} + (int)get_local_id(0);
    for (int m = 0, k = begin; m < ${items} && k < n; ++m, k += ${work_group_size}) {
        const ${word}2 pair = pairs[k];
        numbers[k] = (int)pair.x;
        reals[k] = as_${real}(pair.y);
    }
}
