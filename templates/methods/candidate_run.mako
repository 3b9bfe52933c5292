## Defines how a run of candidates is tested. A run is candidates at places that follow each other in the sorted copy;
## they are tested one by one, or a vector at a time.
## In scope: frnn_t and frnn_stop, the first place of the run and the place behind its last; what begin_query of
## /methods/visit.mako declares.
## Config fields used: width, unrolled, fused, bits, inline, images, first_pass, counts_first.
<%namespace name="census" file="/answers/nearest/census.mako"/>\
<%namespace name="simd_batch" file="/methods/simd_batch.mako"/>
<%namespace name="condition" file="/methods/condition.mako"/>
<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="hit_mask" file="/methods/first_pass/hit_mask.mako"/>
<%namespace name="point_layout" file="/methods/point_layout.mako"/>
<%namespace name="visit" file="/methods/visit.mako"/>
## Whether the walk has a body of its own for the image without a shift: see each_image of /domain/periodic_images.mako.
<%def name="splits(function)"><% return function.light and images == "in_box" %></%def>

<%def name="run(function, image, last='1')">
## last: whether no run of the query follows; by default neighbors do not wait for one.
    // The candidates from frnn_t up to frnn_stop, shifted as /common/geometry.mako says of `image`.
% if width > 1:
    ${batched_run(function, image, last)}
% elif census.takes(function):
    ${census.run(function, image)}
% elif first_pass == "write_mask":
    ${masked_run(function, image)}
% elif fused and function.light and not (inline or first_pass):
    ${fused_run(function, image)}
% elif function.costly:
    ${costly_run(function, image)}
% else:
    ${exact_run(function, image)}
% endif
</%def>

<%def name="exact_run(function, image)">
% if function.light and unrolled:
#pragma unroll ${unrolled[image != "plain" and images != "wraps_once"]}
% endif
    for (; frnn_t < frnn_stop; ++frnn_t) {
        ${point_layout.load_candidate("frnn_t")}
        ${visit.offer(function, image, place="frnn_t")}
    }
</%def>

<%def name="costly_run(function, image)">
    // Some candidates are tested at a time, and the function then runs for those within reach. Work-items in lockstep do
    // so together, where each would wait for all others at every candidate otherwise.
    while (frnn_t < frnn_stop) {
        const int frnn_many = min(frnn_stop - frnn_t, 32);
        uint frnn_hits = 0;
        for (int frnn_k = 0; frnn_k < frnn_many; ++frnn_k) {
            ${point_layout.load_candidate("frnn_t + frnn_k")}
            ${geometry.differences(image)}
            frnn_hits |= (uint)((${geometry.squared_distance()} <= reach2) & ${visit.included(image, function, "frnn_t + frnn_k")} ${condition.and_holds(function, image)}) << frnn_k;
        }
        while (frnn_hits) {
            const int frnn_hit = frnn_t + 31 - (int)clz(frnn_hits & -frnn_hits);
            frnn_hits &= frnn_hits - 1;
            ${point_layout.load_candidate("frnn_hit")}
            ${visit.offer(function, image, place="frnn_hit", known="1")}
        }
        frnn_t += frnn_many;
    }
</%def>

<%def name="fused_run(function, image)">
    // Candidates are tested by fused operations. Where rounding may decide about one of them, the run is counted again exactly.
    const int frnn_begin_of_run = frnn_t, frnn_before_run = frnn_count;
    real frnn_closest = INFINITY;
#pragma unroll ${unrolled[image != "plain" and images != "wraps_once"]}
    for (; frnn_t < frnn_stop; ++frnn_t) {
        ${point_layout.load_candidate("frnn_t")}
        ${geometry.differences(image)}
        const real frnn_excess = ${geometry.excess()};
        frnn_closest = fmin(frnn_closest, fabs(frnn_excess));
        frnn_count += FRNN_SIGN(frnn_excess) & ${visit.included(image, function, "frnn_t")}${condition.and_holds(function, image)};
    }
    if (frnn_closest <= frnn_margin) {
        frnn_count = frnn_before_run;
        frnn_t = frnn_begin_of_run;
        ${exact_run(function, image)}
    }
</%def>

<%def name="batched_run(function, image, last)">
% if not simd_batch.gathers(function):
% if function.ahead:
    // Of each pair, the point that comes later is a neighbor of the other.
    frnn_t = frnn_max(frnn_t, frnn_own_place + 1);
% endif
% if first_pass == "write_mask":
    // A query with more neighbors than it has words writes only as many. Its count shows that to the walk behind it.
