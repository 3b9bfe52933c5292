<%include file="/common/types.mako"/>
<%namespace name="period" file="/common/period_numbers.mako"/>
// What a periodic walk needs to know of points whose box is known.
// Launch: one work-item. In: share: of a length, by which points may lie outside; period (3, dim): lengths, 0 where not
// periodic; their inverses; where the box starts; boxes: from place on low and high of the finite points, empty where there is
// none. Out: images (7 * dim + 1,): lengths, inverses, turns, starts, pads, the edges of the box, which lie infinitely far
// apart where an axis is not periodic, and 1 where all points are at home.
// Config fields used: dim, work_group_size.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void measure_images(
    const real share, global const real *restrict period, global const real *restrict boxes, const int place,
    global real *restrict images)
{
    if (get_global_id(0)) return;
    ${period.measure("boxes[place + {k}]", f"boxes[place + {dim} + {{k}}]")}
}
