<%namespace name="geometry" file="geometry.cl.mako"/>
<%namespace name="boxes" file="boxes.cl.mako"/>
<%namespace name="places" file="places.cl.mako"/>
<%namespace name="periodic_box" file="periodic.cl.mako"/>
## Boxes from the leaves up: those of a group's leaves and of the nodes above them; then, by the group that ends last, of what
## stands above such nodes, and what all groups have found.
## Config fields used: work_group_size, dim, components, real, periodic, leaves.
<%def name="at_home(p, of='2')">
    // Where the image of ${p} in the periodic box lies: of a point, which may be known to be at home (2), or of any position (1).
% if periodic:
    ${periodic_box.home("images")}
% endif
% for k, component in enumerate(components):
% if periodic:
    const real x${k} = ${p}${component} - (real)frnn_image(${p}${component}, frnn_start${k}, images[${of} * ${dim} + ${k}]) * frnn_length${k};
% else:
    const real x${k} = ${p}${component};
% endif
% endfor
</%def>

<%def name="fit_leaves(again)">
    // Points go to their places, then each leaf's box is made of the points that the group has just put there.
    local real lows[${leaves * dim}], highs[${leaves * dim}], grown[${leaves}], crowds[${leaves}];
    local int bads[${leaves}];
    const int l = get_local_id(0), g = get_group_id(0);
    const int first_leaf = g * ${leaves}, here = min(${leaves}, frnn_leaves);
    // Leaves behind the last point may begin beyond an int.
    const int first = (int)min((long)frnn_n, (long)first_leaf * frnn_leaf_size);
    const int end = (int)min((long)frnn_n, (long)(first_leaf + here) * frnn_leaf_size);
    for (int t = first + l; t < end; t += ${work_group_size}) {
% if again:
        const int i = ${places.point_id("t", "before")};
% else:
        const int i = order[t];
% endif
        const real_vec p = ${geometry.load("points", "i")};
        ${places.put("sorted", "frnn_n", "t", "p", "i")}
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    for (int leaf = l; leaf < here; leaf += ${work_group_size}) {
% for k in range(dim):
        real low${k} = INFINITY, high${k} = -INFINITY;
% endfor
        int bad = INT_MAX;
        const int begin = (int)min((long)end, (long)first + (long)leaf * frnn_leaf_size), finish = min(end, begin + frnn_leaf_size);
        for (int t = begin; t < finish; ++t) {
            const real_vec p = ${places.point("t", "sorted")};
            if (${" && ".join(f"isfinite(p{component})" for component in components)}) {
                ${at_home("p")}
% for k in range(dim):
                low${k} = fmin(low${k}, x${k});
                high${k} = fmax(high${k}, x${k});
% endfor
            } else {
                bad = min(bad, ${places.point_id("t", "sorted")});
            }
        }
        // Of the leaves behind the last point, which nothing is kept of but in the boxes above them, one stands for the root.
        const int kept = (begin < finish) | (first_leaf + leaf == 0);
        if (kept) {
            ${boxes.store("nodes", "frnn_leaves + first_leaf + leaf", "")}
        }
        // Volumes by their logarithms, as products of many sides leave the numbers; no side counts as narrower than least.
        // A leaf without points has none, so that any that come to it have grown without end.
        real volume = -INFINITY, crowd = 0;
        if (low0 <= high0) {
            volume = 0;
% for k in range(dim):
            volume += log2(fmax(high${k} - low${k}, least));
% endfor
            // A side far shorter than the longest is the thickness of a sheet or a line: a cube of the radius holds all of it.
            // And boxes of few points are smaller than what these have to themselves.
            const real many = finish - begin;
            const real longest = ${"high0 - low0" if dim == 1 else "".join("fmax(" for _ in range(dim - 1)) + "high0 - low0, " + ", ".join(f"high{k} - low{k})" for k in range(1, dim))};
            crowd = many * many;
% for k in range(dim):
            if (high${k} - low${k} >= longest / 16) crowd *= radius / fmax(high${k} - low${k}, least);
            crowd *= (many - 1) / (many + 1);
% endfor
        }
        if (fresh && kept) volumes[first_leaf + leaf] = volume;
        grown[leaf] = low0 <= high0 ? volume - volumes[first_leaf + leaf] : 0;
        crowds[leaf] = crowd;
        bads[leaf] = bad;
% for k in range(dim):
        lows[leaf * ${dim} + ${k}] = low${k};
        highs[leaf * ${dim} + ${k}] = high${k};
% endfor
    }
    // The nodes above these leaves, down to one, which the last group keeps.
    ${join_slots("here", "frnn_leaves + first_leaf", least=2)}
</%def>

<%def name="join_slots(many, first, least)">
    // The nodes above `many` that stand beside each other, the first of number `first`, whose boxes lie in slots from 0 on;
    // they are kept where `least` of them stand beside each other. The topmost lies in slot 0.
    for (int wide = ${many} / 2, apart = 1; wide > 0; wide /= 2, apart *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = l; k < wide; k += ${work_group_size}) {
            const int left = 2 * k * apart, right = left + apart;
% for k in range(dim):
            const real low${k} = fmin(lows[left * ${dim} + ${k}], lows[right * ${dim} + ${k}]);
            const real high${k} = fmax(highs[left * ${dim} + ${k}], highs[right * ${dim} + ${k}]);
            lows[left * ${dim} + ${k}] = low${k};
            highs[left * ${dim} + ${k}] = high${k};
% endfor
            grown[left] = fmax(grown[left], grown[right]);
            crowds[left] += crowds[right];
            bads[left] = min(bads[left], bads[right]);
            if (wide >= ${least}) {
                ${boxes.store("nodes", f"({first}) / (2 * apart) + k", "")}
            }
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
</%def>

## What groups tell each other: `found` real numbers, then one int. By atomic operations, as no cache may answer for others.
<%def name="give(number, x)">
% if real == "float":
            atomic_xchg(&told[${number} * groups + g], as_int(${x}));
% else:
            const int2 halves = as_int2(${x});
            atomic_xchg(&told[2 * ${number} * groups + g], halves.s0);
            atomic_xchg(&told[(2 * ${number} + 1) * groups + g], halves.s1);
% endif
</%def>

<%def name="take(number)" filter="trim">
% if real == "float":
as_float(${take_int(number)})
% else:
as_double((int2)(${take_int(2 * number)}, ${take_int(2 * number + 1)}))
% endif
</%def>

<%def name="take_int(number)" filter="trim">
atomic_or(&told[${number} * groups + g], 0)
</%def>

<%def name="fit_top()">
<%
    found = 2 * dim + 2
    last_int = found * (2 if real == "double" else 1)
%>\
    // The group gives what it has found, and counts itself. The last that does so has what all have given.
    local int ended;
    const int groups = get_num_groups(0);
    for (int number = l; number < ${found}; number += ${work_group_size}) {
        const real x = number < ${dim} ? lows[number] : number < ${2 * dim} ? highs[number - ${dim}] : number == ${2 * dim} ? grown[0] : crowds[0];
        ${give("number", "x")}
    }
    if (l == 0) atomic_xchg(&told[${last_int} * groups + g], bads[0]);
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (l == 0) ended = atomic_inc(&told[${last_int + 1} * groups]) + 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    const int last = ended == groups, tops = last ? groups : 0, slots = min(tops, ${leaves});
    for (int slot = l; slot < slots; slot += ${work_group_size}) {
        real growth = 0, crowd = 0;
        int bad = INT_MAX;
        for (int g = slot; g < tops; g += slots) {
% for k in range(dim):
            const real low${k} = ${take(k)}, high${k} = ${take(dim + k)};
            lows[slot * ${dim} + ${k}] = low${k};
            highs[slot * ${dim} + ${k}] = high${k};
% endfor
            ${boxes.store("nodes", "groups + g", "")}
            growth = fmax(growth, ${take(2 * dim)});
            crowd += ${take(2 * dim + 1)};
            bad = min(bad, ${take_int(last_int)});
        }
        grown[slot] = growth;
        crowds[slot] = crowd;
        bads[slot] = bad;
    }
    // Where there are more than slots, level by level down to as many.
    for (int level = tops; level > slots; level /= 2) {
        barrier(CLK_GLOBAL_MEM_FENCE);
        for (int slot = l; slot < level / 2; slot += ${work_group_size}) {
            ${boxes.load("nodes", "level + 2 * slot", "left_")}
            ${boxes.load("nodes", "level + 2 * slot + 1", "right_")}
% for k in range(dim):
            const real low${k} = fmin(left_low${k}, right_low${k}), high${k} = fmax(left_high${k}, right_high${k});
            if (level / 2 == slots) {
                lows[slot * ${dim} + ${k}] = low${k};
                highs[slot * ${dim} + ${k}] = high${k};
            }
% endfor
            ${boxes.store("nodes", "level / 2 + slot", "")}
        }
    }
    ${join_slots("slots", "slots", least=1)}
    if (last && l == 0) {
        atomic_xchg(&told[${last_int + 1} * groups], 0);
        growths[0] = grown[0];
        growths[1] = crowds[0];
        ${boxes.all_finite("nodes")} = bads[0] == INT_MAX;
        if (!known) {
% for k in range(dim):
            boxes[place + ${k}] = lows[${k}];
            boxes[place + ${dim + k}] = highs[${k}];
% endfor
            boxes[place + ${2 * dim}] = FRNN_ID_LANE(bads[0]);
        }
    }
</%def>
