## Packed counts: the number of a query's neighbors in the low bits of an integer, and the query's place in the neighbor buffer
## in the others. Counts are written in the order of the caller's queries, which is another than that of search: half as many
## bytes stay in the caches of a GPU until the sector around them is full. A query that overflows says one more than there
## are slots; its number of neighbors stands in the first of its slots.
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
    // Without a branch: a compiler for CPUs leaves counts out of sums behind one.
    const int count = packed & ${(1 << count_bits) - 1}, fits = count <= ${buffer_slots};
    const int more = buffer[fits ? 0 : 4 * (size_t)${place("packed")}];
    return fits ? count : more;
}
</%def>
