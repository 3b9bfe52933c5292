<%include file="/common/types.mako"/>
// Rows with the same whole numbers get the same number.
// Config fields used: work_group_size, dim.

// Finds the first row with the keys of each row, by a table of the keys that are there.
// Launch: one work-item per row, groups of ${work_group_size}.
// In: last, the number of slots less 1, a power of two less 1; keys (n, ${dim}).
// In and out: slots, -1 before, the first row of a group after. Out: slot_of (n,), the slot of each row's group.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void find_slots(const int n, const uint last, global const long *restrict keys, volatile global int *slots,
                global int *restrict slot_of)
{
    const int i = get_global_id(0);
    if (i >= n) return;
    ulong mixed = 0;
    for (int axis = 0; axis < ${dim}; ++axis) {
        mixed = (mixed ^ (ulong)keys[(size_t)i * ${dim} + axis]) * 0x9E3779B97F4A7C15UL;
        mixed ^= mixed >> 29;
    }
    uint slot = (uint)(mixed >> 32) & last;
    for (;; slot = (slot + 1) & last) {
        const int holder = atomic_cmpxchg(&slots[slot], -1, i);
        if (holder < 0) break;
        int same = 1;
        for (int axis = 0; axis < ${dim}; ++axis)
            same &= keys[(size_t)holder * ${dim} + axis] == keys[(size_t)i * ${dim} + axis];
        if (!same) continue;
        atomic_min(&slots[slot], i);
        break;
    }
    slot_of[i] = (int)slot;
}

// Launch: one work-item per row, groups of ${work_group_size}.
// In: slots, slot_of (n,). Out: leads (n,), the first row of each row's group; is_lead (n,), 1 where it is that.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void find_leads(const int n, global const int *restrict slots, global const int *restrict slot_of,
                global int *restrict leads, global int *restrict is_lead)
{
    const int i = get_global_id(0);
    if (i >= n) return;
    leads[i] = slots[(uint)slot_of[i]];
    is_lead[i] = leads[i] == i;
}
