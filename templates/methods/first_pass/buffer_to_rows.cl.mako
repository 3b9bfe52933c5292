<%include file="/common/contract.mako"/>
<%namespace name="packed_counts" file="/methods/first_pass/packed_counts.mako"/>
// Copies the rows of a list from a neighbor buffer, for the queries that did not overflow.
// Launch: one work-item per row, groups of ${work_group_size}.
// In: packed (m,), packed counts; buffer (slots / 4, m) of int4; offsets (m + 1,). Out: indices (capacity,); a list
// with more pairs than its capacity is written up to the capacity.
// Config fields used: work_group_size, buffer_slots, offset.
${packed_counts.functions()}
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void buffer_to_rows(const int m, const ${offset} capacity, global const int *restrict packed,
                    global const int4 *restrict buffer, global const ${offset} *restrict offsets, global int *restrict indices)
{
    // Indices pass through local memory, so that neighboring work-items write neighboring entries of the list.
    local int stage[${work_group_size * buffer_slots}];
    const int l = get_local_id(0), first = (int)get_group_id(0) * ${work_group_size}, i = first + l;
    const ${offset} begin = offsets[first];
    const ${offset} all = offsets[min((long)m, (long)first + ${work_group_size})] - begin;
    const int own = i < m ? packed[i] : 0;
    const int count = neighbors_of(own, (global const int *)buffer), place = ${packed_counts.place("own")};
    const ${offset} opens = i < m ? offsets[i] - begin : 0;
    // The rows of the group fit local memory unless one of them overflows. Otherwise each row is written directly.
    const int staged = ((all >= 0) & (all <= ${work_group_size * buffer_slots})) ? (int)all : 0;
    for (int k = l; k < staged; k += ${work_group_size}) stage[k] = -1;
    barrier(CLK_LOCAL_MEM_FENCE);
    // Offsets of too many pairs may have overflowed. Such a list is discarded, but writes must stay within bounds.
    const int fits = staged && opens >= 0 && opens <= staged - count;
    if (count <= ${buffer_slots}) {
% for first in range(0, buffer_slots, 4):
        if (count > ${first}) {
            const int4 four = buffer[${first // 4} * (size_t)m + place];
% for k in range(4):
            if (count > ${first + k}) {
                if (fits) stage[opens + ${first + k}] = four.s${k};
                else if ((u${offset})(begin + opens + ${first + k}) < (u${offset})capacity) indices[begin + opens + ${first + k}] = four.s${k};
            }
% endfor
        }
% endfor
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = l; k < staged; k += ${work_group_size})
        if (stage[k] >= 0 && (u${offset})(begin + k) < (u${offset})capacity) indices[begin + k] = stage[k];
}
