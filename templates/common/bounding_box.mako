## The box of points and the first of them that is not finite: of one item's share, then of its group.
## Config fields used: dim, real, work_group_size.
<%def name="put(place, value)" filter="trim">
## Handed over as integers, as the memory may have held counters before.
% if real == "double":
vstore2(as_int2(${value}), ${place}, handed)
% else:
handed[${place}] = as_int(${value})
% endif
</%def>

<%def name="get(place)" filter="trim">
${f"as_double(vload2({place}, handed))" if real == "double" else f"as_float(handed[{place}])"}
</%def>

<%def name="begin()">
    // Nothing so far.
% for k in range(dim):
    real low${k} = INFINITY, high${k} = -INFINITY;
% endfor
    int bad = INT_MAX;
</%def>

<%def name="take(x, i)">
    // The point of number i at x0, x1, ..., if all of its coordinates are finite.
        if (${" && ".join(f"isfinite({x}{k})" for k in range(dim))}) {
% for k in range(dim):
            low${k} = fmin(low${k}, ${x}${k});
            high${k} = fmax(high${k}, ${x}${k});
% endfor
        } else {
            bad = min(bad, ${i});
        }
</%def>

<%def name="take_box(boxes, g)">
    // What group g found.
% for k in range(dim):
        low${k} = fmin(low${k}, (${boxes})[(${g}) * ${2 * dim + 1} + ${k}]);
        high${k} = fmax(high${k}, (${boxes})[(${g}) * ${2 * dim + 1} + ${dim + k}]);
% endfor
        bad = min(bad, FRNN_LANE_ID((${boxes})[(${g}) * ${2 * dim + 1} + ${2 * dim}]));
</%def>

<%def name="fold(slots, boxes, g)">
    ${gather(slots)}
    if (get_local_id(0) == 0) {
        ${keep(boxes, g)}
    }
</%def>

<%def name="gather(slots)">
    // As many items at a time as `handed` has slots, local integers, hand what they found to others; the first has it all.
    for (int left = ${work_group_size}; left > 1;) {
        const int going = min(${slots}, left / 2);
        const int slot = (int)get_local_id(0) - left;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (slot < 0 && slot >= -going) {
            const int mine = (slot + going) * ${2 * dim + 1};
% for k in range(dim):
            ${put(f"mine + {k}", f"low{k}")};
            ${put(f"mine + {dim + k}", f"high{k}")};
% endfor
            ${put(f"mine + {2 * dim}", "FRNN_ID_LANE(bad)")};
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        left -= going;
        if (slot < -going && slot >= -2 * going) {
            const int theirs = (slot + 2 * going) * ${2 * dim + 1};
% for k in range(dim):
            low${k} = fmin(low${k}, ${get(f"theirs + {k}")});
            high${k} = fmax(high${k}, ${get(f"theirs + {dim + k}")});
% endfor
            bad = min(bad, FRNN_LANE_ID(${get(f"theirs + {2 * dim}")}));
        }
    }
</%def>

<%def name="keep(boxes, g)" filter="trim">
% for k in range(dim):
        (${boxes})[(${g}) * ${2 * dim + 1} + ${k}] = low${k};
        (${boxes})[(${g}) * ${2 * dim + 1} + ${dim + k}] = high${k};
% endfor
        (${boxes})[(${g}) * ${2 * dim + 1} + ${2 * dim}] = FRNN_ID_LANE(bad);
</%def>
