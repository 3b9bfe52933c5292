"""Cells that are not rectangular: every image within the radius, each once, by every method, against numpy."""

import dataclasses
import functools
import itertools

import numpy as np
import pyopencl as cl
import pyopencl.array as cla
import pytest
from conftest import (
    FULL,
    POINTS,
    as_gpu,
    as_narrow_gpu,
    assert_counts,
    assert_nearest,
    assert_same,
    counts_of,
    launched,
    own_session,
    structure_of,
    takes_long_as_gpu,
    truth,
    tuned,
)

import clfrnn
from clfrnn import reference
from clfrnn.arrays import REAL_OF
from clfrnn.domain.lattice import periodic_cell
from clfrnn.methods import METHODS

pytestmark = pytest.mark.product

N = min(80, POINTS)
SIXTY = [0.5, 0.8660254]
CELLS = {
    "hexagonal": {2: [[1, 0], SIXTY], 3: [[1, 0, 0], [*SIXTY, 0], [0, 0, 1.3]]},
    "strongly skewed": {2: [[1, 0], [3.7, 0.8]], 3: [[1, 0, 0], [2.3, 0.9, 0], [-1.7, 0.6, 0.8]]},
    "thin": {2: [[2, 0.1], [0.3, 0.2]], 3: [[2, 0.1, 0.2], [0.3, 1.4, 0.1], [0.1, 0.2, 0.25]]},
    "left-handed": {2: [[0.2, 1], [1, 0.3]], 3: [[0.2, 1, 0.1], [1, 0.3, 0], [0.1, 0.1, 1]]},
    "rotated": {2: [[0.6, 0.8], [-0.8, 0.6]], 3: [[0.36, 0.48, -0.8], [-0.8, 0.6, 0], [0.48, 0.64, 0.6]]},
    "reversed": {2: [[-1, 0], [0, -1]], 3: [[-1, 0, 0], [0, 1, 0], [0, 0, -1]]},
    "diagonal": {2: [[1, 0], [0, 0.7]], 3: [[1, 0, 0], [0, 0.7, 0], [0, 0, 1.1]]},
}
SHORT, LONG = 0.17, 0.9


@pytest.fixture(params=sorted(METHODS))
def method(request):
    """Each method once, where its options make no difference."""
    return request.param


@pytest.fixture(params=sorted(CELLS))
def cell(request, dim):
    return np.array(CELLS[request.param][dim], float)


@pytest.fixture
def skewed(dim):
    return np.array(CELLS["strongly skewed"][dim], float)


@functools.cache
def _points(rows, n, dtype, seed, far, where):
    rng, cell = np.random.default_rng(seed), np.array(rows)
    dim = len(cell)
    places = rng.random((n, dim))
    if where == "faces":
        places = np.where(rng.random((n, dim)) < 0.4, rng.integers(0, 2, (n, dim)), places)
    return ((places + rng.integers(-far, far + 1, (n, dim))) @ cell).astype(dtype)


def points_in(cell, n, dtype, *, seed=5, far=0, where="inside"):
    """Points in the cell, or on its faces, up to `far` cells away from it."""
    return _points(tuple(map(tuple, cell.tolist())), n, np.dtype(dtype), seed, far, where)


def search(points, radius, way, session, **asked):
    method, options = way
    return clfrnn.search(points, radius, method=method, session=session, **{**FULL, **asked}, **options)


def build(points, radius, way, session, **domain):
    method, options = way
    return clfrnn.build_index(points, radius, method=method, session=session, **domain, **options)


# --- every cell, every vector ---------------------------------------------------------------------------------------


