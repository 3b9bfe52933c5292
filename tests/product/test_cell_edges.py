"""Pairs on the edges of cells in a lattice: windows with pads miss none of them, and windows without do."""

import numpy as np
import pytest
from conftest import FULL, assert_counts, assert_same, nudged, truth

import clfrnn
from clfrnn.domain.box import EPSILON, SLACK
from clfrnn.domain.cells import fit_cells, padded_radius
from clfrnn.domain.lattice import periodic_cell

pytestmark = pytest.mark.product

REAL = {4: "float", 8: "double"}
LATTICES = {
    "hexagonal": [[1, 0, 0], [0.5, 0.8660254, 0], [0, 0, 1.3]],
    "skewed": [[1, 0, 0], [2.3, 0.9, 0], [-1.7, 0.6, 0.8]],
    "thin": [[2, 0.1, 0.2], [0.3, 1.4, 0.1], [0.1, 0.2, 0.25]],
    "hexagonal in the plane": [[1, 0], [0.5, 0.8660254]],
    "skewed in the plane": [[1, 0], [3.7, 0.8]],
    "sheared by many lengths": [[1, 0, 0], [40, 1.1, 0], [-30.3, 57, 0.9]],
}


def lattice(name, dtype):
    cell = np.array(LATTICES[name], dtype)
    return cell, periodic_cell(tuple(map(tuple, cell.tolist())), REAL[dtype.itemsize])


def grid_over(domain, radius, dtype):
    """Cells of side about the radius, as methods lay them over the heights of a lattice."""
    dim, real = len(domain.lengths), REAL[dtype.itemsize]
    low, high = domain.filled((0.0,) * dim, domain.lengths)
    return fit_cells(low=low, high=high, sides=(radius,) * dim, n=10**6, real=real, lengths=domain.lengths)


def translation(shifts, cell):
    """As the contract says: each operation rounded in the dtype."""
    turns = shifts.astype(cell.dtype)
    found = turns[:, :1] * cell[0]
    for axis in range(1, len(cell)):
        found = found + turns[:, axis : axis + 1] * cell[axis]
    return found


def edge_pairs(cell, domain, radius, *, many, seed, far):
    """Points, queries and shifts of accepted pairs that lie on edges of cells and of the lattice's own cell.

    Each point lies on a face over one axis, or at a float beside it; its query is a radius away across that face, or at
    a float beside that; both may be moved by lattice vectors.
    """
    rng, dtype, dim = np.random.default_rng(seed), cell.dtype, len(cell)
    grid = grid_over(domain, radius, dtype)
    normals, heights = np.array(domain.normals), np.array(domain.lengths)
    axis = rng.integers(0, dim, many)
    sides = heights / np.array(grid.periods)
    places = rng.random((many, dim)) * heights
    edge = rng.integers(0, np.array(grid.periods)[axis] + 1)
    places[np.arange(many), axis] = edge * sides[axis]
    points = places @ np.linalg.inv(normals).T
    queries = points + radius * normals[axis] * rng.choice([-1, 1], (many, 1))
    of_points, of_queries = (rng.integers(-far, far + 1, (many, dim)) for _ in range(2))
    points = nudged(rng, points + of_points @ cell.astype(float), dtype)
    queries = nudged(rng, queries + of_queries @ cell.astype(float), dtype)
    shifts = of_queries - of_points
    dx = (points - queries) + translation(shifts, cell)
    squares = dx[:, 0] * dx[:, 0]
    for k in range(1, dim):
        squares = squares + dx[:, k] * dx[:, k]
    accepted = squares <= dtype.type(radius) * dtype.type(radius)
    return points[accepted], queries[accepted], shifts[accepted]


