<%include file="/common/contract.mako"/>
// Sets every element to one value.
// Launch: one work-item per element, groups of ${work_group_size}. Out: array (n,).
// A kernel rather than the driver's own fill, which memory checkers do not count as writing.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void fill(const int n, const int value, global int *restrict array)
{
    const int k = get_global_id(0);
    if (k < n) array[k] = value;
}
