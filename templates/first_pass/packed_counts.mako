## Packed rows: of a query how many neighbors it has, in the low bits, and its place in a stash, in one integer. Queries come in
## another order than rows, and of half as many bytes caches keep more, until those beside them have come. A query with more
## neighbors than slots says one more than slots; their number stands in the stash, where its first neighbor would.
## Config fields used: stashed; count_bits follows from it.
<%def name="pack(count, place)" filter="trim">
(int)((uint)(${place}) << ${count_bits} | (uint)frnn_min(${count}, ${stashed + 1}))
</%def>

<%def name="place(row)" filter="trim">
(int)((uint)(${row}) >> ${count_bits})
</%def>

<%def name="functions()">
int neighbors_of(const int row, global const int *restrict stash)
{
    // Without a branch: a compiler for CPUs leaves rows out of sums behind one.
    const int count = row & ${(1 << count_bits) - 1}, whole = count <= ${stashed};
    const int more = stash[whole ? 0 : 4 * (size_t)${place("row")}];
    return whole ? count : more;
}
</%def>
