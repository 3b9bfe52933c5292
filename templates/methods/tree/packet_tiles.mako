## Defines how bands test the points of their leaves, a chunk at a time. The work-items of a band load a chunk into
## local memory together, and each of them tests all of it. A load of several bands takes one line of memory for each
## band. A work-item loads only the points that it fetches; without chunks it would load every candidate.
## In scope: what /methods/tree/packets.mako and /methods/tree/packet_bands.mako declare.
## Barriers stand in a loop that all bands run equally often.
## A function with `waiting` takes neighbors some at a time: they wait in local memory until one query has no room for those
## of another chunk, and then those of all queries are taken. Items in lockstep thus take about as many each.
## Config fields used: work_group_size, dim, layout, unrolled, foreign, images, band, bands, chunk, word.
<%namespace name="condition" file="/methods/condition.mako"/>
<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="packet_bands" file="/methods/tree/packet_bands.mako"/>
<%namespace name="point_layout" file="/methods/point_layout.mako"/>
<%namespace name="visit" file="/methods/visit.mako"/>
## Whether the numbers of candidates are loaded.
<%def name="needs_ids(function)"><% return not function.light or not (foreign or visit.counts_itself(function)) or condition.reads(function, "j") %></%def>
<%def name="columns(function)"><% return range(dim + needs_ids(function)) %></%def>
## What a work-item fetches of the next chunk: for each point the point's position in the chunk, and the variable and
## the column of each of its numbers.
<%def name="fetched(function)"><%
    of_point = [("", 0)] if layout == "records" else [(f"_{c}", c) for c in columns(function)]
    return [(k * band, [(f"frnn_fetched{k}{name}", c) for name, c in of_point]) for k in range(chunk // band)]
%></%def>

<%def name="kind()" filter="trim">
${"frnn_record" if layout == "records" else "real"}
</%def>

<%def name="chunk_number(column, at)" filter="trim">
## A number of the band's chunk in local memory. The chunk of each band begins in another bank.
frnn_chunks[${f"{column * bands * (chunk + 1)} + " if column else ""}frnn_chunk_start + ${at}]
</%def>

<%def name="declare(function)">
    local ${kind()} frnn_chunks[${(1 if layout == "records" else len(columns(function))) * bands * (chunk + 1)}];
    local int frnn_rounds[${band}];
% if function.waiting:
    // The neighbors that wait, a column for each query: the bits of the squared distance above the number. And whether a
    // query has no room for those of another chunk: by rounds, so that what was read of one round is cleared in the next.
    local ulong frnn_group_places[${(function.waiting.slots + 1) * work_group_size}];
    local int frnn_full[2];
% endif
</%def>

<%def name="begin_waiting(function)">
% if function.waiting:
    const int frnn_stride = ${work_group_size};
    local ulong *const frnn_waiting_places = frnn_group_places + frnn_l;
    int frnn_waiting = 0, frnn_listed = 0;
    if (frnn_l < 2) frnn_full[frnn_l] = 0;
% endif
</%def>

<%def name="wait(function, image)">
                    {
                        // Each candidate is stored, and the next one takes the place of those that are no neighbors: a branch
                        // would take longer.
                        ${geometry.differences(image)}
                        const real d2 = ${geometry.squared_distance()};
                        frnn_waiting_places[frnn_waiting * frnn_stride] = ((ulong)as_uint(d2) << 32) | (uint)j;
                        frnn_waiting += (d2 <= reach2) & ${visit.included(image, function)};
                    }
</%def>

<%def name="take_waiting(function)">
% if function.waiting:
            {
                ${function.waiting.taken}
                frnn_waiting = 0;
            }
% endif
</%def>

<%def name="fetch(function, whole)">
            // Fetches the next chunk of this leaf, or the first chunk of the next leaf, or nothing behind the last leaf.
            if (frnn_rest > ${chunk}) {
                frnn_t += ${chunk};
                frnn_rest -= ${chunk};
            } else {
                for (; !frnn_bits && frnn_word * ${word} < frnn_portion; ++frnn_word) {
                    frnn_bits = ${packet_bands.of_band("frnn_touched_bits", "frnn_word")};
% if whole:
                    const uint frnn_partly = ${packet_bands.of_band("frnn_partial_bits", "frnn_word")};
                    frnn_count += frnn_searches${condition.of_query(function)} ? frnn_count_bits(frnn_bits & ~frnn_partly) * frnn_leaf_size : 0;
                    frnn_bits &= frnn_partly;
% endif
                }
                frnn_rest = 0;
                if (frnn_bits) {
                    frnn_t = frnn_list[${packet_bands.of_share(f"((frnn_word - 1) * {word} + frnn_lowest_bit(frnn_bits))")}];
                    frnn_bits &= frnn_bits - 1;
                    frnn_rest = frnn_min(frnn_leaf_size, frnn_n - frnn_t);
                }
            }
            // NaN pads a chunk that is not full, because it is never a neighbor.
% for at, numbers in fetched(function):
% for name, column in numbers:
            ${name} = (${kind()})(NAN);
% endfor
            if (${at} + frnn_in_band < frnn_rest) {
% for name, column in numbers:
                ${name} = \
% if layout == "records":
frnn_sorted[frnn_t + ${at} + frnn_in_band];
% else:
${point_layout.coordinate(column, f"frnn_t + {at} + frnn_in_band", "frnn_sorted")};
% endif
% endfor
            }
% endfor
</%def>

<%def name="count_chunks(whole)">
        // All bands run as many rounds as the band with the most chunks has.
        if (frnn_l < ${band}) frnn_rounds[frnn_l] = 0;
        int frnn_leaves_of_band = 0;
        for (int frnn_k = 0; frnn_k * ${word} < frnn_portion; ++frnn_k) {
            uint frnn_some = ${packet_bands.of_band("frnn_touched_bits", "frnn_k")};
% if whole:
            frnn_some &= ${packet_bands.of_band("frnn_partial_bits", "frnn_k")};
% endif
            frnn_leaves_of_band += frnn_count_bits(frnn_some);
        }
        frnn_barrier();
        // The work-items of a band write different elements, because atomic operations on one element would wait for
        // each other.
        frnn_raise_to(frnn_rounds + frnn_l % ${band}, frnn_leaves_of_band * ((frnn_leaf_size + ${chunk - 1}) / ${chunk}));
        frnn_barrier();
</%def>

<%def name="test_leaves(function, image, whole)">
        ${count_chunks(whole)}
        const int frnn_in_band = frnn_l % ${band}, frnn_chunk_start = frnn_l / ${band} * ${chunk + 1};
        int frnn_word = 0, frnn_t = 0, frnn_rest = 0;
        uint frnn_bits = 0;
% for at, numbers in fetched(function):
        ${kind()} ${", ".join(name for name, column in numbers)};
% endfor
        ${fetch(function, whole)}
        for (int frnn_times = frnn_rounds[0]; frnn_times > 0; --frnn_times) {
% for at, numbers in fetched(function):
% for name, column in numbers:
            ${chunk_number(column, f"{at} + frnn_in_band")} = ${name};
% endfor
% endfor
            frnn_barrier();
            // The next chunk is loaded while this one is tested.
            const int frnn_here = frnn_rest;
% if function.waiting:
            if (frnn_l == 0) frnn_full[~frnn_times & 1] = 0;
% endif
            ${fetch(function, whole)}
            if (frnn_here) {
% if function.waiting:
#pragma unroll 8
% elif function.light:
#pragma unroll ${unrolled[image != "plain" and images != "wraps_once"]}
% endif
                for (int frnn_k = 0; frnn_k < ${chunk}; ++frnn_k) {
                    ${load_candidate(function, "frnn_k")}
% if function.waiting:
                    ${wait(function, image)}
% else:
                    ${visit.offer(function, image)}
% endif
                }
            }
% if function.waiting:
            if (frnn_waiting > ${function.waiting.slots - chunk}) frnn_full[frnn_times & 1] = 1;
            frnn_barrier();
            if (frnn_full[frnn_times & 1]) ${take_waiting(function)}
% else:
            frnn_barrier();
% endif
        }
</%def>

<%def name="load_candidate(function, at)">
% if layout == "records":
                    const frnn_record frnn_candidate = ${chunk_number(0, at)};
% endif
% if needs_ids(function):
                    const int j = FRNN_LANE_ID(${"frnn_candidate.s3" if layout == "records" else chunk_number(dim, at)});
% elif function.condition:
                    const int j = -1;  // the condition does not read it
% endif
% for k in range(dim):
                    const real frnn_p${k} = ${f"frnn_candidate.s{k}" if layout == "records" else chunk_number(k, at)};
% endfor
</%def>
