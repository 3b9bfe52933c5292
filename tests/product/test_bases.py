"""Any basis of a lattice: the same neighbors, in the vectors that the caller gave, against numpy."""

import os

import numpy as np
import pytest
from conftest import FULL, assert_counts, assert_rows, assert_same, by_distance

import clfrnn
from clfrnn import reference
from clfrnn.arrays import REAL_OF
from clfrnn.domain.lattice import periodic_cell

#: How many random cases each call draws: thousands where somebody asks for them.
CASES = int(os.environ.get("CLFRNN_TEST_BASES", "6"))

N, M = 40, 25
HEXAGONAL = np.array([[1, 0, 0], [0.5, 0.75**0.5, 0], [0, 0, 1.3]])
CALLS = ["query", "foreign", "half", "count", "nearest", "unbounded", "update"]


def basis(rng, axes, dim):
    """A whole matrix that combines the vectors of these axes: in any order and direction, and added to each other."""
    found = np.eye(dim, dtype=int)
    found[axes] = found[rng.permutation(axes)] * rng.choice([-1, 1], (len(axes), 1))
    for _ in range(rng.integers(0, 4) if len(axes) > 1 else 0):
        i, j = rng.permutation(axes)[:2]
        found[i] += rng.choice([1, 2, 5, 9, 40]) * rng.choice([-1, 1]) * found[j]
    return found


def lattice(rng, dim):
    kind = rng.integers(4)
    if kind == 0:
        return HEXAGONAL[:dim, :dim]
    return [np.eye(dim), np.diag(rng.uniform(0.4, 1.6, dim)), np.eye(dim) + rng.normal(size=(dim, dim)) / 5][kind - 1]


def place(rng, rows, many, far):
    """Points in the cell, some of them on its faces, up to `far` cells away."""
    places = rng.random((many, len(rows)))
    places = np.where(rng.random(places.shape) < 0.3, np.round(4 * places) / 4, places)
    return (places + rng.integers(-far, far + 1, places.shape)) @ rows


def usable(cell, flags, dtype):
    """Whether rounding does not hide that the vectors are independent."""
    rows = cell.astype(dtype).tolist()
    given = tuple(tuple(row) if flag else None for row, flag in zip(rows, flags, strict=True))
    return any(flags) and periodic_cell(given, REAL_OF[np.dtype(dtype)]) is not None


def draw(seed, dim, dtype):
    rng = np.random.default_rng([seed, dim])
    flags, rows, cell = (False,) * dim, np.eye(dim), np.eye(dim)
    while not usable(cell, flags, dtype):
        flags = tuple((rng.random(dim) < (0.8 if seed % 3 else 1)).tolist())
        rows = lattice(rng, dim)
        cell = basis(rng, np.flatnonzero(flags), dim) @ rows
    far = int(rng.choice([0, 0, 1, 20]))
    points, queries = (place(rng, rows, many, far).astype(dtype) for many in (N, M))
    radius = float(rng.choice([0.15, 0.25, 0.5, 0.9]))
    return points, queries, radius, {"cell": cell, "periodic": flags}, rng


@pytest.mark.product
@pytest.mark.parametrize("call", CALLS)
def test_random_bases(session, method, dim, dtype, call):
    for seed in range(CASES):
        points, queries, radius, known, rng = draw(seed, dim, dtype)
        index = clfrnn.build_index(points, radius, method=method, session=session, **known)
        if call == "query":
            expected = reference.neighbors(points, radius, **known)
            assert_same(index.query(**FULL), expected)
            assert_same(index.query(**{**FULL, "sort": "distance"}), expected, order=by_distance(expected))
        elif call == "foreign":
            assert_same(index.query(queries, **FULL), reference.neighbors(points, radius, queries=queries, **known))
        elif call == "half":
            assert_same(index.query(half=True, **FULL), reference.neighbors(points, radius, half=True, **known))
        elif call == "count":
            assert_counts(index.count(), reference.neighbors(points, radius, **known))
            assert_counts(index.count(queries), reference.neighbors(points, radius, queries=queries, **known))
            even = {"where": lambda i, j, d2, dx, shift: (shift[:, 0] + shift[:, 1]) % 2 == 0}
            where = clfrnn.Condition("(shift.s0 + shift.s1) % 2 == 0")
            assert_counts(index.count(where=where), reference.neighbors(points, radius, **even, **known))
        elif call == "update":
            known["cell"] = basis(rng, np.flatnonzero(known["periodic"]), dim) @ known["cell"] * 1.1
            index.update(points[::2], cell=known["cell"])
            assert_same(index.query(**FULL), reference.neighbors(points[::2], radius, **known))
        else:
            reach = {"radius": radius if call == "nearest" else None, "queries": queries if seed % 2 else None}
            found = clfrnn.nearest(points, 3, vectors=True, method=method, session=session, **reach, **known)
            assert_rows(found, reference.nearest(points, 3, **reach, **known))


