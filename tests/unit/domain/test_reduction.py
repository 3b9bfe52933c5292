"""Short vectors of a lattice, and cells whose images are counted along them."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from conftest import RECORDED

from clfrnn import reference
from clfrnn.answers.nearest.plan import first_reach
from clfrnn.domain.lattice import PeriodicCell, periodic_cell
from clfrnn.domain.reduction import short_combinations
from clfrnn.reference.images import lattice_of, shifts_within, translations
from clfrnn.tuning import default_tuning

LATTICES = {
    "cubic": np.eye(3),
    "hexagonal": np.array([[1, 0, 0], [-0.5, 0.75**0.5, 0], [0, 0, 1.4]]),
    "face-centred": np.array([[0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]]),
    "triclinic": np.array([[1, 0.2, 0.1], [0.3, 0.9, -0.2], [-0.1, 0.25, 1.2]]),
    "long": np.array([[0.1, 0, 0], [0, 1, 0], [0, 0.3, 20]]),
}


def random_basis(rng, dim, most=9, steps=5):
    """A whole matrix of determinant 1 or -1."""
    found = np.eye(dim, dtype=int)[rng.permutation(dim)] * rng.choice([-1, 1], (dim, 1))
    for _ in range(steps):
        i, j = rng.permutation(dim)[:2]
        found[i] += rng.integers(-most, most + 1) * found[j]
    return found


def exactly(rows):
    return [tuple(map(Fraction, row)) for row in rows.tolist()]


def cell_of(rows, real="double", flags=None):
    rounded = np.array(rows, {"float": np.float32, "double": np.float64}[real]).tolist()
    flags = flags or [True] * len(rows)
    return periodic_cell(tuple(tuple(row) if flag else None for row, flag in zip(rounded, flags, strict=True)), real)


@pytest.mark.parametrize("name", sorted(LATTICES))
@pytest.mark.parametrize("dim", [2, 3])
def test_any_basis_is_reduced(name, dim):
    """A basis of the same lattice, no vector of which is shorter with any others added."""
    lattice, rng = LATTICES[name][:dim, :dim], np.random.default_rng(dim)
    if abs(np.linalg.det(lattice)) < 0.01:
        pytest.skip("its first vectors are no lattice of the plane")
    for _ in range(20):
        skewed = random_basis(rng, dim) @ lattice
        combinations = np.array(short_combinations(exactly(skewed), 2**20))
        assert round(abs(np.linalg.det(combinations))) == 1
        short = combinations @ skewed
        added = [np.array(each) for each in itertools.product((-1, 0, 1), repeat=dim)]
        for k, each in itertools.product(range(dim), added):
            other = short[k] + each @ short - each[k] * short[k]
            assert other @ other >= 0.998 * (short[k] @ short[k])
        heights = 1 / np.linalg.norm(np.linalg.inv(short), axis=0)
        assert (heights >= np.linalg.norm(short, axis=1) / 2**0.5 * 0.99).all()


@pytest.mark.parametrize("name", sorted(LATTICES))
def test_a_reduced_basis_stays(name):
    """In any order, of any handedness and in any direction: it is searched by the kernels of other cells."""
    for order, signs in itertools.product(itertools.permutations(range(3)), itertools.product((1, -1), repeat=3)):
        rows = LATTICES[name][list(order)] * np.array(signs)[:, None]
        assert short_combinations(exactly(rows), 2**20) == np.eye(3, dtype=int).tolist()
        for real in ("float", "double"):
            assert cell_of(rows, real).kind in ("cell", "box")


def test_a_skewed_cell_is_as_high_as_its_lattice():
    for name, real in itertools.product(sorted(LATTICES), ("float", "double")):
        lattice, rng = LATTICES[name], np.random.default_rng(3)
        volume, lowest = abs(np.linalg.det(lattice)), min(1 / np.linalg.norm(np.linalg.inv(lattice), axis=0))
        for _ in range(5):
            found = cell_of(random_basis(rng, 3, most=4, steps=3) @ lattice, real)
            if not isinstance(found, PeriodicCell):
                continue
            assert min(found.lengths) > 0.8 * lowest  # the short bases of some lattices differ by so much
            assert np.prod(found.sides) == pytest.approx(volume, rel=1e-3)
            # What a query visits is bounded alike.
            assert found.most_images(0.3) < 2 * (cell_of(lattice, real) or found).most_images(0.3)


def test_only_vectors_that_repeat_are_combined():
    found = cell_of([[1, 0, 0], [9, 9, 9], [7, 0, 1]], flags=[True, False, True])
    assert found.kind == "reduced_cell"
    assert found.combinations == ((1, 0, 0), (0, 1, 0), (-7, 0, 1))
    assert found.vectors == ((1, 0, 0), (0, 0, 0), (7, 0, 1))
    assert found.lengths == (1, 0, 1)
    alone = cell_of([[1, 0, 0], [9, 9, 9], [7, 0, 1]], flags=[False, True, False])
    assert alone.kind == "cell"


def test_weights_count_what_cancels():
    """Rounding grows with the parts of a translation, not with their sum."""
    found = cell_of([[1, 0], [100, 1]])
    assert found.weights[1] == pytest.approx(201, rel=1e-3)
    assert found.growth > 50 * cell_of([[1, 0.1], [0.1, 1]]).growth
    pads = [cell_of(rows, "float").pads((0, 0), "float")[0] for rows in ([[1, 0], [10, 1]], [[1, 0], [1000, 1]])]
    assert pads[1] - pads[0] > 32 * 2.0**-23 * 1900


def test_cells_whose_shifts_would_not_fit_stay():
    assert cell_of([[1e-8, 0], [1, 1]]).kind == "cell"  # a hundred million steps of the first vector in the second
    assert cell_of([[1e-7, 0], [1, 1]]).kind == "reduced_cell"
    assert cell_of([[1e-5, 0], [1, 1]], "float").kind == "cell"
    assert cell_of([[1e-4, 0], [1, 1]], "float").kind == "reduced_cell"


@pytest.mark.parametrize(("real", "tilt"), [("float", 60_000), ("double", 6e7)])
def test_a_skewed_basis_is_as_flat_as_its_lattice(real, tilt):
    """Rounding does not hide its vectors, and points of the cell and around it are near enough."""
    for rows in ([[1, 0], [tilt, 1]], [[1, 0, 0], [0, 1, 0], [tilt, 1, 1]]):
        found = cell_of(rows, real)
        assert found is not None
        assert found.lengths == pytest.approx([1] * len(rows))
        assert min(found.limits(real)) > 2
    assert cell_of([[1, 0], [1e7 * tilt, 1]], real) is None  # too many for a combination


def test_first_reaches_follow_the_volume():
    """And so do not depend on the basis."""
    tuning = default_tuning(RECORDED["pocl"])
    reaches = []
    for rows in ([[1, 0.1], [0.1, 1]], [[1, 0.1], [5.1, 1.5]], [[8.1, 1.8], [1, 0.1]]):
        cell = cell_of(rows)
        reaches.append(first_reach(tuning, n=100, k=3, low=(0, 0), high=(1, 1), lengths=cell.sides))
    assert reaches == pytest.approx([reaches[0]] * 3, rel=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("flags", [(True, True), (True, False)])
def test_the_reference_finds_every_image(dtype, flags):
    """Among all shifts up to a bound, in bases as skewed as that."""
    rng = np.random.default_rng(4)
    for _ in range(4):
        cell = random_basis(rng, 2, most=3, steps=2) @ (np.eye(2) + rng.normal(size=(2, 2)) / 5)
        points = (rng.normal(size=(8, 2)) * 1.5).astype(dtype)
        rows, radius = lattice_of(points, None, cell, flags), dtype(0.8)
        expected = set()
        for shift in itertools.product(*(range(-40, 41) if flag else (0,) for flag in flags)):
            d2 = reference.squared_distances(points, points, translations(np.array(shift), rows))
            expected |= {(*pair, *shift) for pair in np.argwhere(d2 <= radius * radius).tolist()}
        found = reference.neighbors(points, radius, cell=cell, periodic=flags, include_self=True)
        i = np.repeat(np.arange(8), np.diff(found.offsets))
        assert {tuple(row) for row in np.column_stack([i, found.indices, found.shifts]).tolist()} == expected
        assert np.abs(found.shifts).max() < 40


def test_the_reference_looks_at_few_images():
    points = np.random.default_rng(0).random((3, 3))
    skewed = np.array([[1.0, 0, 0], [300, 1, 0], [-200, 500, 1]])
    looked = [len(list(shifts_within(points, points, np.array([0.4]), rows))) for rows in (np.eye(3), skewed)]
    assert looked[0] == looked[1]
