<%include file="/common/types.mako"/>
// The mean of the finite numbers of each row; 0 where there are none. Sums are compensated: what rounding takes
// from each addition is added up apart.
// Launch: one work-item per row, groups of ${work_group_size}.
// In: first, the column at which rows begin; least, the number of finite numbers below which a mean is NaN;
//     rows (n, k), whose numbers that are not finite come last. Out: means (n,).
// Config fields used: work_group_size, real.
## And dim, as all programs over points.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void row_means(const int n, const int k, const int first, const int least, \
global const real *restrict rows, global real *restrict means)
{
    const int i = get_global_id(0);
    if (i >= n) return;
    real sum = 0, lost = 0;
    int many = 0;
    for (; first + many < k; ++many) {
        const real each = rows[(size_t)i * k + first + many];
        if (!isfinite(each)) break;
        const real next = sum + each;
        // Numbers ascend and are not negative: the larger one of the two may be either.
        lost += sum < each ? (each - next) + sum : (sum - next) + each;
        sum = next;
    }
    means[i] = many < least ? NAN : many ? (sum + lost) / many : 0;
}
