<%include file="/common/types.mako"/>
// The mean of the finite numbers of each row, added from the first one on; 0 where there are none.
// Launch: one work-item per row, groups of ${work_group_size}.
// In: rows (n, k), whose numbers that are not finite come last. Out: means (n,).
// Config fields used: work_group_size, real.
## And dim, as all programs over points.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void row_means(const int n, const int k, global const real *restrict rows, global real *restrict means)
{
    const int i = get_global_id(0);
    if (i >= n) return;
    real sum = 0;
    int many = 0;
    for (; many < k && isfinite(rows[(size_t)i * k + many]); ++many) sum += rows[(size_t)i * k + many];
    means[i] = many ? sum / many : 0;
}
