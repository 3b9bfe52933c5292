## Defines steps that the kernels share which sort points into cells with counters in local memory: the cell of a point,
## whether other cells see the point, the loop over points, and the sums of counts.
## In scope: points, n and the parameters of grid("") of /methods/grid/cells.mako; for each_point also stride; for sum_up also l
## and cells.
## Config fields used: dim, components, periodic, work_group_size, local_ints.
<%namespace name="geometry" file="/common/geometry.mako"/>
<%namespace name="period_numbers" file="/domain/period_numbers.mako"/>
<%namespace name="lattice" file="/domain/lattice.mako"/>
<%def name="cell(p, inverse_row)">
    // The address of the cell that holds p, or its image in a periodic box. inverse_row: the row of images with the inverse
    // lengths to use.
% for k, component in enumerate(components):
<% x = lattice.placed(p, "images") + component %>\
% if periodic:
    const real at${k} = ${x} - (real)frnn_image(${x}, images[${3 * dim + k}], images[${inverse_row} * ${dim} + ${k}]) * images[${k}];
% else:
    const real at${k} = ${x};
% endif
    const int index${k} = frnn_cell(at${k}, low.s${k}, inverse.s${k}, foremost.s${k}, hindmost.s${k});
% endfor
    const int address = ${"(index2 * shape.s1 + index1)" if dim == 3 else "index1"} * shape.s0 + index0;
</%def>

<%def name="seen_from_other_cells(axes)">
    // Whether queries in other cells may see p, axis by axis: whether p plus or minus the largest reach lies in another
    // cell. The cell is computed by the function that also gives the cell of a query.
% for k in axes:
    int seen${k};
    {
        const real reach = ${period_numbers.widest_reach(k, "widest", "images")};
        const int from = frnn_coordinate(at${k} - reach, low.s${k}, inverse.s${k});
        const int to = frnn_coordinate(at${k} + reach, low.s${k}, inverse.s${k});
% if periodic and not batched:
        const int first = lengths.s${k} > 0 ? from : foremost.s${k}, last = lengths.s${k} > 0 ? to : hindmost.s${k};
% else:
        const int first = foremost.s${k}, last = hindmost.s${k};
% endif
        seen${k} = clamp(from, first, last) != index${k} | clamp(to, first, last) != index${k};
    }
% endfor
</%def>

<%def name="each_point(batch, first='(int)get_global_id(0)', n='n')">
    // The body runs for every point of the work-item, number i at p: the point number `first` and then every stride-th.
    // A batch of points is loaded before the body runs for the first of them, so that their loads overlap.
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
                ${lattice.choose_table("", "i")}
                ${caller.body()}
            }
        }
    }
</%def>

<%def name="sum_up()">
    // Replaces the counts of cells in `found` by their inclusive sums. Each work-item sums a share in place; the sums
    // of shares are then scanned (Hillis and Steele). A share has an odd number of counts, so that work-items in
    // lockstep access different banks.
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

<%def name="counters()">
    // Counters, whose memory later serves the exchange of bounding boxes.
    local int found[${local_ints}], *const exchange = found;
</%def>

<%def name="record(p)" filter="trim">
(frnn_record)(${p}.s0, ${p}.s1, ${f"{p}.s2" if dim == 3 else "0"}, FRNN_ID_LANE(i))
</%def>
