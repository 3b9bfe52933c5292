## Defines the upper nodes of a tree: the nodes above a row of boxes in local memory, and the top of the tree above the
## nodes of all groups, which the group that is done last fits.
## In scope: l and g, the numbers of the work-item and of the group; the local arrays of fit_leaves of /methods/tree/refit.mako;
## the parameters of the kernels of /methods/tree/build.cl.mako.
## Config fields used: work_group_size, dim, real, leaves.
<%namespace name="node_boxes" file="/methods/tree/node_boxes.mako"/>
<%namespace name="group_exchange" file="/common/group_exchange.mako"/>
<%def name="join_slots(many, first, least)">
    // The nodes above `${many}` neighboring nodes, whose boxes are in the slots from 0 on and whose first number is
    // `${first}`. Levels of at least ${least} nodes are stored. The box of the topmost node ends in slot 0.
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
                ${node_boxes.store("nodes", f"({first}) / (2 * apart) + k", "")}
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
    // The group publishes its results and counts itself as done. The group that is done last collects the results of
    // all groups. Nothing orders the atomic operations of one group for another. The count is therefore computed from
    // the old values that all of them return, which are zero: it cannot be added before the results have arrived.
    local int done, old_values[${found + 1}];
    const int groups = get_num_groups(0);
    for (int number = l; number < ${found}; number += ${work_group_size}) {
        const real x = number < ${dim} ? lows[number] : number < ${2 * dim} ? highs[number - ${dim}] : number == ${2 * dim} ? grown[0] : crowds[0];
        old_values[number] = ${group_exchange.publish("number", "x")};
    }
    if (l == 0) old_values[${found}] = ${group_exchange.publish_int(last_int, "bads[0]")};
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (l == 0) {
        int counts = 1;
        for (int number = 0; number <= ${found}; ++number) counts += old_values[number];
        done = atomic_add(&partials[${last_int + 1} * groups], counts) + 1;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const int last = done == groups, tops = last ? groups : 0, slots = min(tops, ${leaves});
    for (int slot = l; slot < slots; slot += ${work_group_size}) {
        real growth = 0, crowd = 0;
        int bad = INT_MAX;
        for (int g = slot; g < tops; g += slots) {
% for k in range(dim):
            const real low${k} = ${group_exchange.collect(k)}, high${k} = ${group_exchange.collect(dim + k)};
            lows[slot * ${dim} + ${k}] = low${k};
            highs[slot * ${dim} + ${k}] = high${k};
% endfor
            ${node_boxes.store("nodes", "groups + g", "")}
            growth = fmax(growth, ${group_exchange.collect(2 * dim)});
            crowd += ${group_exchange.collect(2 * dim + 1)};
            bad = min(bad, ${group_exchange.collect_int(last_int)});
        }
        grown[slot] = growth;
        crowds[slot] = crowd;
        bads[slot] = bad;
    }
    // If groups are more than slots, their nodes are joined level by level until they are as few.
    for (int level = tops; level > slots; level /= 2) {
        barrier(CLK_GLOBAL_MEM_FENCE);
        for (int slot = l; slot < level / 2; slot += ${work_group_size}) {
            ${node_boxes.load("nodes", "level + 2 * slot", "left_")}
            ${node_boxes.load("nodes", "level + 2 * slot + 1", "right_")}
% for k in range(dim):
            const real low${k} = fmin(left_low${k}, right_low${k}), high${k} = fmax(left_high${k}, right_high${k});
            if (level / 2 == slots) {
                lows[slot * ${dim} + ${k}] = low${k};
                highs[slot * ${dim} + ${k}] = high${k};
            }
% endfor
            ${node_boxes.store("nodes", "level / 2 + slot", "")}
        }
    }
    ${join_slots("slots", "slots", least=1)}
    if (last && l == 0) {
        atomic_xchg(&partials[${last_int + 1} * groups], 0);
        growths[0] = grown[0];
        growths[1] = crowds[0];
        ${node_boxes.all_finite("nodes")} = bads[0] == INT_MAX;
        if (!known) {
% for k in range(dim):
            boxes[box_start + ${k}] = lows[${k}];
            boxes[box_start + ${dim + k}] = highs[${k}];
% endfor
            boxes[box_start + ${2 * dim}] = FRNN_ID_LANE(bads[0]);
        }
    }
</%def>
