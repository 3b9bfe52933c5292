"""Counts by fused operations: pairs at the border, where rounding decides, are those that the contract pins."""

import numpy as np
import pyopencl as cl
import pyopencl.array as cla
import pytest
from conftest import POINTS, as_gpu, assert_counts, assert_nearest, assert_same, refusing, structure_of, truth, tuned

import clfrnn

SIDE = {2: min(34, int(POINTS**0.5) + 9), 3: min(11, int(POINTS ** (1 / 3)) + 2)}


OWN = """
kernel void own(const real radius, global int *counts, FRNN_PARAMETERS)
{
    const int place = get_global_id(0), i = FRNN_POINT_ID(place);
    int count = 0;
    FRNN_FOR_NEIGHBORS(FRNN_POINT(place), radius, i)
        ++count;
    FRNN_END_NEIGHBORS
    counts[i] = count;
}
"""


def gpu(session):
    """One on which few points go by way of buckets: they would be placed at once, in records."""
    return tuned(as_gpu(session), binning={"few_of_item": 0})


def lattice(dim, spacing):
    """Points whose distances repeat, but for how each is rounded."""
    ticks = np.arange(SIDE[dim]) * spacing
    grid = np.stack(np.meshgrid(*[ticks] * dim, indexing="ij"), axis=-1).reshape(-1, dim)
    return np.random.default_rng(dim).permutation(grid + spacing / 3).astype(np.float32)


def built(session, points, radius, method):
    """An index that counts so."""
    index = clfrnn.build_index(points, radius, method=method, session=gpu(session))
    assert structure_of(index).config.fused
    assert structure_of(index).config.layout == "pairs"
    return index


@pytest.mark.parametrize("method", ["strips", "uniform_grid"])
@pytest.mark.parametrize("spacing", [0.1, 0.7e-15, 3e15])
@pytest.mark.parametrize(("dim", "squared"), [(2, 10), (2, 13), (3, 6), (3, 9)])
def test_pairs_at_the_border(session, method, dim, squared, spacing):
    points = lattice(dim, spacing)
    radius = float(np.float32(spacing * squared**0.5))
    expected = truth(points, radius)
    counts = np.diff(expected.offsets)

    near = np.abs(expected.squares / np.float32(radius) ** 2 - 1) < 1e-5
    assert near.any(), "no pair is at the border"

    index = built(session, points, radius, method)
    assert np.array_equal(index.count().get(), counts)
    assert np.array_equal(index.count(include_self=True).get(), counts + 1)
    assert_same(index.query(sort="index"), expected)


@pytest.mark.core
def test_other_kinds_of_queries(session):
    points, radius = lattice(3, 0.1), float(np.float32(0.1 * 6**0.5))
    index = built(session, points, radius, "strips")
    queries = points[::3]
    expected = np.diff(truth(points, radius, queries=queries).offsets)
    assert np.array_equal(index.count(queries).get(), expected)
    half = truth(points, radius, half=True)
    assert_same(index.query(half=True, sort="index"), half)
    radii = (radius * np.tile([1, 0.5], len(points))[: len(points)]).astype(np.float32)
    each = np.diff(truth(points, radii).offsets)
    assert np.array_equal(index.count(radius=radii).get(), each)


@pytest.mark.parametrize("method", ["strips", "uniform_grid"])
@pytest.mark.parametrize("value", [np.nan, -np.nan, np.inf, -np.inf], ids=["nan", "-nan", "inf", "-inf"])
def test_what_is_not_finite_is_nobodys_neighbor(session, method, value):
    """Nor anybody's query: of what is not a number the sign may be set, which is what is counted."""
    points, radius = lattice(3, 0.1), float(np.float32(0.1 * 6**0.5))
    index = built(session, points, radius, method)
    for axes in ([0, 1, 2], [1]):
        bad = points.copy()
        bad[np.ix_([3, 40, 41], axes)] = value
        finite = np.isfinite(bad).all(axis=1)
        expected = np.zeros(len(points), int)
        expected[finite] = np.diff(truth(bad[finite], radius).offsets)
        index.update(cla.to_device(index.session.queue, bad))
        assert np.array_equal(index.count().get(), expected)
        assert np.array_equal(index.count(include_self=True).get(), expected + finite)
        foreign = index.count(cla.to_device(index.session.queue, bad[:50])).get()
        assert np.array_equal(foreign, (expected + finite)[:50])
        with pytest.raises(clfrnn.InvalidInputError, match="row 3"):
            index.check()


