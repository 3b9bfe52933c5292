<%include file="/common/contract.mako"/>
<%namespace name="group_scan" file="/common/group_scan.mako"/>
<%namespace name="packed_counts" file="/methods/first_pass/packed_counts.mako"/>
// Scans int32 counts exclusively: in two launches, which sum and then scan shares of the counts, or in one where counts are
// few. A total of type long is also written to totals[total_start], so that it is right where the type of starts overflows.
// Config fields used: work_group_size, items, buffer_slots, total, out, through_local.
<%def name="each_of_tile(limit)">
        // Neighboring work-items access neighboring elements, whichever work-item scans these.
        for (int k = l; k < ${work_group_size * items}; k += ${work_group_size}) {
            if (tile + k < ${limit}) {
${caller.body()}
            }
        }
</%def>
<%def name="staged(k)" filter="trim">
## Where number k of a tile is staged. The numbers of each work-item begin in another bank of local memory.
stage[${k} + ${k} / ${items}]
</%def>
<%def name="scan_tiles(begin, end)">
    // Tile by tile. `carry` is the sum of all counts before the tile.
% if through_local:
    local sum_t stage[${work_group_size * (items + 1)}];
% endif
    for (int tile = ${begin}; tile < ${end}; tile += ${work_group_size * items}) {
        const int begin = tile + l * ${items};
        int own[${items}];
        sum_t sum = 0;
% if through_local:
        <%self:each_of_tile limit="${end}">
                ${staged("k")} = ${count("tile + k")};
        </%self:each_of_tile>
        barrier(CLK_LOCAL_MEM_FENCE);
% endif
        for (int k = 0; k < ${items}; ++k) {
            own[k] = begin + k < ${end} ? ${f"(int)stage[l * {items + 1} + k]" if through_local else count("begin + k")} : 0;
            sum += own[k];
        }
        ${group_scan.inclusive("sum", "sums", "sum_t")}
        sum_t before = carry + sums[l] - sum;
        for (int k = 0; k < ${items}; ++k) {
            if (begin + k < ${end}) ${f"stage[l * {items + 1} + k] = before" if through_local else f"starts[begin + k] = ({out})before"};
            before += own[k];
        }
        carry += sums[${work_group_size - 1}];
        barrier(CLK_LOCAL_MEM_FENCE);
% if through_local:
        <%self:each_of_tile limit="${end}">
                starts[tile + k] = (${out})${staged("k")};
        </%self:each_of_tile>
        barrier(CLK_LOCAL_MEM_FENCE);
% endif
    }
</%def>
<%def name="end_scan()">
    starts[n] = (${out})carry;
% if total == "long":
    totals[total_start] = carry;
% endif
</%def>
<% buffer = ", global const int *restrict buffer" if buffer_slots else "" %>
<% out_total = ", global long *restrict totals, const int total_start" if total == "long" else "" %>
typedef ${total} sum_t;
${packed_counts.functions() if buffer_slots else ""}
<%def name="count(k)" filter="trim">
${length(f"counts[{k}]")}
</%def>
<%def name="length(packed)" filter="trim">
## The count itself, or the number of neighbors that a packed count stands for.
${f"neighbors_of({packed}, buffer)" if buffer_slots else packed}
</%def>

// Sums the counts of each group's share.
// Launch: groups of ${work_group_size}; group g sums the counts from g * span up to (g + 1) * span.
// In: counts (n,). Out: partials (groups,).
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void sum_shares(const int n, const int span, global const int *restrict counts${buffer}, global sum_t *restrict partials)
{
    local sum_t sums[${work_group_size}];
    const int l = get_local_id(0);
    const int end = min((long)n, (long)(get_group_id(0) + 1) * span);
    sum_t sum = 0;
    for (int k = (int)get_group_id(0) * span + l; k < end; k += ${work_group_size}) sum += ${count("k")};
    sums[l] = sum;
    ${group_scan.total("sums")}
    if (l == 0) partials[get_group_id(0)] = sums[0];
}

// Scans each group's share exclusively. Each group first sums the partials of the shares before its own.
// Launch: groups of ${work_group_size}; group g scans the counts from g * span up to (g + 1) * span, as sum_shares.
// In: counts (n,), partials (groups,). Out: starts (n + 1,), with the total at the end; totals[total_start].
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void scan_shares(const int n, const int span, global const int *restrict counts${buffer},
                 global const sum_t *restrict partials, global ${out} *restrict starts${out_total})
{
    local sum_t sums[${work_group_size}];
    const int l = get_local_id(0), g = get_group_id(0);
    const int end = min((long)n, (long)(g + 1) * span);
    sum_t sum = 0;
    for (int k = l; k < g; k += ${work_group_size}) sum += partials[k];
    sums[l] = sum;
    ${group_scan.total("sums")}
    barrier(CLK_LOCAL_MEM_FENCE);
    sum_t carry = sums[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    ${scan_tiles("g * span", "end")}
    if (l == 0 && end == n && g * span < max(n, 1)) {
        ${end_scan()}
    }
}

// Computes counts from their exclusive scan, which may have overflowed.
// Launch: one work-item per count, groups of ${work_group_size}.
// In: starts (n + 1,). Out: counts (n,).
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void counts_between(const int n, global const ${out} *restrict starts, global int *restrict counts)
{
    const int k = get_global_id(0);
    if (k < n) counts[k] = (int)((uint)starts[k + 1] - (uint)starts[k]);
}

// Scans few counts exclusively. Each group first sums all counts before its share, which takes less time than another launch.
// Launch: groups of ${work_group_size}; group g scans the counts from g * span up to (g + 1) * span. With several groups, span
// is a multiple of four.
// In: counts (n,), aligned as int4. Out: starts (n + 1,), with the total at the end; totals[total_start].
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void scan_few(const int n, const int span, global const int *restrict counts${buffer}, global ${out} *restrict starts${out_total})
{
    local sum_t sums[${work_group_size}];
    const int l = get_local_id(0), origin = (int)get_group_id(0) * span;
    const int end = min((long)n, (long)origin + span);
    sum_t sum = 0;
    // One loop adds all counts. With two loops, tile by tile, the result of a compiler for CPUs was a total of zero.
% if items % 4 == 0:
    global const int4 *restrict fours = (global const int4 *)counts;
#pragma unroll 4
    for (int k = l; k < origin / 4; k += ${work_group_size}) {
        const int4 four = fours[k];
        sum += (sum_t)${length("four.s0")} + ${length("four.s1")} + ${length("four.s2")} + ${length("four.s3")};
    }
% else:
    for (int k = l; k < origin; k += ${work_group_size}) sum += ${count("k")};
% endif
    sums[l] = sum;
    ${group_scan.total("sums")}
    barrier(CLK_LOCAL_MEM_FENCE);
    sum_t carry = sums[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    ${scan_tiles("origin", "end")}
    if (l == 0 && end == n) {
        ${end_scan()}
    }
}
