## Defines the kernel that sorts blocks of points on the curve by medians, so that leaves are as compact as those of a k-d tree.
## In scope: what including /common/geometry.mako defines, and the functions of /domain/periodic_images.mako.
## Config fields used: work_group_size, dim, periodic, halved.
<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="lattice" file="/domain/lattice.mako"/>\
<%namespace name="refit" file="/methods/tree/refit.mako"/>
<%! most_bits = 22 %>\
<%def name="kernels(images)">
<% each = halved // work_group_size %>\
// Sorts each block of points, which follow each other on the curve: the block is halved at the median of its longest
// axis, and each half again, down to the leaves, whose points stay sorted. All leaves but the last are full, so that
// leaves begin where they did.
// Launch: a group of ${work_group_size} for each ${halved} / slots leaves.
// In: leaf_size; slots: a power of two, no less than leaf_size nor than ${each}, the slots of a work-item; points (n,
// dim). In and out: order (n,), the number of the point at each place.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void order_by_halves(const int n, const int leaf_size, const int slots, global const real *restrict points
                     ${images()}, global int *restrict order)
{
    // The coordinates and the numbers of the block's points, and a key for each slot: the position of a point on the
    // longest axis, and below it the point's number in the block. No two keys are equal, so the order is unique. An
    // empty slot has the largest key.
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
            ${lattice.choose_table("", "i")}
            ${refit.into_box("p")}
% for k in range(dim):
            all[${k * halved} + s] = x${k};
% endfor
        }
    }
    // order is written after all of it has been read.
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    for (int size = ${halved}; size >= slots; size /= 2) {
        ${take_half()}
        ${set_keys()}
        ${sort_parts()}
    }
    for (int s = l; s < ${halved}; s += ${work_group_size}) {
        const int leaf = s / slots, place = leaf * leaf_size + s % slots;
        if (s % slots < leaf_size & place < many) order[first + place] = ids[keys[${slot("s")}] % ${halved}];
    }
}
</%def>

<%def name="slot(place)" filter="trim">
## The slots of a work-item are shifted, because those of neighboring work-items would lie in one bank of local memory
## otherwise.
<% bits = (halved // work_group_size).bit_length() - 1 %>\
(${place}) + ((${place}) >> ${bits})
</%def>

<%def name="take_half()">
<% each = halved // work_group_size %>\
        // A part is one half of a sorted part twice as large: its first full leaves, or the rest. At first there is one part.
        const int begin = l * ${each}, part = begin & -size, before = begin & -2 * size;
        const int here = min(size / slots * leaf_size, many - part / slots * leaf_size);
        const int from = before + (part - before) / slots * leaf_size - part;
% for e in range(each):
        uint key${e} = begin + ${e} - part < here ? keys[${slot(f"from + begin + {e}")}] % ${halved} : UINT_MAX;
% endfor
</%def>

<%def name="set_keys()">
<% each = halved // work_group_size %>\
        // The box of each part, reduced by the work-items that have its slots.
        const int team = size / ${each}, team_first = l & -team;
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
            if (l - team_first < other) {
% for k in range(dim):
                lows[${k * work_group_size} + l] = fmin(lows[${k * work_group_size} + l], lows[${k * work_group_size} + l + other]);
                highs[${k * work_group_size} + l] = fmax(highs[${k * work_group_size} + l], highs[${k * work_group_size} + l + other]);
% endfor
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        {
            // All lengths are halved, because the side of the box may overflow.
            real start = lows[team_first] / 2, side = highs[team_first] / 2 - start;
            int axis = 0;
% for k in range(1, dim):
            {
                const real low = lows[${k * work_group_size} + team_first] / 2, wide = highs[${k * work_group_size} + team_first] / 2 - low;
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
        // A bitonic sort of each part by its keys (Batcher 1968): in each step, sorted runs, every second of them
        // descending, are merged into runs twice as long. A work-item takes ${each} keys that lie `apart` slots apart,
        // and makes all comparisons among them before the next barrier. A comparison that is made once more than needed
        // changes nothing. There is one loop, because compilers take long for nested loops with barriers.
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
                const int descending = (${first} + ${a} * ${apart} & ${run} & size - 1) != 0;
                const uint x = min(key${a}, key${a + near}), y = max(key${a}, key${a + near});
                key${a} = descending ? y : x;
                key${a + near} = descending ? x : y;
            }
% endfor
</%def>
