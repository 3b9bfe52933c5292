"""Warp kernels that count neighbors and list them; Warp reads the annotations, so they are no strings here."""

# ruff: noqa: UP018, RUF046 — to Warp, int(0) is a variable and 0 a constant

import warp as wp


@wp.kernel
def grid_count(grid: wp.uint64, points: wp.array(dtype=wp.vec3), radius: float, counts: wp.array(dtype=int)):  # noqa: ANN201
    """Neighbors of each point, in the grid's order, so that threads side by side read the same cells."""
    i = wp.hash_grid_point_id(grid, wp.tid())
    here = points[i]
    query = wp.hash_grid_query(grid, here, radius)
    j = int(0)
    found = int(0)
    while wp.hash_grid_query_next(query, j):
        if j != i and wp.length_sq(points[j] - here) <= radius * radius:
            found += 1
    counts[i] = found


@wp.kernel
def grid_write(  # noqa: ANN201
    grid: wp.uint64,
    points: wp.array(dtype=wp.vec3),
    radius: float,
    offsets: wp.array(dtype=int),
    indices: wp.array(dtype=int),
):
    """The neighbors of each point, from its offset on."""
    i = wp.hash_grid_point_id(grid, wp.tid())
    here = points[i]
    query = wp.hash_grid_query(grid, here, radius)
    j = int(0)
    at = offsets[i]
    while wp.hash_grid_query_next(query, j):
        if j != i and wp.length_sq(points[j] - here) <= radius * radius:
            indices[at] = j
            at += 1


@wp.kernel
def tree_count(  # noqa: ANN201
    tree: wp.uint64, points: wp.array(dtype=wp.vec3), radius: float, reach: float, counts: wp.array(dtype=int)
):
    """Neighbors of each point; `reach` is a little more than the radius, for the tree's own rounding."""
    i = wp.tid()
    here = points[i]
    query = wp.bvh_query_sphere(tree, here, reach)
    j = int(0)
    found = int(0)
    while wp.bvh_query_next(query, j):
        if j != i and wp.length_sq(points[j] - here) <= radius * radius:
            found += 1
    counts[i] = found


@wp.kernel
def tree_write(  # noqa: ANN201
    tree: wp.uint64,
    points: wp.array(dtype=wp.vec3),
    radius: float,
    reach: float,
    offsets: wp.array(dtype=int),
    indices: wp.array(dtype=int),
):
    """The neighbors of each point, from its offset on."""
    i = wp.tid()
    here = points[i]
    query = wp.bvh_query_sphere(tree, here, reach)
    j = int(0)
    at = offsets[i]
    while wp.bvh_query_next(query, j):
        if j != i and wp.length_sq(points[j] - here) <= radius * radius:
            indices[at] = j
            at += 1
