<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="refit" file="/tree/refit.mako"/>
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
    local uint keys[${halved + work_group_size}];
    local int ids[${halved}];
    const int l = get_local_id(0), leaves = ${halved} / slots;
    const int first = get_group_id(0) * leaves * leaf_size, many = min(n - first, leaves * leaf_size);
    for (int s = l; s < ${halved}; s += ${work_group_size}) {
        keys[${slot("s")}] = s < many ? s : UINT_MAX;
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
        if (s % slots < leaf_size & place < many) order[first + place] = ids[keys[${slot("s")}] % ${halved}];
    }
}
</%def>

<%def name="slot(place)" filter="trim">
## What lies so far apart that items beside each other would wait for one bank of local memory is shifted.
<% bits = (halved // work_group_size).bit_length() - 1 %>\
(${place}) + ((${place}) >> ${bits})
</%def>

<%def name="take_half()">
<% each = halved // work_group_size %>\
        // Of what stands sorted in a part twice as large, the first half's full leaves, or what is behind them; at first all.
        const int begin = l * ${each}, part = begin & -size, before = begin & -2 * size;
        const int here = min(size / slots * leaf_size, many - part / slots * leaf_size);
        const int from = before + (part - before) / slots * leaf_size - part;
% for e in range(each):
        uint key${e} = begin + ${e} - part < here ? keys[${slot(f"from + begin + {e}")}] % ${halved} : UINT_MAX;
% endfor
</%def>

<%def name="mark_places()">
<% each = halved // work_group_size %>\
        // The box of each part, by the items that keep its slots.
        const int team = size / ${each}, captain = l & -team;
        {
% for k in range(dim):
            real low${k} = INFINITY, high${k} = -INFINITY;
% endfor
% for e in range(each):
            if (key${e} < ${halved}) {
% for k in range(dim):
                low${k} = fmin(low${k}, all[${k * halved} + key${e}]);
                high${k} = fmax(high${k}, all[${k * halved} + key${e}]);
% endfor
            }
% endfor
% for k in range(dim):
            lows[${k * work_group_size} + l] = low${k};
            highs[${k * work_group_size} + l] = high${k};
% endfor
        }
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
        {
            // Sides by halves, as the box may be wider than any number.
            real start = lows[captain] / 2, side = highs[captain] / 2 - start;
            int axis = 0;
% for k in range(1, dim):
            {
                const real low = lows[${k * work_group_size} + captain] / 2, wide = highs[${k * work_group_size} + captain] / 2 - low;
                if (wide > side) {
                    start = low;
                    side = wide;
                    axis = ${k * halved};
                }
            }
% endfor
% for e in range(each):
            if (key${e} < ${halved}) {
                const real share = (all[axis + key${e}] / 2 - start) / side;
                key${e} += (uint)fmin(fmax(share * ${1 << most_bits}, (real)0), (real)${(1 << most_bits) - 1}) * ${halved};
            }
% endfor
        }
</%def>

<%def name="sort_parts()">
<%
    each = halved // work_group_size
    bits = each.bit_length() - 1
%>\
        // Each part by its keys: runs twice as long as before, one half of them falling, are merged (Batcher 1968). An item takes
        // ${each} keys, at first its own, then such as lie `apart`, and compares all of them that are to be compared before others
        // wait for it; what is compared once more than it has to be stays as it is. One loop, as drivers take long for loops in
        // loops with barriers.
% for run in (2 << s for s in range(bits)):
        if (${run} <= size) {
% for near in (run >> s for s in range(1, run.bit_length())):
            ${compare(near, "begin", str(run), 1)}
% endfor
        }
% endfor
% for e in range(each):
        keys[${slot(f"begin + {e}")}] = key${e};
% endfor
        for (int run = ${2 * each}, apart = 2; run <= size;) {
            barrier(CLK_LOCAL_MEM_FENCE);
            const int first = (l & -apart) * ${each - 1} + l;
% for e in range(each):
            key${e} = keys[${slot(f"first + {e} * apart")}];
% endfor
% for near in (each >> s for s in range(1, bits + 1)):
            ${compare(near, "first", "run", "apart")}
% endfor
% for e in range(each):
            keys[${slot(f"first + {e} * apart")}] = key${e};
% endfor
            if (apart > 1) {
                int next = 1;
                while (next * ${each} < apart) next *= ${each};
                apart = next;
            } else {
                run *= 2;
                apart = run / ${each};
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
</%def>

<%def name="compare(near, first, run, apart)" filter="trim">
% for a in (e for e in range(halved // work_group_size) if not e & near):
            {
                const int falls = (${first} + ${a} * ${apart} & ${run} & size - 1) != 0;
                const uint x = min(key${a}, key${a + near}), y = max(key${a}, key${a + near});
                key${a} = falls ? y : x;
                key${a + near} = falls ? x : y;
            }
% endfor
</%def>