@pytest.mark.core
@pytest.mark.optimized
@pytest.mark.parametrize("radius", [SHORT, LONG], ids=["short", "long"])
def test_every_cell(session, way, dim, dtype, cell, radius):
    """A long radius is beyond half of every cell, and beyond the whole of some."""
    for far, where in ((0, "inside"), (0, "faces"), (40, "inside")):
        points = points_in(cell, N if radius == SHORT else N // 2, dtype, far=far, where=where)
        expected = truth(points, radius, cell=cell)

        found = search(points, radius, way, session, cell=cell)

        assert_same(found, expected)
        assert found.shifts.shape == (found.num_pairs, dim)


@pytest.mark.core
def test_one_or_two_periodic_vectors(session, method, dim, dtype, cell):
    """Vectors that are not periodic never change results, whatever they are."""
    for flags in itertools.product([True, False], repeat=dim):
        if not any(flags) or all(flags):
            continue
        points = points_in(cell, N, dtype, far=2)
        expected = truth(points, 0.4, cell=cell, periodic=flags)
        assert not expected.shifts[:, ~np.array(flags)].any()
        for other in (0.0, np.nan, 1e30):
            rows = np.where(np.array(flags)[:, None], cell, other)
            assert_same(search(points, 0.4, (method, {}), session, cell=rows, periodic=flags), expected)


def test_counts_nearest_and_queries(session, way, dim, dtype, cell):
    """Of an index, whose points lie in the cell or far away; queries lie anywhere, and have radii of their own."""
    for far in (0, 9):
        points = points_in(cell, N, dtype, far=far)
        queries = points_in(cell, N // 2, dtype, seed=8, far=30)
        radii = np.random.default_rng(2).uniform(0, LONG, len(queries)).astype(dtype)
        index = build(points, LONG, way, session, cell=cell)
        for radius in (SHORT, LONG):
            assert_counts(index.count(radius=radius), truth(points, radius, cell=cell))
            assert_nearest(index.nearest(radius=radius), truth(points, radius, cell=cell))
            expected = truth(points, radius, queries=queries, cell=cell)
            assert_counts(index.count(queries, radius=radius), expected)
            assert_nearest(index.nearest(queries, radius=radius), expected)
        assert_counts(index.count(queries, radius=radii), truth(points, radii, queries=queries, cell=cell))
        assert_same(index.query(queries, radius=radii, **FULL), truth(points, radii, queries=queries, cell=cell))


def test_user_functions(session, way, dim, dtype, skewed):
    """See the shifts, and the differences of which the squares are added."""
    points = points_in(skewed, N, dtype, far=1)
    expected = truth(points, LONG, cell=skewed)
    axes = "xyz"[:dim]
    sums = clfrnn.NeighborFunction(
        arguments="global int *shifts, global real *last, global int *wrong",
        state=f"int {', '.join(f's{a} = 0' for a in axes)}, bad = 0; real far = 0;",
        per_neighbor=" ".join(f"s{a} += shift.{a} * (j + 1);" for a in axes)
        + f" bad += d2 != {' + '.join(f'dx.{a} * dx.{a}' for a in axes)}; far = fmax(far, d2);",
        finish=" ".join(f"shifts[{dim} * i + {k}] = s{a};" for k, a in enumerate(axes))
        + " last[i] = far; wrong[i] = bad;",
    )
    shifts = cla.zeros(session.queue, (N, dim), np.int32)
    last, wrong = cla.zeros(session.queue, N, dtype), cla.zeros(session.queue, N, np.int32)

    build(points, LONG, way, session, cell=skewed).visit(sums, shifts=shifts, last=last, wrong=wrong)

    rows = np.repeat(np.arange(N), counts_of(expected))
    total = np.zeros((N, dim), np.int64)
    np.add.at(total, rows, expected.shifts * (expected.indices[:, None] + 1))
    assert np.array_equal(shifts.get(), total)
    assert not wrong.get().any()
    assert np.array_equal(
        last.get(),
        np.maximum.reduceat(np.append(expected.squares, 0), expected.offsets[:-1]) * (counts_of(expected) > 0),
    )


# --- as a GPU -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [2, 3], ids=["2d", "3d"])
def test_arranged_as_on_a_gpu(session, method, dim):
    """Windows in step, packets of queries, sorts by buckets, and attributes that are measured afterwards."""
    if takes_long_as_gpu(session, method):
        pytest.skip("this driver takes a minute for a kernel in the arrangement for a GPU")
    if session.profile.kind == "gpu":
        pytest.skip("every other test runs in the arrangement for a GPU")
    gpu = as_gpu(session)
    for name in ("hexagonal", "strongly skewed"):
        cell = np.array(CELLS[name][dim], float)
        for far, radius in ((0, SHORT), (0, LONG), (7, SHORT)):
            points = points_in(cell, min(300, POINTS), np.float32, far=far)
            expected = truth(points, radius, cell=cell)
            index = build(points, radius, (method, {}), gpu, cell=cell)
            assert_counts(index.count(), expected)
            assert_same(index.query(sort="index", vectors=True), expected)
            queries = points_in(cell, min(70, N), np.float32, seed=8, far=30)
            assert_counts(index.count(queries), truth(points, radius, queries=queries, cell=cell))


@pytest.mark.parametrize("way", ["select_cells", "bucket_sort", "region_sort"])
def test_sorts_of_many_items(session, way):
    """Points and queries go to the same cells by every sort, however they lie."""
    numbers = {"few_of_item": 0} if way != "select_cells" else {}
    numbers |= {"most_open_bytes": 0} if way == "region_sort" else {}
    fresh = tuned(as_narrow_gpu(session, fma=True), binning=numbers)
    cell = np.array(CELLS["strongly skewed"][3], float)
    points = points_in(cell, 130, np.float32)
    index = clfrnn.build_index(points, 0.2, method="strips", session=fresh, cell=cell)
    layout = structure_of(index)._bins.layout
    assert layout.plan.way == way
    queries = points_in(cell, 60, np.float32, seed=8, far=5)
    for entered in (0, 1 << 30) if way == "region_sort" else (0,):
        if way == "region_sort":  # in two passes, then in one
            layout.binning.buckets.plan = dataclasses.replace(layout.plan, entered=entered)
        for moved in (points, points_in(cell, 130, np.float32, seed=9, far=3)):
            index.update(moved)
            assert_counts(index.count(), truth(moved, 0.2, cell=cell))
            assert_same(index.query(sort="index"), truth(moved, 0.2, cell=cell))
            assert_counts(index.count(queries), truth(moved, 0.2, queries=queries, cell=cell))


@pytest.mark.parametrize("local_memory", [3 << 10, 32 << 10], ids=["tiles", "whole"])
def test_items_that_share_a_local_grid(session, dim, local_memory):
    """FENNS in groups of many items, whose candidates fit local memory and do not."""
    if takes_long_as_gpu(session, "fenns"):
        pytest.skip("this driver takes a minute for a kernel in the arrangement for a GPU")
    memory = local_memory + session.profile.local_reserve
    fresh = own_session(session, kind="gpu", simd_width=8, local_memory=memory, loop_turns=None)
    if local_memory > 10_000:
        fresh = tuned(fresh, fenns={"few_of_item": 0})  # sorted by three launches, as many points are
    cell = 0.6 * np.array(CELLS["strongly skewed"][dim], float)
    for far in (0, 3):
        points, queries = points_in(cell, 120, np.float32, far=far), points_in(cell, 31, np.float32, seed=5, far=60)
        index = clfrnn.build_index(points, 0.2, method="fenns", coarse_shape=2, session=fresh, cell=cell)
        assert structure_of(index).config.work_group_size > 1
        assert_same(index.query(sort="index"), truth(points, 0.2, cell=cell))
        assert_counts(index.count(), truth(points, 0.2, cell=cell))
        assert_counts(index.count(queries), truth(points, 0.2, queries=queries, cell=cell))


@pytest.mark.parametrize("flags", [(True, True, True), (True, False, True)], ids=["all", "two"])
def test_attributes_that_are_measured_afterwards(session, dtype, flags):
    """From the indices alone, where a query sees one image of a point at most; also of points far from the cell."""
    fresh = tuned(as_gpu(session), lists={"attributes_apart": 0, "attributes_apart_of_point": 0.0})
    for name in ("hexagonal", "strongly skewed", "left-handed"):
        cell = np.array(CELLS[name][3], float)
        for far in (0, 500):
            turns = np.random.default_rng(3).integers(-far, far + 1, (N, 3)) * np.array(flags)
            points, radius = (points_in(cell, N, np.float64) + turns @ cell).astype(dtype), 0.07
            domain = {"cell": cell, "periodic": flags}
            index = clfrnn.build_index(points, radius, method="brute_force", session=fresh, **domain)
            names, found = launched(fresh, lambda index=index: index.query(**FULL))
            expected = truth(points, radius, **domain)
            assert_same(found, expected)
            assert ("measure_pairs" in names) == (len(expected.indices) > 0)


# --- boxes and defaults ---------------------------------------------------------------------------------------------


def test_a_diagonal_cell_is_a_box(session, method, dim, dtype):
    """To the last bit, and at the same cost: it is searched as one."""
    lengths = np.array([1.0, 0.7, 1.1][:dim])
    points = points_in(np.diag(lengths), N, dtype, far=3)

    cell = search(points, 0.3, (method, {}), session, cell=np.diag(lengths))
    box = search(points, 0.3, (method, {}), session, box=lengths)

    assert_same(cell, box.to_host())
    assert_same(cell, truth(points, 0.3, cell=np.diag(lengths)))
    assert_same(cell, truth(points, 0.3, box=lengths, periodic=True))


def test_a_box_means_a_box(session, dim):
    """All axes are periodic where a box or a cell is given; flags may be integers, and False makes the box a hint."""
    cell = np.array(CELLS["hexagonal"][dim], float)
    points = points_in(cell, N, np.float32)
    for domain in ({"box": [1.0] * dim}, {"cell": cell}):
        wrapped, plain = truth(points, 0.3, **domain), truth(points, 0.3)
        assert wrapped.offsets[-1] > plain.offsets[-1]
        for periodic in (None, True, 1, [1] * dim, np.ones(dim, np.int8)):
            assert_same(clfrnn.search(points, 0.3, **domain, periodic=periodic, session=session, **FULL), wrapped)
        for periodic in (False, 0, [0] * dim):
            found = clfrnn.search(points, 0.3, **domain, periodic=periodic, session=session, **FULL)
            assert_same(found, plain)
            assert found.shifts is None
        index = clfrnn.build_index(points, 0.3, **domain, session=session)
        assert_counts(index.count(), wrapped)
    assert_same(clfrnn.search(points, 0.3, session=session, **FULL), truth(points, 0.3))


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


# --- loops ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("on_device", [False, True], ids=["host", "device"])
def test_points_that_move(session, method, dim, on_device, skewed):
    """Out of the cell and back, as in a simulation that never wraps positions."""
    points = points_in(skewed, N, np.float32)
    index = build(points, 0.4, (method, {}), session, cell=skewed)
    rng = np.random.default_rng(4)
    for drift in (0.0, 0.3, 2.5, 11.0, 0.1):
        moved = (points + rng.uniform(-drift, drift, points.shape)).astype(np.float32)
        index.update(cla.to_device(session.queue, moved) if on_device else moved)

        assert_counts(index.count(), truth(moved, 0.4, cell=skewed))
        assert_same(index.query(**FULL), truth(moved, 0.4, cell=skewed))
        queries = moved[::2] + np.float32(0.05)
        given = cla.to_device(session.queue, queries) if on_device else queries
        assert_counts(index.count(given), truth(moved, 0.4, queries=queries, cell=skewed))
    index.check()


def test_a_slab_far_from_its_plane(session, method, dtype):
    """Where heights on the open axis are large, rounding is, too; pads follow it."""
    cell = np.array(CELLS["rotated"][3], float) + 0.05
    for away in (0.0, 50.0, 3e3 if dtype == np.float32 else 1e9):
        points = (points_in(cell, N, np.float64) + away * np.cross(cell[0], cell[1])).astype(dtype)
        expected = truth(points, 0.3, cell=cell, periodic=(True, True, False))
        assert_same(search(points, 0.3, (method, {}), session, cell=cell, periodic=(True, True, False)), expected)


# --- the reference --------------------------------------------------------------------------------------------------


def test_the_reference_finds_all_images():
    """It equals a search through far more shifts than a radius can need; pairs half a cell apart among them."""
    for rows, (dim, dtype) in itertools.product(CELLS.values(), [(2, np.float32), (2, np.float64), (3, np.float64)]):
        cell = np.array(rows[dim], dtype)
        points = np.concatenate([points_in(cell, 9, dtype, far=1), points_in(cell, 3, dtype, where="faces")])
        points = np.concatenate([points, points[:2] + cell[0] / 2])
        half = dtype(np.linalg.norm(cell[0]) / 2)
        for radius in (SHORT, LONG) if dim == 3 else (SHORT, LONG, half, np.nextafter(half, dtype(9))):
            expected = reference.neighbors(points, radius, cell=cell)
            found = every_image(points, dtype(radius), cell)
            rows_of_pairs = np.repeat(np.arange(len(points)), counts_of(expected))
            mine = zip(rows_of_pairs.tolist(), expected.indices.tolist(), *expected.shifts.T.tolist(), strict=True)
            assert sorted(found) == sorted(mine)


def every_image(points, radius, cell):
    dim, found = len(cell), []
    for shift in itertools.product(range(-16, 17) if dim == 2 else range(-9, 10), repeat=dim):
        moved = sum((s * row for s, row in zip(shift[1:], cell[1:], strict=True)), shift[0] * cell[0])
        dx = (points[None] - points[:, None]) + moved
        squares = sum(dx[..., k] * dx[..., k] for k in range(dim))
        i, j = np.nonzero(squares <= radius * radius)
        found += [(a, b, *shift) for a, b in zip(i.tolist(), j.tolist(), strict=True) if a != b or any(shift)]
    return found


# --- what the device computes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("flags", [(True, True, True), (True, False, True)], ids=["all", "two"])
def test_the_host_bounds_the_pads_of_the_device(session, dtype, flags):
    cell = np.array(CELLS["strongly skewed"][3], float)
    if not all(flags):
        cell[1] = np.cross(cell[0], cell[2])
    rows = (tuple(row) if flag else None for row, flag in zip(cell.astype(dtype).tolist(), flags, strict=True))
    # Inside the cell of the short vectors along which images are counted.
    points = periodic_cell(tuple(rows), REAL_OF[dtype]).into_box(points_in(cell, N, dtype), (0.0,) * 3).astype(dtype)
    index = clfrnn.build_index(points, 0.01, method="strips", cell=cell, periodic=flags, session=session)
    structure = structure_of(index)

    table = session.read(structure.buffers()["images"])

    assert table[21] == 1  # all points lie in the cell
    assert structure._is_in_box()
    bounded = structure.problem.space.pads(structure.cell_grid.low, structure.problem.real)
    assert (np.asarray(bounded) >= table[12:15]).all()
    assert (table[12:15] > 0).all()  # on open axes too, as rounding of any coordinate changes all heights
    assert table[22] == pytest.approx(1 + structure.problem.space.growth)


COUNTS = """
kernel void counts(const int n, const real radius, global int *counts, FRNN_PARAMETERS)
{
    const int place = get_global_id(0);
    if (place >= n) return;
    const int i = FRNN_POINT_ID(place);
    int count = 0;
    FRNN_FOR_NEIGHBORS(FRNN_POINT(place), radius, i)
        count += 1 + 100 * shift.x;
    FRNN_END_NEIGHBORS
    counts[i] = count;
}
"""


def test_kernels_of_users(session, method, skewed):
    """The walk as macros, in a kernel of one's own."""
    points = points_in(skewed, N, np.float32, far=1)
    index = clfrnn.build_index(points, 0.4, method=method, cell=skewed, session=session)
    source = index.kernel_source()
    kernel = cl.Program(session.context, source.header + COUNTS).build().counts
    counts = cla.zeros(session.queue, N, np.int32)

    kernel(session.queue, (N,), None, np.int32(N), np.float32(0.4), counts.data, *source.arguments)

    expected = truth(points, 0.4, cell=skewed)
    weights = 1 + 100 * expected.shifts[:, 0]
    rows = np.repeat(np.arange(N), counts_of(expected))
    assert np.array_equal(counts.get(), np.bincount(rows, weights, minlength=N).astype(int))
