<%namespace name="boxes" file="/tree/node_boxes.mako"/>
<%namespace name="gifts" file="/common/group_exchange.mako"/>
## What stands above boxes in slots of local memory: the nodes over a row of them; and, by the group that ends last, the top
## of a tree above what all groups have given, with what they have found.
## Config fields used: work_group_size, dim, real, leaves.
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

<%def name="fit_top()">
<%
    found = 2 * dim + 2
    last_int = found * (2 if real == "double" else 1)
%>\
    // The group gives what it has found, and counts itself. The last that does so has what all have given: as nothing orders
    // a group's atomic operations for others, the count is made of the answers to all gifts, which are zero.
    local int ended, answers[${found + 1}];
    const int groups = get_num_groups(0);
    for (int number = l; number < ${found}; number += ${work_group_size}) {
        const real x = number < ${dim} ? lows[number] : number < ${2 * dim} ? highs[number - ${dim}] : number == ${2 * dim} ? grown[0] : crowds[0];
        answers[number] = ${gifts.give("number", "x")};
    }
    if (l == 0) answers[${found}] = ${gifts.give_int(last_int, "bads[0]")};
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (l == 0) {
        int counts = 1;
        for (int number = 0; number <= ${found}; ++number) counts += answers[number];
        ended = atomic_add(&told[${last_int + 1} * groups], counts) + 1;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const int last = ended == groups, tops = last ? groups : 0, slots = min(tops, ${leaves});
    for (int slot = l; slot < slots; slot += ${work_group_size}) {
        real growth = 0, crowd = 0;
        int bad = INT_MAX;
        for (int g = slot; g < tops; g += slots) {
% for k in range(dim):
            const real low${k} = ${gifts.take(k)}, high${k} = ${gifts.take(dim + k)};
            lows[slot * ${dim} + ${k}] = low${k};
            highs[slot * ${dim} + ${k}] = high${k};
% endfor
            ${boxes.store("nodes", "groups + g", "")}
            growth = fmax(growth, ${gifts.take(2 * dim)});
            crowd += ${gifts.take(2 * dim + 1)};
            bad = min(bad, ${gifts.take_int(last_int)});
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
