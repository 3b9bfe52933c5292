<%namespace name="curve" file="/tree/hilbert_curve.mako"/>
## The curve cut where a sample of the points says that as many lie between: keys are short then, however points crowd.
## Config fields used: work_group_size, dim, periodic.
<%def name="kernels(images)">
// Where some of the points lie on the curve, one of each `apart`.
// Launch: one work-item per sampled point. In: points (n, dim); boxes: low and high of all points from place on. Out: keys (sampled,).
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void sample_keys(const int sampled, const int apart, global const real *restrict points,
                 global const real *restrict boxes, const int place${images()}, global ulong *restrict keys)
{
    if (get_global_id(0) >= sampled) return;
    const int i = place_of(get_global_id(0), apart);
    ${curve.key_of("points", of=2)}
    keys[get_global_id(0)] = key;
}

<% together = min(comparing, work_group_size) %>\
// These in ascending order: each goes to as many as are smaller, or the same and before it.
// Launch: ${together} work-items for ${compared} keys. In: keys (sampled,). Out: bounds (sampled + 1,), of which the first is 0 and
// the last the end of the curve.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void sort_sample(const int sampled, global const ulong *restrict keys, global ulong *restrict bounds)
{
    local int ranks[${compared * work_group_size // together}];
    const int l = get_local_id(0), helper = l % ${together}, team = l / ${together} * ${compared};
    const int first = (int)(get_global_id(0) / ${together}) * ${compared};
% for e in range(compared):
    const ulong own${e} = first + ${e} < sampled ? keys[first + ${e}] : 0;
    int before${e} = 0;
% endfor
    for (int k = helper; k < min(first, sampled); k += ${together}) {
        const ulong other = keys[k];
% for e in range(compared):
        before${e} += other <= own${e};
% endfor
    }
    for (int k = first + ${compared} + helper; k < sampled; k += ${together}) {
        const ulong other = keys[k];
% for e in range(compared):
        before${e} += other < own${e};
% endfor
    }
    if (helper == 0) {
% for e in range(compared):
% for o in range(compared):
% if o < e:
        before${e} += own${o} <= own${e};
% elif o > e:
        before${e} += first + ${o} < sampled & own${o} < own${e};
% endif
% endfor
% endfor
    }
    for (int e = helper; e < ${compared}; e += ${together}) ranks[team + e] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
% for e in range(compared):
    atomic_add(&ranks[team + ${e}], before${e});
% endfor
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int e = helper; e < ${compared} && first + e < sampled; e += ${together})
        bounds[ranks[team + e]] = ranks[team + e] == 0 ? 0 : keys[first + e];
    if (get_global_id(0) == 0) bounds[sampled] = ${1 << curve_bits * dim}ul;
}

// The range between these bounds that each point lies in, and which of 2 to the power `parts` even parts of it.
// Launch: one work-item per point. In: points (n, dim), boxes as above, bounds (sampled + 1,), a power of two of ranges. Out: keys (n,).
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void curve_parts(const int n, global const real *restrict points, global const real *restrict boxes,
                 const int place${images()}, const int sampled, const int parts, global const ulong *restrict bounds,
                 global uint *restrict keys)
{
    const int i = get_global_id(0);
    if (i >= n) return;
    ${curve.key_of("points", of=2)}
    int range = 0;
    for (int step = sampled / 2; step > 0; step /= 2)
        if (bounds[range + step] <= key) range += step;
    const ulong low = bounds[range];
    const float share = (float)(key - low) / (float)(bounds[range + 1] - low);
    keys[i] = (uint)range << parts | (uint)fmin(share * (float)(1u << parts), (float)((1u << parts) - 1));
}
</%def>
