<%include file="/common/types.mako"/>
// Copies a strided array into the contiguous rows that the other kernels read.
// Launch: one work-item per row, groups of ${work_group_size}.
// In: source, with its start and its strides in elements. Out: packed (n, dim).
// Config fields used: work_group_size, dim.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void pack(const int n, global const real *restrict source, const long start, const long row_stride,
          const long column_stride, global real *restrict packed)
{
    const int i = get_global_id(0);
    if (i >= n) return;
    for (int k = 0; k < ${dim}; ++k)
        packed[(size_t)i * ${dim} + k] = source[start + i * row_stride + k * column_stride];
}
