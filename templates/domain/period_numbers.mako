## Defines the numbers by which a periodic walk finds the images of points: `images`, (7 * dim + 1,). They are the lengths of
## the box, 0 where an axis is not periodic; the inverse lengths; the inverse lengths again, or zeros where all points lie in
## the box, so that no point has another image; the starts of the box; the pads of windows; the low and the high edges of the
## box, infinitely far apart where an axis is not periodic; and 1 where all points lie in the box, else 0.
## In a cell, these are numbers of heights, and more numbers follow: see /domain/lattice.mako.
## In scope: period, (3, dim): lengths, inverse lengths, starts; share: the share of a length by which a point may lie outside.
## In a cell the period has (6 + 2 * dim, dim): then weights, see clfrnn/domain/lattice.py; the largest height at which images are
## distinguished; the largest height of points inside; the normals and the lattice vectors; and the combinations of these
## along which images are counted, if any.
## Config fields used: dim, periodic.
<%namespace name="lattice" file="/domain/lattice.mako"/>
<%def name="farthest(low, high, k, most)" buffered="True" filter="trim">
## How far points lie from the origin on axis k, at most `most`; 0 without points, whose low corner is above the high one.
(${low.format(k=k)} <= ${high.format(k=k)} ? fmin(fmax(fabs(${low.format(k=k)}), fabs(${high.format(k=k)})), ${most}) : 0)
</%def>

<%def name="measure(low, high)">
    // A point that lies outside the box by no more than `share` of the length counts as inside, so that a point which was
    // rounded up to the edge does. Each window is padded by that, and by the rounding of coordinates, images and differences.
    int in_box = 1;
% for k in range(dim):
    {
        const real length = period[${k}], start = period[${2 * dim + k}], slack = length * share;
        if (length > 0 && ${low.format(k=k)} <= ${high.format(k=k)}
            && !(${low.format(k=k)} >= start - slack && ${high.format(k=k)} <= start + length + slack)) in_box = 0;
    }
% endfor
% for k in range(dim):
    {
        const real length = period[${k}], start = period[${2 * dim + k}];
        const real most = length * FRNN_FARTHEST;
        const real farthest = ${farthest(low, high, k, "most")};
        images[${k}] = length;
        images[${dim + k}] = period[${dim + k}];
        images[${2 * dim + k}] = in_box ? 0 : period[${dim + k}];
        images[${3 * dim + k}] = start;
        // The terms are scaled before they are added, because a sum of coordinates may overflow.
        images[${4 * dim + k}] = length > 0 ? 16 * FRNN_EPSILON * farthest + 8 * FRNN_EPSILON * fabs(start)
                                              + (8 * FRNN_EPSILON + share) * length : 0;
        images[${5 * dim + k}] = length > 0 ? start : -INFINITY;
        images[${6 * dim + k}] = length > 0 ? start + length : INFINITY;
    }
% endfor
    images[${7 * dim}] = in_box;
</%def>

<%def name="measure_cell(low, high)">
    ${measure(low, high)}
    // Rounding of any coordinate may change any height, and coordinates may be larger than heights, by the weights. The pad of
    // an axis that is not periodic grows with the heights of points: where these are large, points count as outside.
    real pad = 0, far_pad = 0, sum = 0, longest = 0;
% for k in range(dim):
    longest = fmax(longest, period[${k}]);
% endfor
% for k in range(dim):
    {
        const real length = period[${k}], start = fabs(period[${2 * dim + k}]), weight = period[${3 * dim + k}] * FRNN_EPSILON;
        const real farthest = ${farthest(low, high, k, f"period[{4 * dim + k}]")};
        const real scale = 16 * weight;
        pad += scale * (2 * farthest + start + length);
        far_pad += scale * (length > 0 ? start + 34 * length : 2 * farthest + 34 * longest);
        sum += scale;
        if (farthest > period[${5 * dim + k}]) in_box = 0;
        ${lattice.weight(k, "images")} = scale;
        ${lattice.most(k, "images")} = period[${4 * dim + k}];
        ${lattice.lowest(k, "images")} = ${low.format(k=k)};
        ${lattice.highest(k, "images")} = ${high.format(k=k)};
    }
% endfor
    ${lattice.growth("images")} = 1 + sum;
    ${lattice.pad("images")} = pad;
    ${lattice.far_pad("images")} = far_pad;
% for k in range(dim):
    images[${2 * dim + k}] = in_box ? 0 : period[${dim + k}];
    images[${4 * dim + k}] = pad + share * period[${k}];
% endfor
    images[${7 * dim}] = in_box;
    for (int k = 0; k < ${(3 if reduced else 2) * dim * dim}; ++k) images[${11 * dim + 4} + k] = period[${6 * dim} + k];
</%def>

<%def name="widest_reach(k, reach, array)" filter="trim">
## The largest reach on axis k, rounding included, of any query that lies at most 32 lengths from the box.
<% start = f"{array}[{3 * dim + k}]" %>\
% if skewed:
(${reach} * ${lattice.growth(array)} + ${array}[${4 * dim + k}] + ${lattice.far_pad(array)})
% elif periodic:
(${reach} * (1 + 8 * FRNN_EPSILON) + ${array}[${4 * dim + k}]
    + (${array}[${k}] > 0 ? 8 * FRNN_EPSILON * ((${start} < 0 ? -${start} : ${start}) + 34 * ${array}[${k}]) : 0))
% else:
(${reach})
% endif
</%def>

<%def name="is_far()" filter="trim">
## Whether the query lies more than 32 lengths from the box; in a cell, also whether its pad exceeds that of such queries.
% if skewed:
!(${" & ".join(f"fabs(frnn_heights(frnn_q, frnn_images).s{k} - frnn_images[{3 * dim + k}]) * frnn_images[{dim + k}] <= 32" for k in range(dim))}
    & ${lattice.sum_of([f"{lattice.weight(k, 'frnn_images')} * fabs(frnn_heights(frnn_q, frnn_images).s{k})" for k in range(dim)])} <= ${lattice.far_pad("frnn_images")})
% else:
!(${" & ".join(f"fabs(frnn_q{component} - frnn_images[{3 * dim + k}]) * frnn_images[{dim + k}] <= 32" for k, component in enumerate(components))})
% endif
</%def>
