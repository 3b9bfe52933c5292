## What a periodic walk needs to know of its points: whether all lie in one image of the box, and how far rounding reaches.
## Config fields used: dim.
<%def name="measure(low, high)">
    // A point is at home up to a little outside the box, so that one rounded up to its edge does not count as away; the pad,
    // added to each window, covers that, and the rounding of coordinates, images and differences.
    int home = 1;
% for k in range(dim):
    {
        const real length = period[${k}], start = period[${2 * dim + k}], slack = length * share;
        if (length > 0 && ${low.format(k=k)} <= ${high.format(k=k)}
            && !(${low.format(k=k)} >= start - slack && ${high.format(k=k)} <= start + length + slack)) home = 0;
    }
% endfor
% for k in range(dim):
    {
        const real length = period[${k}], start = period[${2 * dim + k}];
        const real most = length * FRNN_FARTHEST;
        const real farthest = fmin(fmax(fabs(${low.format(k=k)}), fabs(${high.format(k=k)})), most);
        images[${k}] = length;
        images[${dim + k}] = period[${dim + k}];
        images[${2 * dim + k}] = home ? 0 : period[${dim + k}];
        images[${3 * dim + k}] = start;
        // Term by term: a sum of coordinates may lie beyond all numbers.
        images[${4 * dim + k}] = length > 0 ? 16 * FRNN_EPSILON * farthest + 8 * FRNN_EPSILON * fabs(start)
                                              + (8 * FRNN_EPSILON + share) * length : 0;
        images[${5 * dim + k}] = length > 0 ? start : -INFINITY;
        images[${6 * dim + k}] = length > 0 ? start + length : INFINITY;
    }
% endfor
    images[${7 * dim}] = home;
</%def>
