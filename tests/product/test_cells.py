"""What cells that are not rectangular have alone; test_conformance.py goes over them with all other spaces."""

import itertools

import numpy as np
import pyopencl.array as cla
import pytest
from conftest import FULL, POINTS, as_gpu, assert_counts, assert_same, launched, rows_of, structure_of, truth, tuned
from spaces import CELLS, build, search, space_of

import clfrnn
from clfrnn import reference
from clfrnn.arrays import REAL_OF
from clfrnn.domain.lattice import periodic_cell

pytestmark = pytest.mark.product

N = min(80, POINTS)
SHORT, LONG = 0.17, 0.9


def points_in(name, dim, n, dtype, **lie):
    return space_of(f"cell.{name}", dim).points(n, dtype, **lie)


@pytest.mark.parametrize("flags", [(True, True, True), (True, False, True)], ids=["all", "two"])
def test_attributes_that_are_measured_afterwards(session, dtype, flags):
    """From the indices alone, where a query sees one image of a point at most; also of points far from the cell."""
    fresh = tuned(as_gpu(session), lists={"attributes_apart": 0, "attributes_apart_of_point": 0.0})
    for name in ("hexagonal", "skewed", "left-handed"):
        cell = space_of(f"cell.{name}", 3).rows
        for far in (0, 500):
            turns = np.random.default_rng(3).integers(-far, far + 1, (N, 3)) * np.array(flags)
            points, radius = (points_in(name, 3, N, np.float64) + turns @ cell).astype(dtype), 0.07
            domain = {"cell": cell, "periodic": flags}
            index = clfrnn.build_index(points, radius, method="brute_force", session=fresh, **domain)
            names, found = launched(fresh, lambda index=index: index.query(**FULL))
            expected = truth(points, radius, **domain)
            assert_same(found, expected)
            assert ("measure_pairs" in names) == (len(expected.indices) > 0)


@pytest.mark.parametrize(
    ("domain", "message"),
    [
        ({"box": [1, 1, 1], "cell": np.eye(3)}, "^box, cell: expected one of the two, got both"),
        ({"cell": [[1, 2, 3], [2, 4, 6], [0, 0, 1]]}, "^cell: expected linearly independent"),
        ({"cell": [[0.1, 0.2, 0.3], [0.2, 0.4, 0.6], [0, 0, 1]]}, "^cell: expected linearly independent"),
        ({"cell": [[0.01, 0, 0], [1e4, 0.3, 0], [1e4, 0, 0.3]]}, "(?s)^cell: .*so flat that rounding in float32"),
        ({"cell": [[1, 0, 0], [0, 0, 0], [0, 0, 1]]}, "^cell: expected lattice vector 1"),
        ({"cell": [[1, 0, 0], [0, np.nan, 0], [0, 0, 1]]}, "^cell: expected lattice vector 1"),
        ({"cell": [[1, 0, 0], [0, 1, 0], [0, np.inf, 1]]}, "^cell: expected lattice vector 2"),
        ({"cell": [[1, 0], [0, 1]]}, r"^cell: expected lattice vectors as shape \(3, 3\)"),
        ({"cell": [1, 1, 1]}, "^cell: .*passed as box="),
        ({"cell": [1, 1, 1, 90, 90, 90]}, "^cell: .*cell_from_parameters"),
        ({"cell": "abc"}, "^cell: expected lattice vectors"),
        ({"box": [[4, 5, 6], [90, 90, 90]]}, r"^box: .*clfrnn.cell_from_parameters\(a, b, c, alpha, beta, gamma\)"),
        ({"box": np.eye(3)}, "(?s)^box: .*cell="),
        ({"box": [4, 5, 6, 90, 90, 90]}, "(?s)^box: .*cell="),
        ({"periodic": True}, "^box: .*cell"),
        ({"box": [1, 1, 1], "periodic": 2}, "^periodic: expected True, False or 3"),
        ({"box": [1, 1, 1], "periodic": [1, 0]}, "^periodic: expected True, False or 3"),
        ({"cell": [[1, 0.1, 0], [0, 1, 0], [0, 0, 1]], "far": 1e9}, "^points: expected positions at most some ten"),
    ],
)
def test_errors_name_the_argument(session, domain, message):
    points = np.full((2, 3), domain.pop("far", 0.5), np.float32)
    for call in (clfrnn.search, clfrnn.build_index):
        with pytest.raises(clfrnn.InvalidInputError, match=message):
            call(points, 0.1, session=session, **domain)


def test_cells_have_two_or_three_coordinates(session):
    with pytest.raises(clfrnn.InvalidInputError, match="^cell: expected points with 2 or 3 coordinates, got 4"):
        clfrnn.search(np.zeros((1, 4)), 0.1, cell=np.eye(4), session=session)


def test_a_slab_far_from_its_plane(session, method, dtype):
    """Where heights on the open axis are large, rounding is, too; pads follow it."""
    cell = space_of("cell.rotated", 3).rows + 0.05
    for away in (0.0, 50.0, 3e3 if dtype == np.float32 else 1e9):
        points = (points_in("rotated", 3, N, np.float64) + away * np.cross(cell[0], cell[1])).astype(dtype)
        expected = truth(points, 0.3, cell=cell, periodic=(True, True, False))
        assert_same(search(points, 0.3, (method, {}), session, cell=cell, periodic=(True, True, False)), expected)


