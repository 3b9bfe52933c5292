<%include file="/common/contract.mako"/>
// Sorts key-value pairs stably by ${digit_bits} bits of the key. The passes of a sort begin with the least significant bits.
// Each work-item owns ${items} neighboring pairs of a tile, and a counter for every digit. A scan of the counters in the order
// of (digit, work-item) gives the ranks. The sort is stable, and it needs no atomics because no counter has two writers.
// Config fields used: work_group_size, items, digit_bits, key, held.
// Source: Satish, Harris, Garland (2009), §4; without the sort in local memory on a CPU.
typedef ${key} key_t;

<%def name="each_own()">
% if held:
#pragma unroll
% endif
    for (int k = 0; k < ${items}; ++k)
        if (begin + k < n) {
            const key_t key = ${"own[k]" if held else "keys[begin + k]"};
            const int digit = (int)(key >> shift) & ${digits - 1};
            ${caller.body()}
        }
</%def>

<%def name="count_own()">
    const int l = get_local_id(0), g = get_group_id(0), groups = get_num_groups(0);
    const long begin = (long)g * ${tile} + l * ${items};
% if held:
    key_t own[${items}];
#pragma unroll
    for (int k = 0; k < ${items}; ++k) own[k] = begin + k < n ? keys[begin + k] : 0;
% endif
    for (int d = 0; d < ${digits}; ++d) ranks[d * ${work_group_size} + l] = 0;
    <%self:each_own>
            ++ranks[digit * ${work_group_size} + l];
    </%self:each_own>
    barrier(CLK_LOCAL_MEM_FENCE);
</%def>

// Counts how often each digit occurs in each tile.
// Launch: one group of ${work_group_size} per tile of ${tile} pairs.
// In: keys (n,). Out: table (${digits}, tiles).
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void count_digits(const int n, const int shift, global const key_t *restrict keys, global int *restrict table)
{
    local int ranks[${digits * work_group_size}];
    ${count_own()}
    // A few work-items add up parts of a digit's counters, and one adds these sums.
<% helpers = max(1, work_group_size // digits) %>\
    local int sums[${digits * helpers}];
    for (int part = l; part < ${digits * helpers}; part += ${work_group_size}) {
        const int d = part / ${helpers}, first = part % ${helpers};
        int count = 0;
        for (int k = first; k < ${work_group_size}; k += ${helpers}) count += ranks[d * ${work_group_size} + k];
        sums[part] = count;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int d = l; d < ${digits}; d += ${work_group_size}) {
        int count = 0;
        for (int k = 0; k < ${helpers}; ++k) count += sums[d * ${helpers} + k];
        table[d * groups + g] = count;
    }
}

<%def name="move_pairs()">
    local int ranks[${digits * work_group_size}], sums[${work_group_size}], digit_starts[${digits}];
    ${count_own()}
% if held:
    local key_t sorted_keys[${tile}];
    local int sorted_values[${tile}];
% endif
    ${caller.body()}
    // Exclusive scan of all counters. Work-item l scans ${digits} counters that follow each other.
    int sum = 0;
    for (int k = 0; k < ${digits}; ++k) sum += ranks[l * ${digits} + k];
    sums[l] = sum;
    for (int reach = 1; reach < ${work_group_size}; reach *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        const int before = l >= reach ? sums[l - reach] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        sums[l] += before;
    }
    int before = sums[l] - sum;
    for (int k = 0; k < ${digits}; ++k) {
        const int count = ranks[l * ${digits} + k];
        ranks[l * ${digits} + k] = before;
        before += count;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    // Where a pair of each digit would go if its rank in the tile were 0.
    for (int d = l; d < ${digits}; d += ${work_group_size}) digit_starts[d] -= ranks[d * ${work_group_size}];
    barrier(CLK_LOCAL_MEM_FENCE);
% if held:
    // Pairs are sorted in local memory first, so that neighboring work-items write neighboring elements.
    <%self:each_own>
            const int rank = ranks[digit * ${work_group_size} + l]++;
            sorted_keys[rank] = key;
            sorted_values[rank] = first ? (int)begin + k : values[begin + k];
    </%self:each_own>
    barrier(CLK_LOCAL_MEM_FENCE);
    const int many = (int)min((long)${tile}, n - (long)g * ${tile});
    for (int rank = l; rank < many; rank += ${work_group_size}) {
        const key_t key = sorted_keys[rank];
        const int target = digit_starts[(int)(key >> shift) & ${digits - 1}] + rank;
        moved_keys[target] = key;
        moved_values[target] = sorted_values[rank];
    }
% else:
    <%self:each_own>
            const int target = digit_starts[digit] + ranks[digit * ${work_group_size} + l]++;
            moved_keys[target] = key;
            moved_values[target] = first ? (int)begin + k : values[begin + k];
    </%self:each_own>
% endif
</%def>

// Moves each pair to where its digit starts for this tile, plus its rank among the pairs of the tile with that digit.
// Launch: one group of ${work_group_size} per tile of ${tile} pairs, as count_digits.
// In: keys, values (n,); starts (${digits}, tiles), the exclusive scan of table; first: whether the value of a pair is
// its position, as in the first pass. Out: moved_keys, moved_values (n,).
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void move_pairs(const int n, const int shift, const int first, global const key_t *restrict keys,
                global const int *restrict values, global const int *restrict starts,
                global key_t *restrict moved_keys, global int *restrict moved_values)
{
    <%self:move_pairs>
    for (int d = l; d < ${digits}; d += ${work_group_size}) digit_starts[d] = starts[d * groups + g];
    </%self:move_pairs>
}
% if held:

// Moves each pair as move_pairs does, with the table itself in place of its scan. Each group adds up the counts before
// its own digits, which takes less time than the launch of a scan where tiles are few.
// Launch: one group of ${work_group_size} per tile of ${tile} pairs.
// In: keys, values (n,); table (${digits}, tiles); first. Out: moved_keys, moved_values (n,).
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void move_few_pairs(const int n, const int shift, const int first, global const key_t *restrict keys,
                    global const int *restrict values, global const int *restrict table,
                    global key_t *restrict moved_keys, global int *restrict moved_values)
{
    <%self:move_pairs>
<% helpers = max(1, work_group_size // digits) %>\
    // A few work-items for each digit add up its counts, in all tiles and in the tiles before this one.
    local int all[${digits * helpers}], earlier[${digits * helpers}];
    for (int part = l; part < ${digits * helpers}; part += ${work_group_size}) {
        global const int *restrict counts = table + part / ${helpers} * groups;
        int sum = 0, sum_before = 0;
#pragma unroll 8
        for (int k = part % ${helpers}; k < groups; k += ${helpers}) {
            const int count = counts[k];
            sum += count;
            sum_before += k < g ? count : 0;
        }
        all[part] = sum;
        earlier[part] = sum_before;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int d = l; d < ${digits}; d += ${work_group_size}) {
        int sum = 0, sum_before = 0;
        for (int k = d * ${helpers}; k < (d + 1) * ${helpers}; ++k) {
            sum += all[k];
            sum_before += earlier[k];
        }
        all[d * ${helpers}] = sum;
        digit_starts[d] = sum_before;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int d = l; d < ${digits}; d += ${work_group_size})
        for (int k = 0; k < d; ++k) digit_starts[d] += all[k * ${helpers}];
    barrier(CLK_LOCAL_MEM_FENCE);
    </%self:move_pairs>
}
% endif
