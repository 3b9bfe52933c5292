## Packed rows: how many neighbors a query has and its place in a stash, in one integer, as queries come in another order than
## rows, and half as many bytes stay in caches until others beside them have come. Of a query with more neighbors than slots
## the stash has their number, where its first neighbor would be.
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
    const int count = row & ${(1 << count_bits) - 1};
    return count <= ${stashed} ? count : stash[4 * (size_t)${place("row")}];
}
</%def>
