<%namespace name="bands_of" file="/tree/packet_bands.mako"/>
<%namespace name="places" file="/common/point_layout.mako"/>
<%namespace name="visit" file="/traversal/visit.mako"/>
## The leaves that bands look into, a chunk of points at a time: the items of a band fetch one together into local memory,
## where each of them goes through all of it. What several bands load takes a line for each of them; this way there are as
## many such loads as an item fetches points, not one for every candidate.
## Barriers stand in a loop that all bands go through equally often.
## Config fields used: dim, layout, unrolled, foreign, images, band, bands, chunk, word.
## Whether candidates are told by their numbers.
<%def name="asks_ids(function)"><% return not function.light or not (foreign or visit.counts_itself(function)) %></%def>
<%def name="columns(function)"><% return range(dim + asks_ids(function)) %></%def>
## What an item holds of the next chunk: for each of its points where that stands, and the names and columns of its numbers.
<%def name="fetched(function)"><%
    of_point = [("", 0)] if layout == "records" else [(f"_{c}", c) for c in columns(function)]
    return [(k * band, [(f"frnn_fetched{k}{name}", c) for name, c in of_point]) for k in range(chunk // band)]
%></%def>

<%def name="kind()" filter="trim">
${"frnn_record" if layout == "records" else "real"}
</%def>

<%def name="place_of(column, at)" filter="trim">
## A number in a band's chunk; those of bands begin in banks of their own.
frnn_chunks[${f"{column * bands * (chunk + 1)} + " if column else ""}frnn_shelf + ${at}]
</%def>

<%def name="declare(function)">
    local ${kind()} frnn_chunks[${(1 if layout == "records" else len(columns(function))) * bands * (chunk + 1)}];
    local int frnn_most_chunks[${band}];
</%def>

<%def name="fetch(function, whole)">
            // The next chunk of this leaf, or the first of the next one; behind the last of them nothing.
            if (frnn_rest > ${chunk}) {
                frnn_t += ${chunk};
                frnn_rest -= ${chunk};
            } else {
                for (; !frnn_bits && frnn_word * ${word} < frnn_portion; ++frnn_word) {
                    frnn_bits = ${bands_of.of_band("frnn_bands", "frnn_word")};
% if whole:
                    const uint frnn_partly = ${bands_of.of_band("frnn_beyond", "frnn_word")};
                    frnn_count += frnn_searches ? frnn_marked(frnn_bits & ~frnn_partly) * frnn_leaf_size : 0;
                    frnn_bits &= frnn_partly;
% endif
                }
                frnn_rest = 0;
                if (frnn_bits) {
                    frnn_t = frnn_list[${bands_of.of_share(f"((frnn_word - 1) * {word} + frnn_lowest_bit(frnn_bits))")}];
                    frnn_bits &= frnn_bits - 1;
                    frnn_rest = frnn_min(frnn_leaf_size, frnn_n - frnn_t);
                }
            }
            // What is not a number is nobody's neighbor.
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
${places.coordinate(column, f"frnn_t + {at} + frnn_in_band", "frnn_sorted")};
% endif
% endfor
            }
% endfor
</%def>

<%def name="count_chunks(whole)">
        // As many times as the band with the most to look at has chunks.
        if (frnn_l < ${band}) frnn_most_chunks[frnn_l] = 0;
        int frnn_leaves_of_band = 0;
        for (int frnn_k = 0; frnn_k * ${word} < frnn_portion; ++frnn_k) {
            uint frnn_some = ${bands_of.of_band("frnn_bands", "frnn_k")};
% if whole:
            frnn_some &= ${bands_of.of_band("frnn_beyond", "frnn_k")};
% endif
            frnn_leaves_of_band += frnn_marked(frnn_some);
        }
        frnn_meet();
        // The items of a band each raise a number of their own, as those who raise the same one wait for each other.
        frnn_raise(frnn_most_chunks + frnn_l % ${band}, frnn_leaves_of_band * ((frnn_leaf_size + ${chunk - 1}) / ${chunk}));
        frnn_meet();
</%def>

<%def name="go_through(function, image, whole)">
        ${count_chunks(whole)}
        const int frnn_in_band = frnn_l % ${band}, frnn_shelf = frnn_l / ${band} * ${chunk + 1};
        int frnn_word = 0, frnn_t = 0, frnn_rest = 0;
        uint frnn_bits = 0;
% for at, numbers in fetched(function):
        ${kind()} ${", ".join(name for name, column in numbers)};
% endfor
        ${fetch(function, whole)}
        for (int frnn_times = frnn_most_chunks[0]; frnn_times > 0; --frnn_times) {
% for at, numbers in fetched(function):
% for name, column in numbers:
            ${place_of(column, f"{at} + frnn_in_band")} = ${name};
% endfor
% endfor
            frnn_meet();
            // The next one is on its way while this one is looked at.
            const int frnn_here = frnn_rest;
            ${fetch(function, whole)}
            if (frnn_here) {
% if function.light:
#pragma unroll ${unrolled[image != "plain" and images != "wraps_once"]}
% endif
                for (int frnn_k = 0; frnn_k < ${chunk}; ++frnn_k) {
                    ${take_candidate(function, "frnn_k")}
                    ${visit.offer(function, image)}
                }
            }
            frnn_meet();
        }
</%def>

<%def name="take_candidate(function, at)">
% if layout == "records":
                    const frnn_record frnn_candidate = ${place_of(0, at)};
% endif
% if asks_ids(function):
                    const int j = FRNN_LANE_ID(${"frnn_candidate.s3" if layout == "records" else place_of(dim, at)});
% endif
% for k in range(dim):
                    const real frnn_p${k} = ${f"frnn_candidate.s{k}" if layout == "records" else place_of(k, at)};
% endfor
</%def>
