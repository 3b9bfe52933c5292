<%include file="/common/types.mako"/>
// The positions of some of the nodes of a regular grid, whose last axis runs fastest.
// Launch: one work-item per node, groups of ${work_group_size}.
// In: axes, the coordinates of the nodes along each axis, one axis behind the other;
//     size0 and following, the number of nodes along each axis; first, the number of the first node. Out: nodes (n, ${dim}).
// Config fields used: work_group_size, dim, real.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void grid_nodes(const int n, const long first, \
${", ".join(f"const int size{k}" for k in range(dim))}, global const real *restrict axes, global real *restrict nodes)
{
    const int i = get_global_id(0);
    if (i >= n) return;
    long rest = first + i;
% for k in reversed(range(dim)):
    nodes[(size_t)i * ${dim} + ${k}] = axes[${"".join(f"size{j} + " for j in range(k))}(int)(rest % size${k})];
% if k:
    rest /= size${k};
% endif
% endfor
}
