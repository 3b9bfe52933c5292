<%include file="types.cl.mako"/>
// What a periodic walk needs to know of its points: whether all lie in one image of the box, and how far rounding reaches.
// Launch: one work-item. In: share: of a length, by which points may lie outside; period (3, dim): lengths, 0 where not
// periodic; their inverses; where the box starts; bounds (2, dim): the box of the finite points, empty where there is none.
// Out: images (7 * dim + 1,): lengths, inverses, turns, starts, pads, the edges of the box, which lie infinitely far apart
// where an axis is not periodic, and 1 where all points are at home.
// Config fields used: dim, work_group_size.
// A point is at home up to a little outside the box, so that one rounded up to its edge does not count as away; the pad,
// added to each window, covers that, and the rounding of coordinates, images and differences.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void measure_images(
    const real share, global const real *restrict period, global const real *restrict boxes, const int place,
    global real *restrict images)
{
    if (get_global_id(0)) return;
    global const real *const bounds = boxes + place;
    int home = 1;
    for (int k = 0; k < ${dim}; ++k) {
        const real length = period[k], start = period[${2 * dim} + k], slack = length * share;
        if (length > 0 && bounds[k] <= bounds[${dim} + k]
            && !(bounds[k] >= start - slack && bounds[${dim} + k] <= start + length + slack)) home = 0;
    }
    for (int k = 0; k < ${dim}; ++k) {
        const real length = period[k], start = period[${2 * dim} + k];
        const real most = length * FRNN_FARTHEST;
        const real farthest = fmin(fmax(fabs(bounds[k]), fabs(bounds[${dim} + k])), most);
        images[k] = length;
        images[${dim} + k] = period[${dim} + k];
        images[${2 * dim} + k] = home ? 0 : period[${dim} + k];
        images[${3 * dim} + k] = start;
        // Term by term: a sum of coordinates may lie beyond all numbers.
        images[${4 * dim} + k] = length > 0 ? 16 * FRNN_EPSILON * farthest + 8 * FRNN_EPSILON * fabs(start)
                                                  + (8 * FRNN_EPSILON + share) * length : 0;
        images[${5 * dim} + k] = length > 0 ? start : -INFINITY;
        images[${6 * dim} + k] = length > 0 ? start + length : INFINITY;
    }
    images[${7 * dim}] = home;
}
