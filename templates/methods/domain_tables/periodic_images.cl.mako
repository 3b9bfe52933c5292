<%include file="/common/types.mako"/>
<%namespace name="period_numbers" file="/domain/period_numbers.mako"/>
<%namespace name="lattice" file="/domain/lattice.mako"/>\
% if batched:
// Bounds the points of many systems, and places them in the slots of their systems.
// Config fields used: work_group_size, dim, batched.

// Finds the bounding box of the heights of a range of points that belong to one system, and the lowest number of a point that
// is not finite and does not count.
// Launch: a group of ${work_group_size} for each range.
// In: ranges (groups, 3): the system, and the first place of the range and the place behind its last; order, the number of the
// point at each place; points (n, dim); normals (systems, dim, dim). Out: boxes (groups, 2 * dim + 1): the low and the high corner, and that number
// in the form of a point's id, INT_MAX where all are finite.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void bound_systems(global const int *restrict ranges, global const int *restrict order, global const real *restrict points,
                   global const real *restrict normals, global real *restrict boxes)
{
    local real found[${2 * dim * work_group_size}];
    local int bad;
    const int l = get_local_id(0), g = get_group_id(0), end = ranges[3 * g + 2];
    global const real *const directions = normals + (size_t)ranges[3 * g] * ${dim * dim};
% for k in range(dim):
    real low${k} = INFINITY, high${k} = -INFINITY;
% endfor
    if (l == 0) bad = INT_MAX;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int t = ranges[3 * g + 1] + l; t < end; t += ${work_group_size}) {
        const size_t i = order[t];
% for axis in range(dim):
        const real height${axis} = ${lattice.sum_of([f"directions[{axis * dim + k}] * points[i * {dim} + {k}]" for k in range(dim)])};
% endfor
        if (${" & ".join(f"isfinite(height{k})" for k in range(dim))}) {
% for k in range(dim):
            low${k} = fmin(low${k}, height${k});
            high${k} = fmax(high${k}, height${k});
% endfor
        } else {
            atomic_min(&bad, (int)i);
        }
    }
% for k in range(dim):
    found[${k * work_group_size} + l] = low${k};
    found[${(dim + k) * work_group_size} + l] = -high${k};
% endfor
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int side = l; side < ${2 * dim}; side += ${work_group_size}) {
        real least = INFINITY;
        for (int k = 0; k < ${work_group_size}; ++k) least = fmin(least, found[side * ${work_group_size} + k]);
        boxes[g * ${2 * dim + 1} + side] = side < ${dim} ? least : -least;
    }
    if (l == 0) boxes[g * ${2 * dim + 1} + ${2 * dim}] = FRNN_ID_LANE(bad);
}

// Tells whether points lie within what a layout of systems serves, and are finite.
// Launch: one work-item per range, groups of ${work_group_size}.
// In: ranges and boxes as above, one range for each system with points; served (systems, 3 * dim): the lowest low corner,
// the highest high corner, and the least extents; serial: a number that no kernel was given before.
// Out: failed (1,): the serial number where a box is not served.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void compare_bounds(const int many, const int serial, global const int *restrict ranges, global const real *restrict boxes,
                    global const real *restrict served, global int *restrict failed)
{
    const size_t g = get_global_id(0);
    if (g >= (size_t)many) return;
    global const real *const box = boxes + g * ${2 * dim + 1}, *const bounds = served + (size_t)ranges[3 * g] * ${3 * dim};
    int serves = FRNN_LANE_ID(box[${2 * dim}]) == INT_MAX;
% for k in range(dim):
    serves &= (box[${k}] >= bounds[${k}]) & (box[${dim + k}] <= bounds[${dim + k}]);
    serves &= box[${dim + k}] - box[${k}] >= bounds[${2 * dim + k}];
% endfor
    if (!serves) *failed = serial;
}

// Computes the heights of points, by which they are placed in the slots of their systems.
// Launch: one work-item per point, groups of ${work_group_size}.
// In: points (n, dim); tables: see /domain/lattice.mako. Out: heights (n, dim).
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void place_in_systems(const int n, global const real *restrict points, global const real *restrict tables,
                      global real *restrict heights)
{
    const size_t i = get_global_id(0);
    if (i >= (size_t)n) return;
    ${lattice.choose_table("", "i")}
    // By the operations of frnn_heights, so that every program finds the same heights.
% for axis in range(dim):
    heights[i * ${dim} + ${axis}] = ${lattice.height(axis, [f"points[i * {dim} + {k}]" for k in range(dim)], "images")};
% endfor
}
% else:
// Computes the numbers by which a periodic walk finds the images of points, from the bounding box of the points.
// Launch: one work-item.
// In: share: the share of a length by which points may lie outside the box; period (3, dim): lengths, 0 where an axis
// is not periodic, inverse lengths, starts; boxes: from box_start on the low and the high corner of the finite points,
// an empty box where there are none. Out: images (7 * dim + 1,): see /domain/period_numbers.mako.
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
% endif
