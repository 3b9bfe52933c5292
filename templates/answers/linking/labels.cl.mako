<%include file="/common/contract.mako"/>
// Numbers clusters by their lowest core points, given the links of clfrnn/answers/linking/unions.py.
// Config fields used: work_group_size, read.
#define FRNN_LINK(k) (${read})

// Makes each point a tree of its own.
// Launch: one work-item per point, groups of ${work_group_size}.
// Out: links (n,); core (n,), all 1.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void begin_trees(const int n, global int *restrict links, global uchar *restrict core)
{
    const int k = get_global_id(0);
    if (k >= n) return;
    links[k] = k;
    core[k] = 1;
}

// Makes each core point a tree of its own.
// Launch: one work-item per point, groups of ${work_group_size}.
// In: links (n,), the number of neighbors of each point. Out: links (n,), -1 for points that are not core; core (n,);
// border (n,), whether a point that is not core has a neighbor.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void begin_core_trees(const int n, const int least, global int *restrict links, global uchar *restrict core,
                      global uchar *restrict border)
{
    const int k = get_global_id(0);
    if (k >= n) return;
    const int many = links[k], is_core = many >= least - 1;
    links[k] = is_core ? k : -1;
    core[k] = is_core;
    border[k] = !is_core & (many > 0);
}

// Finds the root of each core point. Links become shorter while others follow them, which leads to the same roots.
// Launch: one work-item per point, groups of ${work_group_size}.
// In and out: links (n,). Out: roots (n,), -1 for points that are not core; is_root (n,), 1 for the root of a tree.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void find_roots(const int n, volatile global int *links, global int *restrict roots, global int *restrict is_root)
{
    const int k = get_global_id(0);
    if (k >= n) return;
    int at = k, next = FRNN_LINK(k);
    while (next >= 0 && next != at) {
        const int beyond = FRNN_LINK(next);
        if (beyond != next) atomic_min(&links[at], beyond);
        at = next;
        next = beyond;
    }
    roots[k] = next;
    is_root[k] = next == k;
}

// Counts the members of each tree, or of each cluster.
// Launch: one work-item per point, groups of ${work_group_size}.
// In: owners (n,), the root or the label of each point, or -1. In and out: members, cleared before.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void count_members(const int n, global const int *restrict owners, global int *members)
{
    const int k = get_global_id(0);
    if (k < n && owners[k] >= 0) atomic_inc(&members[owners[k]]);
}

// Tells which trees have enough members to be clusters.
// Launch: one work-item per point, groups of ${work_group_size}.
// In: members (n,), 0 except at roots. Out: members (n,), 1 for the root of a cluster, else 0.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void choose_clusters(const int n, const int least, global int *restrict members)
{
    const int k = get_global_id(0);
    if (k < n) members[k] = members[k] >= least;
}

// Turns roots into labels.
// Launch: one work-item per point, groups of ${work_group_size}.
// In: starts (n + 1,), the number of clusters with a lower root; labels (n,), the root of each point, or -1.
// Out: labels (n,), -1 also where the tree is no cluster; total, the number of clusters.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void number_clusters(const int n, global const int *restrict starts, global int *restrict labels, global int *restrict total)
{
    const int k = get_global_id(0);
    if (k == 0) total[0] = starts[n];
    if (k >= n) return;
    const int root = labels[k];
    if (root >= 0) labels[k] = starts[root + 1] > starts[root] ? starts[root] : -1;
}
