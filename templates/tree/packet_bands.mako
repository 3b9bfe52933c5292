<%namespace name="boxes" file="/tree/node_boxes.mako"/>
## The leaves that a pack has found, divided among bands of items, each of which looks in step into those that one of it
## touches: what items load together is one address a band. In a band are other queries than in the next, or where
## there are shares the same queries for another share of the leaves.
## Config fields used: work_group_size, dim, components, room, band, bands, word, shares.
<%def name="words()"><% return -(-room // (word * shares)) %></%def>

<%def name="of_band(array, number)" filter="trim">
${array}[(${number}) * ${bands} + frnn_l / ${band}]
</%def>

<%def name="of_share(k)" filter="trim">
## The place on the list of leaf k of those that fall to this item's share.
${f"({k} * {shares} + frnn_l / {work_group_size // shares})" if shares > 1 else k}
</%def>

<%def name="divide(whole)">
<% arrays = ("frnn_bands", "frnn_beyond") if whole else ("frnn_bands",) %>\
        // Bits of the leaves on the list that each query touches, joined for each band.
% if whole:
        // And of those that hold other points than neighbors: none where it reaches the far corner, as no point in the box is
        // farther than that, and the leaf is full.
% endif
        // Written out: a driver for CPUs takes the branch into a loop that begins a part with barriers for one that all take.
<% number = bands * words() %>\
% for array in arrays:
% for first in range(0, number, work_group_size):
        ${f"if ({first} + frnn_l < {number}) " if first + work_group_size > number else ""}${array}[${first} + frnn_l] = 0;
% endfor
% endfor
        frnn_meet();
        const int frnn_portion = ${f"(frnn_found + {shares - 1} - frnn_l / {work_group_size // shares}) / {shares}" if shares > 1 else "frnn_found"};
        for (int frnn_from = 0; frnn_from < frnn_portion; frnn_from += ${word}) {
            const int frnn_many = frnn_min(${word}, frnn_portion - frnn_from);
            uint frnn_touched = 0, frnn_partly = 0;
#pragma unroll 8
            for (int frnn_k = 0; frnn_k < frnn_many; ++frnn_k) {
                const int frnn_listed = ${of_share("(frnn_from + frnn_k)")};
                ${boxes.apart("frnn_kept", "frnn_listed", "frnn_leaf_", local=True)}
                frnn_touched |= (uint)(frnn_leaf_apart <= ${boxes.bound()}) << frnn_k;
% if whole:
% for k, component in enumerate(components):
                const real frnn_far${k} = fmax(frnn_q${component} - frnn_leaf_low${k}, frnn_leaf_high${k} - frnn_q${component});
% endfor
                const int frnn_all = frnn_list[frnn_listed] < frnn_full & ${" + ".join(f"frnn_far{k} * frnn_far{k}" for k in range(dim))} <= reach2;
                frnn_partly |= (uint)(frnn_searches & !frnn_all) << frnn_k;
% endif
            }
% for array, bits in zip(arrays, ("frnn_touched", "frnn_partly")):
            frnn_join(&${of_band(array, f"frnn_from / {word}")}, ${bits});
% endfor
        }
        frnn_meet();
</%def>

<%def name="put_together(sum)">
    // The sums of those who have the same query, for the first of them.
    frnn_stack[frnn_l] = ${sum};
    frnn_meet();
    for (int frnn_k = frnn_l + ${work_group_size // shares}; frnn_k < ${work_group_size}; frnn_k += ${work_group_size // shares}) ${sum} += frnn_stack[frnn_k];
    frnn_active &= frnn_l < ${work_group_size // shares};
</%def>
