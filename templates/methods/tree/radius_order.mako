## Defines the kernel that sorts queries with different radii by their radii, so that the queries of a packet have similar work.
## In scope: what including /common/geometry.mako defines.
## Config fields used: work_group_size, dim, components, layout, block, packet, wide, alike.
<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="point_layout" file="/methods/point_layout.mako"/>
<%def name="largest_of_group(name, value)">
    // ${name}: the largest ${value} of the group's work-items.
    folded[get_local_id(0)] = ${value};
    for (int frnn_other = ${work_group_size // 2}; frnn_other > 0; frnn_other /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (get_local_id(0) < frnn_other)
            folded[get_local_id(0)] = fmax(folded[get_local_id(0)], folded[get_local_id(0) + frnn_other]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const real ${name} = folded[0];
    barrier(CLK_LOCAL_MEM_FENCE);
</%def>

<%def name="kernels()">
// Sorts the queries of each block, which follow each other on the curve, by their radii, the largest first. The queries of a
// packet then have similar work and still lie near each other. The ${packet} queries of a packet stay in the order of the curve.
// A whole block stays in that order where it is wide compared with its largest radius, because a packet from all over it would
// touch too many boxes, and where its radii are similar already.
// Launch: a group of ${work_group_size} for each ${block} queries.
// In: own: whether the queries are the points, in the order of frnn_sorted; otherwise before (m,), numbers of queries in the
// order of the curve, and queries (m, dim); radii (m,), by number. Out: order (m,): places of points, or numbers of queries.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void order_by_radii(const int m, const int frnn_n, const int own, ${point_layout.constant_array("frnn_sorted")},
                    global const int *restrict before, global const real *restrict queries,
                    global const real *restrict radii, global int *restrict order)
{
    local real all[${block}], folded[${work_group_size}];
    local int packs[${block}];
    const int first = get_group_id(0) * ${block}, many = min(${block}, m - first);
    real most = -1, least = INFINITY;
% for k in range(dim):
    real low${k} = INFINITY, high${k} = -INFINITY;
% endfor
    for (int k = get_local_id(0); k < many; k += ${work_group_size}) {
        const int place = own ? first + k : before[first + k];
        const real radius = radii[own ? ${point_layout.point_id("place")} : place];
        all[k] = radius >= 0 ? radius : -1;
        most = fmax(most, all[k]);
        least = fmin(least, all[k]);
        real_vec p;
        if (own) p = ${point_layout.point("place")};
        else p = ${geometry.load("queries", "place")};
% for k, component in enumerate(components):
        low${k} = fmin(low${k}, p${component});
        high${k} = fmax(high${k}, p${component});
% endfor
    }
    ${largest_of_group("farthest", "most")}
    ${largest_of_group("nearest", "-least")}
    int unchanged = farthest <= FRNN_REAL(${float(alike)}) * -nearest;
% for k in range(dim):
    {
        ${largest_of_group("end", f"high{k}")}
        ${largest_of_group("begin", f"-low{k}")}
        unchanged |= !(end + begin <= FRNN_REAL(${float(wide)}) * farthest);
    }
% endfor
    // The group does not return here, before a barrier: PoCL 3.0 corrupts its memory after that.
    const int sorted = unchanged ? 0 : many;
    for (int k = get_local_id(0); k < sorted; k += ${work_group_size}) {
        const real mine = all[k];
        int rank = 0;
        for (int other = 0; other < k; ++other) rank += all[other] >= mine;
        for (int other = k + 1; other < many; ++other) rank += all[other] > mine;
        packs[k] = rank / ${packet};
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = get_local_id(0); k < many; k += ${work_group_size}) {
        int place = k;
        if (!unchanged) {
            const int mine = packs[k];
            place = mine * ${packet};
            for (int other = 0; other < k; ++other) place += packs[other] == mine;
        }
        order[first + place] = own ? first + k : before[first + k];
    }
}
</%def>
