<%namespace name="geometry" file="geometry.cl.mako"/>
<%namespace name="refit" file="refit.cl.mako"/>
## Leaves as compact as those of a k-d tree: what the curve leaves wound is put right in local memory.
## Config fields used: work_group_size, dim, periodic, halved.
<%! most_bits = 22 %>\
<%def name="order_by_halves(images)">
<% each = halved // work_group_size %>\
// The points of a block, which follow each other on the curve: halved where they lie farthest apart, and each half again, down
// to the leaves, whose points stay sorted. Halves hold full leaves, but for the last, so that leaves begin where they did.
// Launch: a group for each ${halved} / slots leaves. In: n; leaf_size, and slots, a power of two that has room for a leaf and for
// what an item keeps, ${each}; points (n, dim); order (n,), place -> point. Out: order.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void order_by_halves(const int n, const int leaf_size, const int slots, global const real *restrict points
                     ${images()}, global int *restrict order)
{
    // Coordinates and numbers of points, and for each slot the key of a point: how far along the widest axis it lies, then
    // which of the block's it is. Keys are told apart, so that there is one order; slots without a point have the largest.
    local real all[${dim * halved}], lows[${dim * work_group_size}], highs[${dim * work_group_size}];
    local uint keys[${halved}];
    local int ids[${halved}];
    const int l = get_local_id(0), leaves = ${halved} / slots;
    const int first = get_group_id(0) * leaves * leaf_size, many = min(n - first, leaves * leaf_size);
    for (int s = l; s < ${halved}; s += ${work_group_size}) {
        keys[s] = s < many ? s : UINT_MAX;
        if (s < many) {
            const int i = ids[s] = order[first + s];
            const real_vec p = ${geometry.load("points", "i")};
            ${refit.at_home("p")}
% for k in range(dim):
            all[${k * halved} + s] = x${k};
% endfor
        }
    }
    // Numbers go back to where they came from.
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    for (int size = ${halved}; size >= slots; size /= 2) {
        ${take_half()}
        ${mark_places()}
        ${sort_parts()}
    }
    for (int s = l; s < ${halved}; s += ${work_group_size}) {
        const int leaf = s / slots, place = leaf * leaf_size + s % slots;
        if (s % slots < leaf_size & place < many) order[first + place] = ids[keys[s] % ${halved}];
    }
}
</%def>

<%def name="take_half()">
        // Of what stands sorted in a part twice as large, the first half's full leaves, or what is behind them; at first all.
        {
            uint taken[${halved // work_group_size}];
            for (int e = 0; e < ${halved // work_group_size}; ++e) {
                const int s = l * ${halved // work_group_size} + e, part = s & -size, before = s & -2 * size, at = s - part;
                const int here = min(size / slots * leaf_size, many - part / slots * leaf_size);
                const int from = before + (part - before) / slots * leaf_size + at;
                taken[e] = at < here ? keys[from] % ${halved} : UINT_MAX;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int e = 0; e < ${halved // work_group_size}; ++e) keys[l * ${halved // work_group_size} + e] = taken[e];
        }
</%def>

<%def name="mark_places()">
<% each = halved // work_group_size %>\
        // The box of each part, by the items that keep its slots: each of them those of slots beside each other.
        {
            const int team = size / ${each}, captain = l & -team;
% for k in range(dim):
            real low${k} = INFINITY, high${k} = -INFINITY;
% endfor
            for (int e = 0; e < ${each}; ++e) {
                const uint key = keys[l * ${each} + e];
                if (key < ${halved}) {
% for k in range(dim):
                    low${k} = fmin(low${k}, all[${k * halved} + key]);
                    high${k} = fmax(high${k}, all[${k * halved} + key]);
% endfor
                }
            }
% for k in range(dim):
            lows[${k * work_group_size} + l] = low${k};
            highs[${k * work_group_size} + l] = high${k};
% endfor
            for (int other = team / 2; other > 0; other /= 2) {
                barrier(CLK_LOCAL_MEM_FENCE);
                if (l - captain < other) {
% for k in range(dim):
                    lows[${k * work_group_size} + l] = fmin(lows[${k * work_group_size} + l], lows[${k * work_group_size} + l + other]);
                    highs[${k * work_group_size} + l] = fmax(highs[${k * work_group_size} + l], highs[${k * work_group_size} + l + other]);
% endfor
                }
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            // Sides by halves, as the box may be wider than any number.
            real begin = lows[captain] / 2, side = highs[captain] / 2 - begin;
            int axis = 0;
% for k in range(1, dim):
            {
                const real low = lows[${k * work_group_size} + captain] / 2, wide = highs[${k * work_group_size} + captain] / 2 - low;
                if (wide > side) {
                    begin = low;
                    side = wide;
                    axis = ${k * halved};
                }
            }
% endfor
            for (int e = 0; e < ${each}; ++e) {
                const uint key = keys[l * ${each} + e];
                const real share = key < ${halved} ? (all[axis + key] / 2 - begin) / side : 0;
                const uint place = (uint)fmin(fmax(share * ${1 << most_bits}, (real)0), (real)${(1 << most_bits) - 1});
                if (key < ${halved}) keys[l * ${each} + e] = place * ${halved} + key;
            }
        }
</%def>

<%def name="sort_parts()">
<% each = halved // work_group_size %>\
        // Each part by its keys: runs twice as long as before, one half of them falling, are merged (Batcher 1968); what lies
        // as near as an item's own slots, by that item alone. One loop, as drivers for CPUs take long for loops in loops
        // with barriers.
        for (int run = 2, apart = 1; run <= size;) {
            barrier(CLK_LOCAL_MEM_FENCE);
            if (apart >= ${each}) {
                for (int t = l; t < ${halved // 2}; t += ${work_group_size}) {
                    const int a = 2 * t - (t & (apart - 1)), b = a + apart, falls = (a & run & (size - 1)) != 0;
                    const uint x = keys[a], y = keys[b];
                    if ((x > y) != falls) {
                        keys[a] = y;
                        keys[b] = x;
                    }
                }
                apart /= 2;
            } else {
% if each > 1:
% for e in range(each):
                uint key${e} = keys[l * ${each} + ${e}];
% endfor
% for near in (each >> s for s in range(1, each.bit_length())):
                if (run > ${near}) {
% for a in (e for e in range(each) if not e & near):
                    {
                        const int falls = (l * ${each} + ${a} & run & (size - 1)) != 0;
                        const uint x = min(key${a}, key${a + near}), y = max(key${a}, key${a + near});
                        key${a} = falls ? y : x;
                        key${a + near} = falls ? x : y;
                    }
% endfor
                }
% endfor
% for e in range(each):
                keys[l * ${each} + ${e}] = key${e};
% endfor
% endif
                apart = 0;
            }
            if (!apart) {
                apart = run;
                run *= 2;
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
</%def>
