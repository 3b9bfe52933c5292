"""Cells in fractions: heights, normals and weights, and the vectors that count as dependent."""

import itertools
import math

import numpy as np
import pytest

import clfrnn
from clfrnn.domain.box import EPSILON, PeriodicBox
from clfrnn.domain.lattice import PeriodicCell, periodic_cell

REALS = {"float": np.float32, "double": np.float64}


def cell_of(rows, real="double", flags=None):
    rounded = np.array(rows, REALS[real]).tolist()
    flags = flags or [True] * len(rows)
    return periodic_cell(tuple(tuple(row) if flag else None for row, flag in zip(rounded, flags, strict=True)), real)


def random_rows(seed, dim, real):
    rng = np.random.default_rng([seed, dim])
    return rng.normal(size=(dim, dim)) * 10.0 ** rng.uniform(-3, 3, (dim, 1))


@pytest.mark.parametrize("real", sorted(REALS))
@pytest.mark.parametrize("dim", [2, 3])
def test_heights_of_a_lattice_are_those_of_a_box(dim, real):
    """A lattice vector changes one height alone, by that of the cell; normals have length 1."""
    eps = EPSILON[real]
    for seed, flags in itertools.product(range(20), itertools.product([True, False], repeat=dim)):
        if not any(flags):
            continue
        found = cell_of(random_rows(seed, dim, real), real, flags)
        if not isinstance(found, PeriodicCell):
            continue
        normals, vectors, combinations = (np.array(each) for each in (found.normals, found.vectors, found.combinations))
        assert np.abs((normals**2).sum(axis=1) - 1).max() < 4 * eps
        products = combinations @ (vectors @ normals.T)
        sizes = np.abs(combinations) @ np.abs(vectors) @ np.abs(normals).T
        assert (np.abs(products - np.diag(found.lengths)) <= 4 * eps * sizes + eps * np.diag(found.lengths)).all()
        assert all((length > 0) == flag for length, flag in zip(found.lengths, flags, strict=True))
        # Coordinates are no larger than heights and weights say.
        positions = np.random.default_rng(seed).normal(size=(50, dim)) @ (vectors + np.diag([not f for f in flags]))
        bound = np.abs(found.heights(positions)) @ np.array(found.weights)
        assert (np.abs(positions).sum(axis=1) <= bound * (1 + 1e-3)).all()


def test_open_axes_point_away_from_the_periodic_ones():
    slab = cell_of([[1, 0, 0], [0.5, 1, 0], [7, 8, 9]], flags=[True, True, False])
    assert slab.normals[2] == (0, 0, 1)
    assert slab.lengths[2] == 0
    assert slab.vectors[2] == (0, 0, 0)
    tube = cell_of([[0, 0, 0], [0, 0, 0], [3, 0, 4]], flags=[False, False, True])
    assert tube.lengths == (0, 0, 5)
    assert np.allclose(np.array(tube.normals) @ np.array(tube.normals).T, np.eye(3))


def test_vectors_along_the_axes_give_a_box():
    assert cell_of([[1, 0], [0, 2]]) == PeriodicBox(lengths=(1.0, 2.0), low=None)
    assert cell_of([[1, 0], [5, 2]], flags=[True, False]) == PeriodicBox(lengths=(1.0, 0.0), low=None)
    for rows in ([[-1, 0], [0, 2]], [[0, 1], [2, 0]], [[1, 0], [1e-300, 2]]):
        assert isinstance(cell_of(rows), PeriodicCell)


@pytest.mark.parametrize("real", sorted(REALS))
def test_flat_cells_are_refused_where_rounding_hides_them(real):
    eps = EPSILON[real]
    for scale in (1e-20, 1.0, 1e15):
        assert cell_of(np.array([[1, 0.25], [4, 1]]) * scale, real) is None
        assert cell_of(np.array([[1, 0.25], [4, 1 + 64 * eps]]) * scale, real) is None
        assert cell_of(np.array([[1, 0.25], [4, 1 + 4096 * eps]]) * scale, real) is not None


def test_a_cell_so_flat_that_points_near_it_are_rounded_always_repeats():
    """Attributes of its pairs then come with the walk, which knows the image."""
    assert cell_of([[1, 0.2], [0.3, 1]], "float").repeats(0.1) is False
    assert cell_of([[1, 0.2], [0.3, 1]], "float").repeats(0.4) is True
    assert cell_of([[1, 0], [3e4, 1]], "float").repeats(1e-9) is True


def test_images_in_the_cell():
    found = cell_of([[1, 0.2, 0], [0.3, 1, 0], [0, 0.5, 1]], flags=[True, True, False])
    positions = np.random.default_rng(1).normal(scale=9, size=(40, 3))
    inside = found.into_box(positions, (0.0, 0.0, 0.0))
    heights = found.heights(inside)
    for k in (0, 1):
        assert (heights[:, k] >= -1e-12).all()
        assert (heights[:, k] <= found.lengths[k] + 1e-12).all()
    turns = (positions - inside) @ np.linalg.pinv(np.array(found.vectors))
    assert np.abs(turns - np.rint(turns)).max() < 1e-12


def test_lengths_and_angles():
    """As ASE orients them: a along x, b in the plane of x and y."""
    assert np.array_equal(clfrnn.cell_from_parameters(1, 2, 3, 90, 90, 90), np.diag([1.0, 2, 3]))
    rng = np.random.default_rng(0)
    for _ in range(50):
        lengths, angles = rng.uniform(1, 9, 3), rng.uniform(65, 115, 3)
        rows = clfrnn.cell_from_parameters(*lengths, *angles)
        assert np.allclose(np.linalg.norm(rows, axis=1), lengths)
        for angle, (i, j) in zip(angles, ((1, 2), (0, 2), (0, 1)), strict=True):
            cosine = rows[i] @ rows[j] / lengths[i] / lengths[j]
            assert math.degrees(math.acos(cosine)) == pytest.approx(angle)
        assert (rows[0, 1:] == 0).all()
        assert rows[1, 2] == 0
        assert np.linalg.det(rows) > 0


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ((0, 1, 1, 90, 90, 90), "a, b, c: expected three positive lengths"),
        ((1, np.nan, 1, 90, 90, 90), "a, b, c: expected three positive lengths"),
        ((1, 1, 1, 90, 90, 180), "alpha, beta, gamma: expected three angles between 0 and 180"),
        ((1, 1, 1, 30, 30, 90), "alpha, beta, gamma: no three vectors have the angles"),
    ],
)
def test_lengths_and_angles_that_make_no_cell(numbers, message):
    with pytest.raises(clfrnn.InvalidInputError, match=f"^{message}"):
        clfrnn.cell_from_parameters(*numbers)
