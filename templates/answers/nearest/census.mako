## Defines the census of a query's neighbors, for functions that keep the nearest ones and take long for each. The walk goes
## over its window twice. First it counts neighbors by distance, which gives a bound: as many as the function keeps lie
## within it. Then the neighbors within the bound wait in local memory, and the function takes all of them at the end, when
## work-items in lockstep have about as many each.
## In scope: function.census, see Census in clfrnn/functions.py; what begin_query of /methods/visit.mako declares. The
## piece `collected` of the function sees frnn_waiting, the number of those that wait; frnn_waiting_squares and
## frnn_waiting_ids, their squared distances, as bits, and numbers, frnn_stride apart; and frnn_direct, the number of
## those for which there was no place, and which the function has taken before.
## Config fields used: dim, periodic, images, counts_first, work_group_size.
<%namespace name="condition" file="/methods/condition.mako"/>
<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="point_layout" file="/methods/point_layout.mako"/>
<%namespace name="visit" file="/methods/visit.mako"/>
<%def name="takes(function)"><% return function is not None and function.census is not None and counts_first %></%def>

<%def name="declare(function)">
    local uint frnn_group_squares[${function.census.slots * work_group_size}];
    local int frnn_group_ids[${function.census.slots * work_group_size}];
</%def>

<%def name="begin(function)">
    const int frnn_stride = ${work_group_size};
    local uint *const frnn_waiting_squares = frnn_group_squares + get_local_id(0);
    local int *const frnn_waiting_ids = frnn_group_ids + get_local_id(0);
    int frnn_waiting = 0, frnn_direct = 0;
    // Neighbors are counted by the leading bits of their squared distances, eight steps for each factor of two. Step 0 is
    // that of the radius, and the last one has all that are nearer.
    const uint frnn_widest = as_uint(reach2) >> 20;
    for (int frnn_k = 0; frnn_k < ${function.census.slots}; ++frnn_k) frnn_waiting_squares[frnn_k * frnn_stride] = 0;
% if not periodic:
    real frnn_narrow = frnn_reach;
% endif
    for (int frnn_pass = 0; frnn_pass < 2; ++frnn_pass) {
% if not periodic:
    const real frnn_reach = frnn_narrow;
% endif
</%def>

<%def name="end(function)">
    if (frnn_pass == 0) {
        int frnn_step = ${function.census.slots};
        for (int frnn_counted = 0; (frnn_step > 0) & (frnn_counted < ${function.census.wanted}); )
            frnn_counted += (int)frnn_waiting_squares[--frnn_step * frnn_stride];
        // The largest number of the step. All neighbors may be too few, and then the step is that of the radius.
        if (frnn_step > 0) {
            reach2 = as_float(((frnn_widest - (uint)frnn_step + 1) << 20) - 1);
% if not periodic:
            // The window of a radius whose square is at least that large.
            frnn_narrow = fmin(frnn_narrow, fmax(sqrt(reach2) * (1 + 8 * FRNN_EPSILON), (real)FRNN_LEAST_REACH));
% endif
        }
    }
    }
    ${function.census.collected}
</%def>

<%def name="run(function, image)">
    if (frnn_pass == 0) {
        for (; frnn_t < frnn_stop; ++frnn_t) {
            ${test(function, image)}
            if (${within(function, image)}) {
                const uint frnn_step = min(frnn_widest - (as_uint(d2) >> 20), (uint)${function.census.slots - 1});
                ++frnn_waiting_squares[(int)frnn_step * frnn_stride];
            }
        }
    } else {
        for (; frnn_t < frnn_stop; ++frnn_t) {
            ${test(function, image)}
            if (${within(function, image)}) {
                if (frnn_waiting < ${function.census.slots}) {
                    frnn_waiting_squares[frnn_waiting * frnn_stride] = as_uint(d2);
                    frnn_waiting_ids[frnn_waiting * frnn_stride] = j;
                    ++frnn_waiting;
                } else {
                    ++frnn_direct;
                    const frnn_shift shift = ${geometry.shift(image)};
                    do {
                        ${visit.piece(function, "per_neighbor")}
                    } while (0);
                }
            }
        }
    }
</%def>

<%def name="test(function, image)">
            ${point_layout.load_candidate("frnn_t")}
            ${geometry.differences(image)}
            const real d2 = ${geometry.squared_distance()};
</%def>

<%def name="within(function, image)" filter="trim">
(d2 <= reach2) & ${visit.included(image, function, "frnn_t")}${condition.and_holds(function, image)}
</%def>
