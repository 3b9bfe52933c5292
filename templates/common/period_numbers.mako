## Defines the numbers by which a periodic walk finds the images of points: `images`, (7 * dim + 1,). They are the lengths of
## the box, 0 where an axis is not periodic; the inverse lengths; the inverse lengths again, or zeros where all points lie in
## the box, so that no point has another image; the starts of the box; the pads of windows; the low and the high edges of the
## box, infinitely far apart where an axis is not periodic; and 1 where all points lie in the box, else 0.
## In scope: period, (3, dim): lengths, inverse lengths, starts; share: the share of a length by which a point may lie outside.
## Config fields used: dim.
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
        const real farthest = fmin(fmax(fabs(${low.format(k=k)}), fabs(${high.format(k=k)})), most);
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
