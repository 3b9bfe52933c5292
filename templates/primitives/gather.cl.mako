<%include file="/common/types.mako"/>
// Copies of rows into the layout that the other kernels read.
// Config fields used: work_group_size, dim.

// Packs a strided array. Launch: one work-item per row. In: source, its strides and start in elements. Out: packed (n, dim).
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void pack(const int n, global const real *restrict source, const long start, const long row_stride,
          const long column_stride, global real *restrict packed)
{
    const int i = get_global_id(0);
    if (i >= n) return;
    for (int k = 0; k < ${dim}; ++k)
        packed[(size_t)i * ${dim} + k] = source[start + i * row_stride + k * column_stride];
}
