<%include file="contract.cl.mako"/>
// Rows of a list from the numbers that a count has stashed. Those with more than there are slots are left out.
// Config fields used: work_group_size, slots, offset.
// Launch: one work-item per row. In: rows (m, 2): neighbors, place in the stash; stash (slots / 4, units) of int4; offsets
// (m + 1,). Out: indices (capacity,): a list too short for its pairs is written as far as it goes.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void stashed_rows(const int m, const int units, const ${offset} capacity, global const int2 *restrict rows,
                  global const int4 *restrict stash, global const ${offset} *restrict offsets, global int *restrict indices)
{
    // Numbers pass through local memory, from where items beside each other write what is beside each other.
    local int stage[${work_group_size * slots}];
    const int l = get_local_id(0), first = (int)get_group_id(0) * ${work_group_size}, i = first + l;
    const ${offset} begin = offsets[first];
    const ${offset} all = offsets[min((long)m, (long)first + ${work_group_size})] - begin;
    // More only where a row is longer than there are slots.
    const int together = all >= 0 & all <= ${work_group_size * slots};
    const int many = together ? (int)all : 0;
    for (int k = l; k < many; k += ${work_group_size}) stage[k] = -1;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i < m) {
        const int2 row = rows[i];
        const ${offset} opens = offsets[i] - begin;
        // Offsets of more pairs than they count may have come round: such a list is thrown away, but stays within bounds.
        const int fits = together && opens >= 0 && opens <= many - row.x;
        if (row.x <= ${slots}) {
% for first in range(0, slots, 4):
            if (row.x > ${first}) {
                const int4 numbers = stash[${first // 4} * (size_t)units + row.y];
% for k in range(4):
                if (row.x > ${first + k}) {
                    if (fits) stage[opens + ${first + k}] = numbers.s${k};
                    else if ((u${offset})(begin + opens + ${first + k}) < (u${offset})capacity) indices[begin + opens + ${first + k}] = numbers.s${k};
                }
% endfor
            }
% endfor
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = l; k < many; k += ${work_group_size})
        if (stage[k] >= 0 && (u${offset})(begin + k) < (u${offset})capacity) indices[begin + k] = stage[k];
}