% endif
    for (; frnn_t < frnn_stop; frnn_t += ${width}) {
        ${simd_batch.test(image, "frnn_t", "frnn_stop", visit.counts_itself(function), visit.excludes_by_place(function), function)}
% if first_pass == "write_mask":
        ${simd_batch.store_places("frnn_t", ("global", "frnn_query_words"), "frnn_count", "frnn_count <= frnn_mask_words")}
% else:
        frnn_counted -= frnn_near;
        ${simd_batch.count_nearer(function)}
% endif
    }
% else:
    // The places of candidates within reach are stored beside each other without a branch. They wait for those of the
    // next runs, until they are some or the run is the last, and are then offered one by one: each end of that loop is
    // a branch that processors foretell wrong.
    while (1) {
        const int frnn_end_of_some = frnn_min(frnn_stop - frnn_t, ${16 * width}) + frnn_t;
        for (; frnn_t < frnn_end_of_some; frnn_t += ${width}) {
            ${simd_batch.test(image, "frnn_t", "frnn_end_of_some", visit.counts_itself(function), by_place=False)}
            ${simd_batch.store_places("frnn_t", ("private", "frnn_found"), "frnn_waiting")}
        }
        if ((frnn_t < frnn_stop) | (frnn_waiting > ${2 * width}) | ${last}) {
            for (int frnn_k = 0; frnn_k < frnn_waiting; ++frnn_k) {
                ${point_layout.load_candidate("frnn_found[frnn_k]")}
% if first_pass == "write_mask":
                ${geometry.differences(image)}
                if (frnn_count < frnn_mask_words) frnn_query_words[frnn_count] = frnn_found[frnn_k];
                frnn_count += ${visit.included(image, function)}${condition.and_holds(function, image)};
% else:
                ${visit.offer(function, image, within="1")}
% endif
            }
            frnn_waiting = 0;
        }
        if (frnn_t >= frnn_stop) break;
    }
% endif
</%def>

<%def name="masked_run(function, image)">
    // As many candidates at a time as a word of the hit mask has bits. The first of them has the highest bit.
    for (; frnn_t < frnn_stop; frnn_t += ${bits}) {
        const int frnn_many = min(frnn_stop - frnn_t, ${bits});
        frnn_bits frnn_hits = 0;
% if fused:
        ${fused_word(function, image)}
% else:
        ${exact_word(function, image, unrolled and unrolled[0])}
% endif
        frnn_hits <<= ${bits} - frnn_many;
        frnn_count += (int)popcount(frnn_hits);
        ${hit_mask.append("frnn_t", "frnn_hits")}
    }
</%def>

<%def name="exact_word(function, image, at_a_time)">
#pragma unroll ${at_a_time}
        for (int frnn_k = 0; frnn_k < frnn_many; ++frnn_k) {
            ${point_layout.load_candidate("frnn_t + frnn_k")}
            ${geometry.differences(image)}
            const int frnn_near = (${geometry.squared_distance()} <= reach2) & ${visit.included(image, function, "frnn_t + frnn_k")}${condition.and_holds(function, image)};
            frnn_hits += frnn_hits + frnn_near;
        }
</%def>

<%def name="fused_word(function, image)">
## As fused_run. Where the query's own point is excluded by its place, its bit is cleared at the end.
## A condition that reads j is not evaluated for it.
<% by_place = visit.excludes_by_place(function) and not condition.reads(function, "j") %>\
        real frnn_closest = INFINITY;
#pragma unroll ${unrolled[0]}
        for (int frnn_k = 0; frnn_k < frnn_many; ++frnn_k) {
            ${point_layout.load_candidate("frnn_t + frnn_k")}
            ${geometry.differences(image)}
            const real frnn_excess = ${geometry.excess()};
            frnn_closest = fmin(frnn_closest, fabs(frnn_excess));
            frnn_hits += frnn_hits + (FRNN_SIGN(frnn_excess) & ${"1" if by_place else visit.included(image, function, "frnn_t + frnn_k")}${condition.and_holds(function, image)});
        }
        if (frnn_closest <= frnn_margin) {
            frnn_hits = 0;
            ${exact_word(function, image, 1)}
        }
% if by_place:
        const int frnn_behind = frnn_t + frnn_many - 1 - frnn_self_place;
        if ((frnn_self_place >= frnn_t) & (frnn_behind >= 0)) frnn_hits &= ~((frnn_bits)1 << frnn_behind);
% endif
</%def>