def missed(cell, domain, radius, pairs, *, pads):
    """How many pairs the windows of queries do not hold, computed as kernels do: one window for each image it meets."""
    points, queries, shifts = pairs
    dtype, dim = cell.dtype, len(cell)
    grid = grid_over(domain, radius, dtype)
    eps, weights = EPSILON[REAL[dtype.itemsize]], np.array(domain.weights)
    normals = np.array(domain.normals, dtype)

    def height(positions, k):
        found = normals[k, 0] * positions[:, 0] + normals[k, 1] * positions[:, 1]
        return found + normals[k, 2] * positions[:, 2] if dim == 3 else found

    turns = np.rint(shifts @ np.linalg.inv(np.array(domain.combinations)))
    seen = [[height(each, k) for k in range(dim)] for each in (points, queries)]
    farthest = [max(np.abs(seen[0][k]).max(), np.abs(seen[1][k]).max()) for k in range(dim)]
    reach = dtype.type(padded_radius(radius, REAL[dtype.itemsize]))
    if pads:
        rounding = sum(w * eps * (32 * f + 16 * h) for w, f, h in zip(weights, farthest, domain.lengths, strict=True))
        reach = dtype.type(reach * (1 + domain.growth) + rounding)
    found = np.ones(len(points), bool)
    for k in range(dim):
        length, inverse = dtype.type(domain.lengths[k]), dtype.type(1 / domain.lengths[k])
        wide = reach + dtype.type(SLACK) * length if pads else reach
        own_p, own_q = (np.floor(each[k] * inverse) for each in seen)
        at, inside = (each[k] - own * length for each, own in zip(seen, (own_p, own_q), strict=True))
        image = turns[:, k] + own_p - own_q
        first, last = (
            np.minimum(0, np.floor((inside - wide) * inverse)),
            np.maximum(0, np.floor((inside + wide) * inverse)),
        )
        from_image = inside - image.astype(dtype) * length
        side, most = dtype.type(grid.inverses[k]), grid.periods[k] - 1
        own, start, end = (np.clip(np.floor(x * side), 0, most) for x in (at, from_image - wide, from_image + wide))
        found &= (first <= image) & (image <= last) & (start <= own) & (own <= end)
    return int((~found).sum())


def test_windows_need_pads():
    """Without them thousands of accepted pairs are missed, most where points lie far away; with them none."""
    for far, least in ((0, 100), (40, 1000)):
        total = without = 0
        for seed, name in enumerate(sorted(LATTICES)):
            cell, domain = lattice(name, np.dtype(np.float32))
            for radius in (0.043, 0.11, 0.31):
                pairs = edge_pairs(cell, domain, radius, many=20_000, seed=seed, far=far)
                total += len(pairs[0])
                without += missed(cell, domain, radius, pairs, pads=False)
                assert missed(cell, domain, radius, pairs, pads=True) == 0, (name, radius)
        assert total > 100_000
        assert without > least, (far, total, without)


@pytest.mark.core
@pytest.mark.parametrize("name", sorted(LATTICES))
@pytest.mark.parametrize("far", [0, 40])
def test_no_pair_on_an_edge_is_missed(session, way, dtype, name, far):
    """By any method, of points and of queries that are none."""
    cell, domain = lattice(name, dtype)
    for seed, radius in enumerate((0.11, 0.31)):
        points, queries, _ = (each[:150] for each in edge_pairs(cell, domain, radius, many=400, seed=seed, far=far))
        method, options = way
        if far and name.startswith("sheared") and dtype == np.float32:
            # The parts of a translation are thousands of lengths, of which float32 loses more than a length far out.
            with pytest.raises(clfrnn.InvalidInputError, match="rounding hides which image is which"):
                clfrnn.build_index(points, radius, method=method, session=session, cell=cell, **options)
            return
        index = clfrnn.build_index(points, radius, method=method, session=session, cell=cell, **options)
        expected = truth(points, radius, queries=queries, cell=cell)
        assert len(expected.indices) >= len(queries)
        assert_counts(index.count(queries), expected)
        assert_same(index.query(queries, **FULL), expected)
        both = np.concatenate([points, queries])
        found = clfrnn.search(both, radius, method=method, session=session, cell=cell, **FULL, **options)
        assert_same(found, truth(both, radius, cell=cell))
