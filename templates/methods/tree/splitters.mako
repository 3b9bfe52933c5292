## Defines the kernels that cut the curve into ranges by splitters, which are the sorted keys of a sample of the points.
## The number of a range is a short key, and ranges hold similar numbers of points however these crowd.
## In scope: sampled_point of /primitives/occupancy_sample.mako and the functions of /methods/tree/hilbert_curve.mako.
## Config fields used: work_group_size, dim, periodic, curve_bits, comparing, compared.
<%namespace name="hilbert_curve" file="/methods/tree/hilbert_curve.mako"/>
<%def name="kernels(images)">
// Computes the keys of a sample of the points, one out of every `apart`.
// Launch: one work-item per sampled point, groups of ${work_group_size}.
// In: points (n, dim); bulk: where most of the points lie; images. Out: keys (sampled,).
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void sample_keys(const int sampled, const int apart, global const real *restrict points,
                 global const real *restrict bulk${images()}, global ulong *restrict keys)
{
    if (get_global_id(0) >= sampled) return;
    const int i = sampled_point(get_global_id(0), apart);
    ${hilbert_curve.key_of("points", inverse_row=2)}
    keys[get_global_id(0)] = key;
}

<% helpers = min(comparing, work_group_size) %>\
// Sorts the sampled keys: the rank of a key is the number of keys that are smaller, or equal and before it.
// Launch: ${helpers} work-items for every ${compared} keys, groups of ${work_group_size}.
// In: keys (sampled,). Out: bounds (sampled + 1,), the splitters; the first is 0 and the last is the end of the curve.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void sort_sample(const int sampled, global const ulong *restrict keys, global ulong *restrict bounds)
{
    local int ranks[${compared * work_group_size // helpers}];
    const int l = get_local_id(0), helper = l % ${helpers}, team = l / ${helpers} * ${compared};
    const int first = (int)(get_global_id(0) / ${helpers}) * ${compared};
% for e in range(compared):
    const ulong own${e} = first + ${e} < sampled ? keys[first + ${e}] : 0;
    int before${e} = 0;
% endfor
    for (int k = helper; k < min(first, sampled); k += ${helpers}) {
        const ulong other = keys[k];
% for e in range(compared):
        before${e} += other <= own${e};
% endfor
    }
    for (int k = first + ${compared} + helper; k < sampled; k += ${helpers}) {
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
    for (int e = helper; e < ${compared}; e += ${helpers}) ranks[team + e] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
% for e in range(compared):
    atomic_add(&ranks[team + ${e}], before${e});
% endfor
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int e = helper; e < ${compared} && first + e < sampled; e += ${helpers})
        bounds[ranks[team + e]] = ranks[team + e] == 0 ? 0 : keys[first + e];
    if (get_global_id(0) == 0) bounds[sampled] = ${1 << curve_bits * dim}ul;
}

// Computes a short key for each point: the range of the curve in which the point lies, and which of 1 << parts equal
// parts of that range.
// Launch: one work-item per point, groups of ${work_group_size}.
// In: points (n, dim); bulk and images as above; bounds (sampled + 1,), where sampled is a power of two.
// Out: keys (n,).
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void curve_parts(const int n, global const real *restrict points, global const real *restrict bulk${images()},
                 const int sampled, const int parts, global const ulong *restrict bounds,
                 global uint *restrict keys)
{
    const int i = get_global_id(0);
    if (i >= n) return;
    ${hilbert_curve.key_of("points", inverse_row=2)}
    int range = 0;
    for (int step = sampled / 2; step > 0; step /= 2)
        if (bounds[range + step] <= key) range += step;
    const ulong low = bounds[range];
    const float share = (float)(key - low) / (float)(bounds[range + 1] - low);
    keys[i] = (uint)range << parts | (uint)fmin(share * (float)(1u << parts), (float)((1u << parts) - 1));
}
</%def>
