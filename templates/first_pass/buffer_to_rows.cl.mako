<%include file="/common/contract.mako"/>
<%namespace name="group_sums" file="/common/group_scan.mako"/>
<%namespace name="packed_rows" file="/first_pass/packed_counts.mako"/>
<%namespace name="row_sums" file="/first_pass/block_sums.mako"/>
// Rows of a list from the numbers that a count has stashed. Those with more than there are slots are left out.
// Config fields used: work_group_size, stashed, offset.
${packed_rows.functions()}
<%def name="take_row(end)">
        const int packed = i < ${end} ? rows[i] : 0;
        const int2 row = (int2)(neighbors_of(packed, (global const int *)stash), ${packed_rows.place("packed")});
</%def>
<%def name="write_rows(unsigned)">
    // Numbers pass through local memory, from where items beside each other write what is beside each other. In scope: row
    // (neighbors, place in the stash), none behind the last; the first of the group's rows begins at begin, row opens so much
    // behind it, and all of them have so many neighbors. More than there is room for only where a row is longer than there
    // are slots.
    const int together = all >= 0 & all <= ${work_group_size * stashed};
    const int many = together ? (int)all : 0;
    for (int k = l; k < many; k += ${work_group_size}) stage[k] = -1;
    barrier(CLK_LOCAL_MEM_FENCE);
    // Offsets of more pairs than they count may have come round: such a list is thrown away, but stays within bounds.
    const int fits = together && opens >= 0 && opens <= many - row.x;
    if (row.x <= ${stashed}) {
% for first in range(0, stashed, 4):
        if (row.x > ${first}) {
            const int4 numbers = stash[${first // 4} * (size_t)m + row.y];
% for k in range(4):
            if (row.x > ${first + k}) {
                if (fits) stage[opens + ${first + k}] = numbers.s${k};
                else if ((${unsigned})(begin + opens + ${first + k}) < (${unsigned})capacity) indices[begin + opens + ${first + k}] = numbers.s${k};
            }
% endfor
        }
% endfor
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = l; k < many; k += ${work_group_size})
        if (stage[k] >= 0 && (${unsigned})(begin + k) < (${unsigned})capacity) indices[begin + k] = stage[k];
</%def>

// Launch: one work-item per row. In: rows (m,), packed; stash (slots / 4, m) of int4; offsets (m + 1,). Out: indices
// (capacity,): a list too short for its pairs is written as far as it goes.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void stashed_rows(const int m, const ${offset} capacity, global const int *restrict rows,
                  global const int4 *restrict stash, global const ${offset} *restrict offsets, global int *restrict indices)
{
    local int stage[${work_group_size * stashed}];
    const int l = get_local_id(0), first = (int)get_group_id(0) * ${work_group_size}, i = first + l;
    const ${offset} begin = offsets[first];
    const ${offset} all = offsets[min((long)m, (long)first + ${work_group_size})] - begin;
    ${take_row("m")}
    const ${offset} opens = i < m ? offsets[i] - begin : 0;
    ${write_rows(f"u{offset}")}
}

// The same with offsets that are found on the way, from sums over shares of 1 << shift rows each, a multiple of a group's.
// Launch: a group for each share. In: rows and stash as above; shares (groups,), each sum in a sector. Out: offsets
// (m + 1,), indices (capacity,), totals[place]: all pairs; last, as shares, at zero.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void place_stashed_rows(const int m, const int shift, const ${offset} capacity,
                        global const int *restrict rows, global const int4 *restrict stash, global const int *restrict shares,
                        global int *restrict last, global ${offset} *restrict offsets, global int *restrict indices,
                        global long *restrict totals, const int place)
{
    local int stage[${work_group_size * stashed}];
    local long sums[${work_group_size}];
    const int l = get_local_id(0), g = get_group_id(0), end = min((long)m, (long)(g + 1) << shift);
    ${row_sums.before("long")}
    sums[l] = sum;
    ${group_sums.whole("sums")}
    barrier(CLK_LOCAL_MEM_FENCE);
    long closed = sums[0];
    for (int tile = g << shift; tile < end; tile += ${work_group_size}) {
        const int i = tile + l;
        ${take_row("end")}
        barrier(CLK_LOCAL_MEM_FENCE);
        ${group_sums.inclusive("row.x", "sums", "long")}
        const long opens = sums[l] - row.x, all = sums[${work_group_size - 1}], begin = closed;
        if (i < end) offsets[i] = (${offset})(begin + opens);
        closed += all;
        ${write_rows("ulong")}
    }
    if (l == 0 && end == m) {
        offsets[m] = (${offset})closed;
        totals[place] = closed;
    }
}