@pytest.mark.parametrize("on_device", [False, True], ids=["host", "device"])
def test_cells_that_change(session, method, dim, on_device):
    """They shear, become rectangular and skewed again, with other numbers of points; earlier lists stay as they are."""
    first, last, box = (space_of(f"cell.{name}", dim).rows for name in ("hexagonal", "skewed", "diagonal"))
    index = build(points_in("hexagonal", dim, N, np.float32), 0.35, (method, {}), session, cell=first)
    held, rng = [], np.random.default_rng(1)
    for cell, n in ((first, 60), (1.1 * first, 60), (last, 69), (box, 60), (last, 30), (first, 180)):
        points = ((rng.random((n, dim)) + rng.integers(-2, 3, (n, dim))) @ cell).astype(np.float32)
        index.update(cla.to_device(session.queue, points) if on_device else points, cell=cell)
        expected = truth(points, 0.35, cell=cell)
        held.append((index.query(**FULL), expected))
        assert_counts(index.count(), expected)
        assert index.num_points == n
    for found, expected in held:
        assert_same(found, expected)
    index.check()


def test_a_cell_that_does_not_fit(session):
    skewed, points = CELLS["skewed"][2], points_in("skewed", 2, N, np.float32)
    open_index = clfrnn.build_index(points, 0.3, session=session)
    with pytest.raises(clfrnn.InvalidInputError, match="^cell: expected none, as there was no box when it was built"):
        open_index.update(points, cell=skewed)
    index = clfrnn.build_index(points, 0.3, cell=skewed, session=session)
    with pytest.raises(clfrnn.InvalidInputError, match="^cell: expected linearly independent lattice vectors"):
        index.update(points, cell=[[1, 0], [2, 0]])
    with pytest.raises(clfrnn.InvalidInputError, match="^box, cell: expected one of the two"):
        index.update(points, cell=skewed, box=(1, 1))
    assert_counts(index.count(), truth(points, 0.3, cell=skewed))


def test_the_reference_finds_all_images():
    """It equals a search through far more shifts than a radius can need; pairs half a cell apart among them."""
    for name, (dim, dtype) in itertools.product(CELLS, [(2, np.float32), (2, np.float64), (3, np.float64)]):
        cell = np.array(CELLS[name][dim], dtype)
        points = np.concatenate([points_in(name, dim, 9, dtype, far=1), points_in(name, dim, 3, dtype, faces=True)])
        points = np.concatenate([points, points[:2] + cell[0] / 2])
        half = dtype(np.linalg.norm(cell[0]) / 2)
        for radius in (SHORT, LONG) if dim == 3 else (SHORT, LONG, half, np.nextafter(half, dtype(9))):
            expected = reference.neighbors(points, radius, cell=cell)
            found = every_image(points, dtype(radius), cell)
            mine = zip(rows_of(expected).tolist(), expected.indices.tolist(), *expected.shifts.T.tolist(), strict=True)
            assert sorted(found) == sorted(mine)
            if name == "diagonal":
                assert_same(reference.neighbors(points, radius, box=np.diag(cell)), expected)


def every_image(points, radius, cell):
    dim, found = len(cell), []
    for shift in itertools.product(range(-16, 17) if dim == 2 else range(-9, 10), repeat=dim):
        moved = sum((s * row for s, row in zip(shift[1:], cell[1:], strict=True)), shift[0] * cell[0])
        dx = (points[None] - points[:, None]) + moved
        squares = sum(dx[..., k] * dx[..., k] for k in range(dim))
        i, j = np.nonzero(squares <= radius * radius)
        found += [(a, b, *shift) for a, b in zip(i.tolist(), j.tolist(), strict=True) if a != b or any(shift)]
    return found


@pytest.mark.parametrize("flags", [(True, True, True), (True, False, True)], ids=["all", "two"])
def test_the_host_bounds_the_pads_of_the_device(session, dtype, flags):
    cell = np.array(CELLS["skewed"][3], float)
    if not all(flags):
        cell[1] = np.cross(cell[0], cell[2])
    rows = (tuple(row) if flag else None for row, flag in zip(cell.astype(dtype).tolist(), flags, strict=True))
    # Inside the cell of the short vectors along which images are counted.
    points = (np.random.default_rng(5).random((N, 3)) @ cell).astype(dtype)
    points = periodic_cell(tuple(rows), REAL_OF[dtype]).into_box(points, (0.0,) * 3).astype(dtype)
    index = clfrnn.build_index(points, 0.01, method="strips", cell=cell, periodic=flags, session=session)
    structure = structure_of(index)

    table = session.read(structure.buffers()["images"])

    assert table[21] == 1  # all points lie in the cell
    assert structure._is_in_box()
    bounded = structure.problem.space.pads(structure.cell_grid.low, structure.problem.real)
    assert (np.asarray(bounded) >= table[12:15]).all()
    assert (table[12:15] > 0).all()  # on open axes too, as rounding of any coordinate changes all heights
    assert table[22] == pytest.approx(1 + structure.problem.space.growth)
