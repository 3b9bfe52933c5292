"""Cells beside what else a search can be: k nearest neighbors, conditions, and cells that change from step to step."""

import numpy as np
import pyopencl.array as cla
import pytest
from conftest import FULL, POINTS, assert_counts, assert_same, truth

import clfrnn
from clfrnn import reference
from clfrnn.methods import METHODS

pytestmark = pytest.mark.product

N = min(60, POINTS)
CELLS = {
    2: {"hexagonal": [[1, 0], [0.5, 0.8660254]], "skewed": [[1, 0], [2.3, 0.8]]},
    3: {
        "hexagonal": [[1, 0, 0], [0.5, 0.8660254, 0], [0, 0, 1.3]],
        "skewed": [[1, 0, 0], [1.3, 0.9, 0], [-0.7, 0.6, 0.8]],
    },
}
FLAGS = {"all": None, "one": [True, False, False]}


def points_in(cell, dtype, *, n=N, seed=1, far=2):
    rng = np.random.default_rng(seed)
    return ((rng.random((n, len(cell))) + rng.integers(-far, far + 1, (n, len(cell)))) @ np.array(cell)).astype(dtype)


def assert_rows(found, expected):
    found = found.to_host()
    for name in ("indices", "distances", "vectors", "shifts"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name


@pytest.mark.parametrize("name", ["hexagonal", "skewed"])
@pytest.mark.parametrize("flags", sorted(FLAGS))
@pytest.mark.parametrize("method", sorted(METHODS))
def test_k_nearest(session, method, dim, dtype, flags, name):
    """Within a radius, beyond half of the cell, and without one; of points and of queries."""
    cell = np.array(CELLS[dim][name])
    domain = {"cell": cell, "periodic": None if FLAGS[flags] is None else FLAGS[flags][:dim]}
    points, queries = points_in(cell, dtype), points_in(cell, dtype, n=N // 3, seed=2, far=4)
    asked = {"method": method, "session": session, "vectors": True, **domain}
    for k, radius in ((5, 0.2), (5, 0.9), (5, None), (N + 20, None)):
        if radius is None and k > N and flags == "one":
            continue  # images in one direction: reaches grow with k
        expected = reference.nearest(points, k, radius=radius, **domain)
        assert_rows(clfrnn.nearest(points, k, radius=radius, **asked), expected)
        expected = reference.nearest(points, k, radius=radius, queries=queries, **domain)
        assert_rows(clfrnn.nearest(points, k, radius=radius, queries=queries, **asked), expected)


@pytest.mark.parametrize("method", sorted(METHODS))
def test_conditions(session, method, dim):
    """Shifts and vectors of a condition are those of the cell."""
    cell = np.array(CELLS[dim]["skewed"])
    points = points_in(cell, np.float32)
    where = clfrnn.Condition("dx.x > 0 && (shift.x + shift.y) % 2 == 0")
    asked = {"cell": cell, "where": lambda i, j, d2, dx, s: (dx[:, 0] > 0) & ((s[:, 0] + s[:, 1]) % 2 == 0)}
    index = clfrnn.build_index(points, 0.7, method=method, cell=cell, session=session)
    expected = reference.neighbors(points, 0.7, **asked)
    assert_same(index.query(where=where, **FULL), expected)
    assert_counts(index.count(where=where), expected)
    found = index.nearest(k=4, where=where, vectors=True)
    assert_rows(found, reference.nearest(points, 4, radius=0.7, **asked))


@pytest.mark.parametrize("on_device", [False, True], ids=["host", "device"])
@pytest.mark.parametrize("method", sorted(METHODS))
def test_cells_that_change(session, method, dim, on_device):
    """They shear, become rectangular and skewed again, with other numbers of points; earlier lists stay as they are."""
    first, last = np.array(CELLS[dim]["hexagonal"]), np.array(CELLS[dim]["skewed"])
    index = clfrnn.build_index(points_in(first, np.float32), 0.35, method=method, cell=first, session=session)
    held = []
    for step, (cell, n) in enumerate(
        [
            (first, N),
            (1.1 * first, N),
            (last, N + 9),
            (np.diag([0.9, 1.1, 1.2][:dim]), N),
            (last, N // 2),
            (first, 3 * N),
        ]
    ):
        points = points_in(cell, np.float32, n=n, seed=step)
        index.update(cla.to_device(session.queue, points) if on_device else points, cell=cell)
        expected = truth(points, 0.35, cell=cell)
        held.append((index.query(**FULL), expected))
        assert_counts(index.count(), expected)
        assert index.num_points == n
    for found, expected in held:
        assert_same(found, expected)
    index.check()


def test_a_cell_that_does_not_fit(session):
    points = points_in(CELLS[2]["skewed"], np.float32)
    open_index = clfrnn.build_index(points, 0.3, session=session)
    with pytest.raises(clfrnn.InvalidInputError, match="^cell: expected none, as there was no box when it was built"):
        open_index.update(points, cell=CELLS[2]["skewed"])
    index = clfrnn.build_index(points, 0.3, cell=CELLS[2]["skewed"], session=session)
    with pytest.raises(clfrnn.InvalidInputError, match="^cell: expected linearly independent lattice vectors"):
        index.update(points, cell=[[1, 0], [2, 0]])
    with pytest.raises(clfrnn.InvalidInputError, match="^box, cell: expected one of the two"):
        index.update(points, cell=CELLS[2]["skewed"], box=(1, 1))
    assert_counts(index.count(), truth(points, 0.3, cell=np.array(CELLS[2]["skewed"])))
