## Defines how the leaves that a packet has found are divided among bands. A band is neighboring work-items; in
## lockstep, they visit every leaf that one of their queries touches, so that the loads of a band have one address.
## Bands have different queries; with shares, they have the same queries and different shares of the leaves.
## In scope: what /methods/tree/packets.mako declares.
## Config fields used: work_group_size, dim, components, periodic, leaf_capacity, band, bands, word, shares.
<%namespace name="node_boxes" file="/methods/tree/node_boxes.mako"/>
<%def name="words()"><% return -(-leaf_capacity // (word * shares)) %></%def>

<%def name="of_band(array, number)" filter="trim">
${array}[(${number}) * ${bands} + frnn_l / ${band}]
</%def>

<%def name="of_share(k)" filter="trim">
## The number on the list of the k-th leaf of this work-item's share.
${f"({k} * {shares} + frnn_l / {work_group_size // shares})" if shares > 1 else k}
</%def>

<%def name="divide(whole)">
<% arrays = ("frnn_touched_bits", "frnn_partial_bits") if whole else ("frnn_touched_bits",) %>\
        // A bit for each leaf on the list that a query touches; the bits of all queries of a band are joined.
% if whole:
        // And a bit for each leaf that may hold a point which is not a neighbor. There is none where the leaf is full
        // and the query reaches the far corner of its box, because no point in the box is farther than that corner.
% endif
        // The loop is written out: a driver for CPUs assumes that all work-items enter a loop that stands first between
        // two barriers.
<% number = bands * words() %>\
% for array in arrays:
% for first in range(0, number, work_group_size):
        ${f"if ({first} + frnn_l < {number}) " if first + work_group_size > number else ""}${array}[${first} + frnn_l] = 0;
% endfor
% endfor
        frnn_barrier();
        const int frnn_portion = ${f"(frnn_found + {shares - 1} - frnn_l / {work_group_size // shares}) / {shares}" if shares > 1 else "frnn_found"};
        for (int frnn_from = 0; frnn_from < frnn_portion; frnn_from += ${word}) {
            const int frnn_many = frnn_min(${word}, frnn_portion - frnn_from);
            uint frnn_touched = 0, frnn_partly = 0;
#pragma unroll 8
            for (int frnn_k = 0; frnn_k < frnn_many; ++frnn_k) {
                const int frnn_listed = ${of_share("(frnn_from + frnn_k)")};
                ${node_boxes.apart("frnn_leaf_boxes", "frnn_listed", "frnn_leaf_", local=True)}
                frnn_touched |= (uint)(frnn_leaf_apart <= ${node_boxes.bound()}) << frnn_k;
% if whole:
% for k, component in enumerate(components):
                const real frnn_far${k} = fmax(frnn_q${component} - frnn_leaf_low${k}, frnn_leaf_high${k} - frnn_q${component});
% endfor
                const int frnn_all = frnn_list[frnn_listed] < frnn_full & ${" + ".join(f"frnn_far{k} * frnn_far{k}" for k in range(dim))} <= reach2;
                frnn_partly |= (uint)(frnn_searches & !frnn_all) << frnn_k;
% endif
            }
% for array, bits in zip(arrays, ("frnn_touched", "frnn_partly")):
            frnn_or_bits(&${of_band(array, f"frnn_from / {word}")}, ${bits});
% endfor
        }
        frnn_barrier();
</%def>

<%def name="add_shares(sum)">
    // The sums of the work-items that serve the same query are added by the first of them.
    frnn_stack[frnn_l] = ${sum};
    frnn_barrier();
    for (int frnn_k = frnn_l + ${work_group_size // shares}; frnn_k < ${work_group_size}; frnn_k += ${work_group_size // shares}) ${sum} += frnn_stack[frnn_k];
    frnn_active &= frnn_l < ${work_group_size // shares};
</%def>
