<%include file="/common/contract.mako"/>
// Sets every element of an array to one value.
// Launch: one work-item per element, groups of ${work_group_size}.
// Out: array (n,).
// Config fields used: work_group_size.
// A kernel fills the array because memory checkers do not count the driver's own fill as a write.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void fill(const int n, const int value, global int *restrict array)
{
    const int k = get_global_id(0);
    if (k < n) array[k] = value;
}
