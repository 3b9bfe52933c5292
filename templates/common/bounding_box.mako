## Defines the bounding box of points, found by one work-item and then reduced over its group, together with the lowest
## number of a point that is not finite.
## In scope for reduce: `exchange`, a local array of int with room for `slots` boxes of 2 * dim + 1 numbers.
## A box in memory is 2 * dim + 1 numbers: the low corner, the high corner, and that number in the form of a point's id.
## Config fields used: dim, real, work_group_size.
<%def name="write_exchange(number, value)" filter="trim">
## Numbers are exchanged as integers, because kernels use the same local memory for counters.
% if real == "double":
vstore2(as_int2(${value}), ${number}, exchange)
% else:
exchange[${number}] = as_int(${value})
% endif
</%def>

<%def name="read_exchange(number)" filter="trim">
${f"as_double(vload2({number}, exchange))" if real == "double" else f"as_float(exchange[{number}])"}
</%def>

<%def name="begin()">
    // The box is empty at first.
% for k in range(dim):
    real low${k} = INFINITY, high${k} = -INFINITY;
% endfor
    int bad = INT_MAX;
</%def>

<%def name="include_point(x, i)">
    // Point number i, whose coordinates are x0, x1, ..., extends the box if all of them are finite.
        if (${" && ".join(f"isfinite({x}{k})" for k in range(dim))}) {
% for k in range(dim):
            low${k} = fmin(low${k}, ${x}${k});
            high${k} = fmax(high${k}, ${x}${k});
% endfor
        } else {
            bad = min(bad, ${i});
        }
</%def>

<%def name="include_box(boxes, g)">
    // Box number g in memory extends the box.
% for k in range(dim):
        low${k} = fmin(low${k}, (${boxes})[(${g}) * ${2 * dim + 1} + ${k}]);
        high${k} = fmax(high${k}, (${boxes})[(${g}) * ${2 * dim + 1} + ${dim + k}]);
% endfor
        bad = min(bad, FRNN_LANE_ID((${boxes})[(${g}) * ${2 * dim + 1} + ${2 * dim}]));
</%def>

<%def name="reduce_and_store(slots, boxes, g)">
    ${reduce(slots)}
    if (get_local_id(0) == 0) {
        ${store(boxes, g)}
    }
</%def>

<%def name="reduce(slots)">
    // The boxes of the group's work-items are joined until the first work-item has the box of all. In each round the
    // last work-items write their boxes to local memory, at most as many as fit there, and others read them.
    for (int left = ${work_group_size}; left > 1;) {
        const int writers = min(${slots}, left / 2);
        const int slot = (int)get_local_id(0) - left;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (slot < 0 && slot >= -writers) {
            const int written = (slot + writers) * ${2 * dim + 1};
% for k in range(dim):
            ${write_exchange(f"written + {k}", f"low{k}")};
            ${write_exchange(f"written + {dim + k}", f"high{k}")};
% endfor
            ${write_exchange(f"written + {2 * dim}", "FRNN_ID_LANE(bad)")};
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        left -= writers;
        if (slot < -writers && slot >= -2 * writers) {
            const int read = (slot + 2 * writers) * ${2 * dim + 1};
% for k in range(dim):
            low${k} = fmin(low${k}, ${read_exchange(f"read + {k}")});
            high${k} = fmax(high${k}, ${read_exchange(f"read + {dim + k}")});
% endfor
            bad = min(bad, FRNN_LANE_ID(${read_exchange(f"read + {2 * dim}")}));
        }
    }
</%def>

<%def name="store(boxes, g)" filter="trim">
% for k in range(dim):
        (${boxes})[(${g}) * ${2 * dim + 1} + ${k}] = low${k};
        (${boxes})[(${g}) * ${2 * dim + 1} + ${dim + k}] = high${k};
% endfor
        (${boxes})[(${g}) * ${2 * dim + 1} + ${2 * dim}] = FRNN_ID_LANE(bad);
</%def>