@pytest.mark.product
def test_systems_with_cells_of_their_own(session, method, dim, dtype):
    """Some of them reduced, some not, some open."""
    rng = np.random.default_rng(9)
    for _ in range(CASES):
        rows = [lattice(rng, dim) for _ in range(4)]
        cells = np.array([each if k % 2 else basis(rng, np.arange(dim), dim) @ each for k, each in enumerate(rows)])
        cells = np.where([[[usable(cell, [True] * dim, dtype)]] for cell in cells], cells, rows)
        batch = rng.integers(0, 4, N)
        batch[:4] = range(4)
        points = np.stack([place(rng, rows[k], 1, 1)[0] for k in batch]).astype(dtype)
        known = {"batch": batch, "cell": cells, "periodic": np.repeat([[True], [True], [True], [False]], dim, axis=1)}
        index = clfrnn.build_index(points, 0.4, method=method, session=session, **known)
        assert_same(index.query(**FULL), reference.neighbors(points, 0.4, **known))
        queries, asked = points[:M] + points.dtype.type(0.1), {"query_batch": batch[:M]}
        expected = reference.neighbors(points, 0.4, queries=queries, **asked, **known)
        assert_same(index.query(queries, **asked, **FULL), expected)
        found = clfrnn.nearest(points, 3, vectors=True, method=method, session=session, **known)
        assert_rows(found, reference.nearest(points, 3, **known))


@pytest.mark.core
def test_a_cubic_lattice_sheared_by_eight_lengths(session, method):
    """The shifts count the sheared vectors; indices and distances are those of the cube."""
    if not session.profile.fp64:
        pytest.skip("in float32, positions lose digits along vectors of 64")
    points = np.random.default_rng(0).random((60, 3)) * 8
    cell = np.array([[8.0, 0, 0], [64, 8, 0], [64, 64, 8]])
    found = clfrnn.nearest(points, 4, cell=cell, vectors=True, method=method, session=session).to_host()
    cube = clfrnn.nearest(points, 4, box=[8, 8, 8], vectors=True, method=method, session=session).to_host()
    assert np.array_equal(found.indices, cube.indices)
    assert np.array_equal(found.distances, cube.distances)
    assert np.array_equal(found.shifts @ cell, cube.shifts * 8.0)
    assert np.abs(found.shifts).max() > 8


@pytest.mark.core
@pytest.mark.parametrize("method", ["strips", "uniform_grid", "fenns", "aabb_tree"])
def test_each_basis_costs_the_same(session, method):
    """Cells and candidates as the index explains them."""
    if not session.profile.fp64:
        pytest.skip("in float32, the two bases round to different lattices")
    points = np.random.default_rng(1).random((500, 3))
    said = []
    for rows in ([[1, 0.01, 0], [0, 1, 0], [0, 0, 1]], [[1, 0.01, 0], [7, 1.07, 0], [-20, 11.8, 1]]):
        index = clfrnn.build_index(points, 0.2, cell=rows, method=method, session=session)
        lines = index.explain(long=True).splitlines()
        said.append([line for line in lines if line.startswith(("cells", "candidates", "nodes"))])
    assert said[0] == said[1]
    assert said[0]


def test_shifts_beyond_an_int32_are_refused(session):
    with pytest.raises(clfrnn.InvalidInputError, match="^radius: .*shifts along its vectors exceed an int32"):
        clfrnn.build_index([[0.0, 0.0]], 1100.0, cell=[[0.0024, 0], [2400, 1]], session=session)
