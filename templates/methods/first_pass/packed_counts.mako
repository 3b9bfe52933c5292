## Defines packed counts: the low bits of an integer hold the number of a query's neighbors, and the other bits the query's
## place in the neighbor buffer. A query that overflows has a number of one more than the slots; its first slot holds the true
## number. Counts are written by the queries' own numbers, while the search goes in search order. Packed, they are half as many
## bytes as counts and places would be, so more of them stay in the caches of a GPU until the sector around them is full.
## Nothing must be in scope.
## Config fields used: buffer_slots; count_bits follows from it.
<%def name="pack(count, place)" filter="trim">
(int)((uint)(${place}) << ${count_bits} | (uint)frnn_min(${count}, ${buffer_slots + 1}))
</%def>

<%def name="place(packed)" filter="trim">
(int)((uint)(${packed}) >> ${count_bits})
</%def>

<%def name="functions()">
int neighbors_of(const int packed, global const int *restrict buffer)
{
    // Written without a branch: behind a branch, a compiler for CPUs omits counts from sums.
    const int count = packed & ${(1 << count_bits) - 1}, fits = count <= ${buffer_slots};
    const int more = buffer[fits ? 0 : 4 * (size_t)${place("packed")}];
    return fits ? count : more;
}
</%def>
