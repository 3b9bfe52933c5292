## Defines sums over the work-items of a group, by way of local memory `scratch` with an element for each work-item.
## In scope: l, the number of the work-item in its group.
## Config fields used: work_group_size.
<%def name="inclusive(value, scratch, kind)">
    // An inclusive scan over the work-items of the group (Hillis and Steele). A barrier stands between reading and writing.
    ${scratch}[l] = ${value};
    for (int reach = 1; reach < ${work_group_size}; reach *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        const ${kind} before = l >= reach ? ${scratch}[l - reach] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        ${scratch}[l] += before;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
</%def>

<%def name="total(scratch)">
    // The sum over the work-items of the group, in the first element.
    for (int other = ${work_group_size // 2}; other > 0; other /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < other) ${scratch}[l] += ${scratch}[l + other];
    }
</%def>
