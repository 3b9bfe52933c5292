## Row sums: the neighbors that shares of 1 << frnn_share rows have together, added up by a count ("summed"), so that who
## finds out where rows begin need not go through all counts before its own.
## Config fields used: summed; sector is the same for all.
<%def name="arguments()">
    , global int *restrict frnn_row_sums, const int frnn_share
</%def>

<%def name="add(row, count)">
        if (${count}) atomic_add(&frnn_row_sums[${place(f"{row} >> frnn_share")}], ${count});
</%def>

<%def name="place(share)" filter="trim">
## Where the sum of a share lies: each in a sector of memory of its own, as atomic operations in one wait for each other.
${sector} * (${share})
</%def>

<%def name="before(kind)">
    // The sum of all shares before that of group g, by each item for some of them; the sums of the count before are cleared.
    if (l == 0) last[${place("g")}] = 0;
    ${kind} sum = 0;
    for (int k = l; k < g; k += (int)get_local_size(0)) sum += shares[${place("k")}];
</%def>
