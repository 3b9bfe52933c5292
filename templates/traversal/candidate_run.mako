<%namespace name="batches" file="/traversal/simd_batch.mako"/>
<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="hit_mask" file="/first_pass/hit_mask.mako"/>
<%namespace name="places" file="/common/point_layout.mako"/>
<%namespace name="visit" file="/traversal/visit.mako"/>
## Runs of candidates, at places that follow each other in the sorted copy: how they are tested, a few or a vector at a time.
## Config fields used: width, unrolled, fused, bits, inline, images, first_pass.
<%def name="splits(function)"><% return function.light and images == "in_box" %></%def>

<%def name="run(function, image)">
    // The candidates of one run of places, frnn_t up to frnn_stop, in an image as periodic.cl.mako names it.
% if width > 1:
    ${batched_run(function, image)}
% elif first_pass == "write_mask":
    ${marked_run(function, image)}
% elif fused and function.light and not (inline or first_pass):
    ${fused_run(function, image)}
% else:
    ${pinned_run(function, image)}
% endif
</%def>

<%def name="pinned_run(function, image)">
% if function.light and unrolled:
#pragma unroll ${unrolled[image != "plain" and images != "wraps_once"]}
% endif
    for (; frnn_t < frnn_stop; ++frnn_t) {
        ${places.take_candidate("frnn_t")}
        ${visit.offer(function, image, place="frnn_t")}
    }
</%def>

<%def name="fused_run(function, image)">
    // By fused operations; a run with a candidate so near the border that rounding may decide is counted once more.
    const int frnn_begin_of_run = frnn_t, frnn_before_run = frnn_count;
    real frnn_closest = INFINITY;
#pragma unroll ${unrolled[image != "plain" and images != "wraps_once"]}
    for (; frnn_t < frnn_stop; ++frnn_t) {
        ${places.take_candidate("frnn_t")}
        ${geometry.differences(image)}
        const real frnn_beyond = ${geometry.beyond()};
        frnn_closest = fmin(frnn_closest, fabs(frnn_beyond));
        frnn_count += FRNN_SIGN(frnn_beyond) & ${visit.kept(image, function, "frnn_t")};
    }
    if (frnn_closest <= frnn_margin) {
        frnn_count = frnn_before_run;
        frnn_t = frnn_begin_of_run;
        ${pinned_run(function, image)}
    }
</%def>

<%def name="batched_run(function, image)">
% if first_pass == "write_mask":
    // Whoever has more neighbors than room loses words, and is told by their number.
    for (; frnn_t < frnn_stop; frnn_t += ${width}) {
        ${batches.test(image, "frnn_t", "frnn_stop", visit.counts_itself(function), visit.known_by_place(function))}
        ${batches.put_places("frnn_t", ("global", "frnn_row_of_words"), "frnn_count", "frnn_count <= frnn_room")}
    }
% elif function.light:
    for (; frnn_t < frnn_stop; frnn_t += ${width}) {
        ${batches.test(image, "frnn_t", "frnn_stop", visit.counts_itself(function), visit.known_by_place(function))}
        frnn_counted -= frnn_near;
    }
% else:
    // Some batches at a time: those within reach come to stand beside each other without a branch, and only they are looked
    // at one by one.
    while (frnn_t < frnn_stop) {
        const int frnn_end_of_some = frnn_min(frnn_stop - frnn_t, ${16 * width}) + frnn_t;
        int frnn_found[${17 * width}], frnn_many = 0;
        for (; frnn_t < frnn_end_of_some; frnn_t += ${width}) {
            ${batches.test(image, "frnn_t", "frnn_end_of_some", counts_itself=False, by_place=False)}
            ${batches.put_places("frnn_t", ("private", "frnn_found"), "frnn_many")}
        }
        for (int frnn_k = 0; frnn_k < frnn_many; ++frnn_k) {
            ${places.take_candidate("frnn_found[frnn_k]")}
            ${visit.offer(function, image, within="1")}
        }
    }
% endif
</%def>

<%def name="marked_run(function, image)">
    // So many candidates at a time as a word of marks has bits, the first of them in the highest.
    for (; frnn_t < frnn_stop; frnn_t += ${bits}) {
        const int frnn_many = min(frnn_stop - frnn_t, ${bits});
        frnn_bits frnn_hits = 0;
% if fused:
        ${fused_word(function, image)}
% else:
        ${pinned_word(function, image, unrolled and unrolled[0])}
% endif
        frnn_hits <<= ${bits} - frnn_many;
        frnn_count += (int)popcount(frnn_hits);
        ${hit_mask.keep("frnn_t", "frnn_hits")}
    }
</%def>

<%def name="pinned_word(function, image, at_a_time)">
#pragma unroll ${at_a_time}
        for (int frnn_k = 0; frnn_k < frnn_many; ++frnn_k) {
            ${places.take_candidate("frnn_t + frnn_k")}
            ${geometry.differences(image)}
            const int frnn_near = (${geometry.squared()} <= reach2) & ${visit.kept(image, function, "frnn_t + frnn_k")};
            frnn_hits += frnn_hits + frnn_near;
        }
</%def>

<%def name="fused_word(function, image)">
## As fused_run does; what is not a neighbor for another reason goes at the end, where its place tells it.
<% later = visit.known_by_place(function) %>\
        real frnn_closest = INFINITY;
#pragma unroll ${unrolled[0]}
        for (int frnn_k = 0; frnn_k < frnn_many; ++frnn_k) {
            ${places.take_candidate("frnn_t + frnn_k")}
            ${geometry.differences(image)}
            const real frnn_beyond = ${geometry.beyond()};
            frnn_closest = fmin(frnn_closest, fabs(frnn_beyond));
            frnn_hits += frnn_hits + (FRNN_SIGN(frnn_beyond) & ${"1" if later else visit.kept(image, function)});
        }
        if (frnn_closest <= frnn_margin) {
            frnn_hits = 0;
            ${pinned_word(function, image, 1)}
        }
% if later:
        const int frnn_behind = frnn_t + frnn_many - 1 - frnn_self_place;
        if ((frnn_self_place >= frnn_t) & (frnn_behind >= 0)) frnn_hits &= ~((frnn_bits)1 << frnn_behind);
% endif
</%def>
