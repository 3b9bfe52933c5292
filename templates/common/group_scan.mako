## Group sums: over the items of a group, by way of local memory that has an element for each. In scope is l, the item.
## Config fields used: work_group_size.
<%def name="inclusive(value, scratch, kind)">
    // Sums over the items of a group, inclusive (Hillis and Steele); reading and writing are a barrier apart.
    ${scratch}[l] = ${value};
    for (int reach = 1; reach < ${work_group_size}; reach *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        const ${kind} before = l >= reach ? ${scratch}[l - reach] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        ${scratch}[l] += before;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
</%def>

<%def name="whole(scratch)">
    // The sum over the items of a group, in the first place.
    for (int other = ${work_group_size // 2}; other > 0; other /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < other) ${scratch}[l] += ${scratch}[l + other];
    }
</%def>
