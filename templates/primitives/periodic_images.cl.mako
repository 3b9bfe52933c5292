<%include file="/common/types.mako"/>
<%namespace name="period_numbers" file="/common/period_numbers.mako"/>
<%namespace name="lattice" file="/common/lattice.mako"/>\
// Computes the numbers by which a periodic walk finds the images of points, from the bounding box of the points.
// Launch: one work-item.
// In: share: the share of a length by which points may lie outside the box; period (3, dim): lengths, 0 where an axis
// is not periodic, inverse lengths, starts; boxes: from box_start on the low and the high corner of the finite points,
// an empty box where there are none. Out: images (7 * dim + 1,): see /common/period_numbers.mako.
// Config fields used: work_group_size, dim.
## And periodic, placing_group.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void measure_images(
    const real share, global const real *restrict period, global const real *restrict boxes, const int box_start,
    global real *restrict images)
{
    if (get_global_id(0)) return;
% if skewed:
    ${period_numbers.measure_cell("boxes[box_start + {k}]", f"boxes[box_start + {dim} + {{k}}]")}
% else:
    ${period_numbers.measure("boxes[box_start + {k}]", f"boxes[box_start + {dim} + {{k}}]")}
% endif
}
% if skewed:

// Computes the heights of points, by which they are placed in a cell.
// Launch: one work-item per point, groups of ${placing_group}.
// In: points (n, dim); period as above. Out: heights (n, dim).
kernel __attribute__((reqd_work_group_size(${placing_group}, 1, 1)))
void place_points(const int n, global const real *restrict points, global const real *restrict period,
                  global real *restrict heights)
{
    const size_t i = get_global_id(0);
    if (i >= (size_t)n) return;
    // By the operations of frnn_heights, so that every program finds the same heights.
% for axis in range(dim):
    heights[i * ${dim} + ${axis}] = ${lattice.sum_of([f"period[{(6 + axis) * dim + k}] * points[i * {dim} + {k}]" for k in range(dim)])};
% endfor
}
% endif
