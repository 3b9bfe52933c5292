<%include file="/common/contract.mako"/>
// Copies rows into another order.
// Launch: one work-item per row, groups of ${work_group_size}.
// In: source (n, words), order (n,). Out: taken (n, words), where taken[k] = source[order[k]].
// Config fields used: work_group_size, word.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void take_rows(const int n, const int words, global const ${word} *restrict source, global const int *restrict order,
               global ${word} *restrict taken)
{
    const int k = get_global_id(0);
    if (k >= n) return;
    const size_t from = (size_t)order[k] * words, to = (size_t)k * words;
    for (int word = 0; word < words; ++word) taken[to + word] = source[from + word];
}
