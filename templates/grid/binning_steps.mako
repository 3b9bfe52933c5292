<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="periodic_box" file="/common/periodic_images.mako"/>
## Steps that the kernels of the coarse grid share: a point's cell, who sees it there, and the sums of counts.
## Config fields used: dim, components, periodic, work_group_size, batch.
<%def name="cell(p, turns)">
    // The cell that holds p, or in a periodic box its image at home; turns: where the numbers that find the image begin.
% for k, component in enumerate(components):
% if periodic:
    const real at${k} = ${p}${component} - (real)frnn_image(${p}${component}, images[${3 * dim + k}], images[${turns} * ${dim} + ${k}]) * images[${k}];
% else:
    const real at${k} = ${p}${component};
% endif
    const int lane${k} = frnn_cell(at${k}, low.s${k}, inverse.s${k}, foremost.s${k}, hindmost.s${k});
% endfor
    const int address = ${"(lane2 * shape.s1 + lane1)" if dim == 3 else "lane1"} * shape.s0 + lane0;
</%def>

<%def name="show(axes)">
    // Whether a reach of widest takes p to another cell, axis by axis, by the function that gives a query its cell.
% for k in axes:
    int shown${k};
    {
        const real reach = ${periodic_box.widest(k, "widest", "images")};
        const int from = frnn_coordinate(at${k} - reach, low.s${k}, inverse.s${k});
        const int to = frnn_coordinate(at${k} + reach, low.s${k}, inverse.s${k});
% if periodic:
        const int first = lengths.s${k} > 0 ? from : foremost.s${k}, last = lengths.s${k} > 0 ? to : hindmost.s${k};
% else:
        const int first = foremost.s${k}, last = hindmost.s${k};
% endif
        shown${k} = clamp(from, first, last) != lane${k} | clamp(to, first, last) != lane${k};
    }
% endfor
</%def>

<%def name="each_point(batch, first='(int)get_global_id(0)', n='n')">
    // Every point i at p of those that the item goes through, first and then each stride-th: a batch is loaded before the
    // first of it is looked at, so that its loads wait together.
    for (int left = ${n} - ${first}; left > 0; left -= ${batch} * stride) {
        real_vec some[${batch}];
% if batch > 1:
#pragma unroll
% endif
        for (int m = 0; m < ${batch}; ++m) some[m] = ${geometry.load("points", f"{n} - max(left - m * stride, 1)")};
% if batch > 1:
#pragma unroll
% endif
        for (int m = 0; m < ${batch}; ++m) {
            if (left > m * stride) {
                const int i = ${n} - (left - m * stride);
                const real_vec p = some[m];
                ${caller.body()}
            }
        }
    }
</%def>

<%def name="sum_up()">
    // The counts of cells in found to where they end: each item sums up its share in place, an odd number, so that items
    // that go in step reach different banks of the memory; then the last sums of the shares are summed up (Hillis, Steele).
    const int each = (cells + ${work_group_size - 1}) / ${work_group_size} | 1, shares = (cells + each - 1) / each;
    const int begin = min(cells, l * each), end = min(cells, begin + each);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = begin + 1; k < end; ++k) found[k] += found[k - 1];
    for (int reach = 1; reach < shares; reach *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        const int before = l >= reach && begin < end ? found[(l - reach + 1) * each - 1] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (before) found[end - 1] += before;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const int first = l && begin < end ? found[begin - 1] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = begin; k + 1 < end; ++k) found[k] += first;
    barrier(CLK_LOCAL_MEM_FENCE);
</%def>

<%def name="counters_of_group()">
    // Once they have been read, what items hand to each other takes their place.
    local int found[${room}], *const handed = found;
</%def>

<%def name="record(p)" filter="trim">
(frnn_record)(${p}.s0, ${p}.s1, ${f"{p}.s2" if dim == 3 else "0"}, FRNN_ID_LANE(i))
</%def>