@pytest.mark.parametrize(("dim", "dtype"), [(3, np.float32), (2, np.float32), (3, np.float64)])
def test_all_else_that_reads_pairs(session, dim, dtype):
    """Lists with distances, the nearest, code of a user's, kernels of one's own; float64 in pairs, too."""
    if dtype == np.float64 and not session.profile.fp64:
        pytest.skip("the device has no float64")
    dtype = np.dtype(dtype)
    points = lattice(dim, 0.1).astype(dtype)
    radius = float(np.float32(0.1 * 6**0.5))
    index = clfrnn.build_index(points, radius, method="strips", session=gpu(session))
    assert structure_of(index).config.layout == "pairs"
    assert structure_of(index).config.fused == (dtype == np.float32)
    expected = truth(points, radius)
    assert_counts(index.count(), expected)
    assert_same(index.query(distances=True, sort="index"), expected)
    assert_nearest(index.nearest(), expected)

    farthest = clfrnn.NeighborFunction(
        arguments="global real *farthest",
        state="real most = 0;",
        per_neighbor="most = fmax(most, d2);",
        finish="farthest[i] = most;",
    )
    squares = cla.zeros(index.session.queue, len(points), dtype)
    index.visit(farthest, farthest=squares)
    assert np.array_equal(squares.get(), np.maximum.reduceat(expected.squares, expected.offsets[:-1]))

    source = index.kernel_source()
    program = cl.Program(index.session.context, source.header + OWN).build()
    own = cla.zeros(index.session.queue, len(points), np.int32)
    kernel = cl.Kernel(program, "own")
    kernel(index.session.queue, (len(points),), None, dtype.type(radius), own.data, *source.arguments)
    assert_counts(own, expected)


@pytest.mark.usefixtures("unsliced")
@pytest.mark.parametrize("short", [False, True], ids=["sorted", "no memory for that"])
def test_queries_that_are_no_points(session, short):
    """Of any number, in the order of cells; and as they come where there is no memory for a copy of them."""
    points = lattice(3, 0.1)
    radius = float(np.float32(0.1 * 6**0.5))
    index = clfrnn.build_index(points, radius, method="strips", session=gpu(session))
    queries = points[::-3] + np.float32(0.01)
    sizes = index.nbytes
    with refusing(*["copy of the queries"] * short) as refused:
        for moved in (points, points[::-1].copy()):
            index.update(moved)
            expected = truth(moved, radius, queries=queries)
            assert_counts(index.count(queries), expected)
            assert_same(index.query(queries, distances=True, sort="index"), expected)
            assert_nearest(index.nearest(queries), expected)
            assert_counts(index.count(), truth(moved, radius))
            now = {name: size for name, size in index.nbytes.items() if not name.startswith("bucket")}
            assert now == sizes, "there is no second copy of the points"
    assert bool(refused) == short


@pytest.mark.parametrize("dim", [2, 3])
def test_points_of_a_periodic_box_lie_in_records(session, dim):
    """However crowded: those who look over an edge have no use for pairs."""
    points = lattice(dim, 0.1)
    domain = {"box": (0.1 * SIDE[dim],) * dim, "periodic": True}
    radius = float(np.float32(0.1 * 6**0.5))
    index = clfrnn.build_index(points, radius, method="strips", session=gpu(session), **domain)
    assert structure_of(index).config.layout == "records"
    if dim == 3:  # what a box adds to sorts and walks goes axis by axis
        brute = clfrnn.build_index(points, radius, method="brute_force", session=session, **domain)
        assert np.array_equal(index.count().get(), brute.count().get())


def test_points_that_are_not_crowded_lie_in_records(session):
    points = np.random.default_rng(3).random((POINTS, 3), dtype=np.float32)
    radius = (1 / POINTS) ** (1 / 3) / 2
    index = clfrnn.build_index(points, radius, method="strips", session=gpu(session))
    assert structure_of(index).config.layout == "records"
    assert not structure_of(index).config.fused
    assert index.nbytes["sorted_points"] == 16 * POINTS
