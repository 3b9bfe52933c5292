"""Histograms of distances: numpy's, of the d² of the definition, on clouds whose pairs lie on edges of bins."""

import contextlib
import copy
import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pyopencl.array as cla
import pytest
from conftest import as_gpu, own_session, rows_of, tuned

import clfrnn
from clfrnn import reference
from clfrnn.methods import METHODS

N = 90
DOMAINS = {
    "open": {},
    "box": {"box": [1.0, 1.0, 1.0]},
    "small_box": {"box": [0.3, 1.0, 1.0]},
    "slab": {"box": [1.0, 1.0, 1.0], "periodic": [True, False, False]},
    "cell": {"cell": [[1.0, 0.2, 0.0], [0.0, 1.0, 0.3], [0.1, 0.0, 1.0]]},
    "sheared_cell": {"cell": [[1.0, 0.0, 0.0], [7.0, 1.0, 0.0], [0.0, 0.0, 1.0]]},
    "batch": {"box": [1.0, 1.0, 1.0], "batch": np.arange(N) % 3},
}
EDGES = [0.0, 0.125, 0.25, 0.3, 0.375, 0.5]


def on_edges(dim, dtype, seed=0):
    """Points of which most pairs along an axis are as far apart as an edge says, or by the next number more or less."""
    rng = np.random.default_rng(seed)
    places = rng.integers(0, 9, (N, dim)) / 8
    return np.nextafter(places, rng.choice([-1, 0.5, 2], places.shape), dtype=dtype).astype(dtype)


def known_of(kind, dim):
    known = {name: np.array(value) for name, value in DOMAINS[kind].items()}
    return {name: value[(slice(dim),) * value.ndim] if name != "batch" else value for name, value in known.items()}


def expected_of(points, edges, *, weights=None, query_weights=None, **asked):
    """The counts, and the sums of weights as fractions of a million."""
    found = reference.neighbors(points, edges[-1], **asked)
    rounded = np.asarray(edges).astype(points.dtype)
    squares = rounded * rounded
    if weights is None:
        return np.histogram(found.squares, squares)[0], None
    products = query_weights[rows_of(found)] * weights[found.indices]
    return np.histogram(found.squares, squares)[0], np.histogram(found.squares, squares, weights=products)[0]


@pytest.mark.parametrize("domain", ["open", "box"])
@pytest.mark.parametrize("method", [*sorted(METHODS), "auto"])
def test_half_of_the_pairs_of_many_points(session, method, domain, dtype):
    """In cells that points share with others of higher and lower numbers, by walks that meet one point of each pair."""
    points, known = np.random.default_rng(0).random((700, 3)).astype(dtype), known_of(domain, 3)
    expected, _ = expected_of(points, [0.0, 0.1, 0.2], **known)
    asked = {**known, "method": method, "session": session}
    assert np.array_equal(clfrnn.pair_counts(points, [0, 0.1, 0.2], **asked).counts, expected)
    half = clfrnn.pair_counts(points, [0, 0.1, 0.2], half=True, **asked)
    assert np.array_equal(2 * half.counts, expected)


def test_weights_that_are_too_far_apart(session):
    for large, message in ((1e31, "weights: the smallest, 0.3"), (1e6, None)):
        points, weights = np.float32([[9], [0], [0.5]]), [large, 0.3, 0.3]
        with pytest.warns(clfrnn.PrecisionWarning, match=message) if message else contextlib.nullcontext():
            found = clfrnn.pair_counts(points, [0, 1], weights=weights, session=session)
        assert message or found.weighted[0] == pytest.approx(0.18, rel=1e-9)


def test_a_condition_that_refuses_points_themselves(session):
    points = np.random.default_rng(1).random((200, 3)).astype(np.float32)
    where, asked = clfrnn.Condition("d2 > 0.01f"), {"box": (1.0, 1.0, 1.0), "include_self": True, "session": session}
    whole = clfrnn.pair_counts(points, [0, 0.2], where=where, **asked).rdf()
    assert np.array_equal(clfrnn.pair_counts(points, [0, 0.2], where=where, half=True, **asked).rdf(), whole)


@pytest.mark.threes
@pytest.mark.parametrize("half", [False, True], ids=["full", "half"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("kind", sorted(DOMAINS))
@pytest.mark.parametrize("method", sorted(METHODS))
def test_histograms_of_points(session, method, kind, weighted, half, dim, dtype):
    points, known = on_edges(dim, dtype), known_of(kind, dim)
    weights = np.random.default_rng(1).normal(size=N) if weighted else None
    for include_self, edges in itertools.product((False, True), (EDGES, EDGES[1:])):
        asked = {"half": half, "include_self": include_self, **known}
        found = clfrnn.pair_counts(points, edges, weights=weights, method=method, session=session, **asked)
        counts, sums = expected_of(points, edges, weights=weights, query_weights=weights, **asked)
        assert found.counts.dtype == np.int64
        assert np.array_equal(found.counts, counts)
        assert np.array_equal(found.edges, edges)
        if weighted:
            assert found.weighted.dtype == np.float64
            assert np.allclose(found.weighted, sums, rtol=1e-12, atol=1e-12 * N)


@pytest.mark.threes
@pytest.mark.parametrize("kind", ["open", "small_box", "cell", "batch"])
@pytest.mark.parametrize("method", sorted(METHODS))
def test_histograms_of_queries(session, method, kind, dim, dtype):
    rng = np.random.default_rng(2)
    points, queries, known = on_edges(dim, dtype), on_edges(dim, dtype, 3)[:31], known_of(kind, dim)
    known |= {"query_batch": np.arange(31) % 4} if "batch" in known else {}
    weights, query_weights = rng.random(N), rng.random(31)
    found = clfrnn.pair_counts(
        points,
        EDGES,
        queries=queries,
        weights=weights,
        query_weights=query_weights,
        method=method,
        session=session,
        **known,
    )
    counts, sums = expected_of(points, EDGES, queries=queries, weights=weights, query_weights=query_weights, **known)
    assert np.array_equal(found.counts, counts)
    assert np.allclose(found.weighted, sums, rtol=1e-12)
    plain = clfrnn.pair_counts(points, EDGES, queries=queries, method=method, session=session, **known)
    assert np.array_equal(plain.counts, counts)
    assert plain.weighted is None


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("kind", ["open", "small_box", "cell"])
def test_histograms_along_a_line_of_sight(session, kind, axis, dim, dtype):
    points, known = on_edges(dim, dtype), known_of(kind, dim)
    weights = np.random.default_rng(4).random(N)
    across, along = np.array([0.0, 0.125, 0.3, 0.5]), np.array([0.1, 0.25, 0.375])
    asked = {"line_of_sight": axis, "weights": weights, "session": session, **known}
    found = clfrnn.pair_counts(points, (across, along), **asked)
    pairs = reference.neighbors(points, 0.7, **known)
    squares = pairs.vectors * pairs.vectors
    rest = np.delete(squares, axis, axis=1)
    across2 = rest[:, 0] if dim == 2 else rest[:, 0] + rest[:, 1]
    edges = [np.square(each.astype(dtype)) for each in (across, along)]
    counts = np.histogram2d(across2, squares[:, axis], edges)[0]
    products = weights[rows_of(pairs)] * weights[pairs.indices]
    sums = np.histogram2d(across2, squares[:, axis], edges, weights=products)[0]
    assert np.array_equal(found.counts, counts)
    assert np.allclose(found.weighted, sums, rtol=1e-12)
    assert found.counts.shape == (3, 2)


@pytest.mark.parametrize("many", [1, 2, 5, 16, 17, 100])
def test_any_number_of_bins(session, many, dtype):
    points = np.random.default_rng(5).random((N, 3)).astype(dtype)
    for first in (0.0, 0.05):
        edges = np.linspace(first, 0.6, many + 1)
        for known in ({}, {"box": np.ones(3)}):
            counts, _ = expected_of(points, edges, **known)
            assert np.array_equal(clfrnn.pair_counts(points, edges, session=session, **known).counts, counts)


@pytest.mark.parametrize("method", sorted(METHODS))
def test_one_bin_holds_what_a_count_finds(session, method, dtype):
    points = on_edges(3, dtype)
    for radius in (0.25, 0.3):
        index = clfrnn.build_index(points, radius, method=method, session=session)
        found = clfrnn.pair_counts(points, [0, radius], method=method, session=session)
        assert found.counts.tolist() == [index.count().get().sum()]


def test_conditions(session):
    """Also those that tell the ends of a pair apart, of which both orders count."""
    points = on_edges(3, np.float32)
    kinds = np.arange(N, dtype=np.int32) % 3
    where = clfrnn.Condition("kinds[i] == 0 && kinds[j] == 1", kinds=kinds)
    counts, _ = expected_of(points, EDGES, where=lambda i, j, *_: (kinds[i] == 0) & (kinds[j] == 1))
    found = clfrnn.pair_counts(points, EDGES, where=where, session=session)
    assert np.array_equal(found.counts, counts)
    assert found.counts.sum()
    onto = clfrnn.Condition("d2 > 0.1f || j > 40")
    counts, _ = expected_of(points, EDGES, where=lambda i, j, d2, *_: (d2 > np.float32(0.1)) | (j > 40))
    assert np.array_equal(clfrnn.pair_counts(points, EDGES, where=onto, session=session).counts, counts)


def test_a_planned_gpu_counts_the_same(session, dtype):
    points = on_edges(3, dtype)
    weights = np.random.default_rng(6).normal(size=N)
    for kind in ("open", "box", "small_box"):
        known = known_of(kind, 3)
        counts, sums = expected_of(points, EDGES, weights=weights, query_weights=weights, **known)
        gpu = as_gpu(session)
        assert np.array_equal(clfrnn.pair_counts(points, EDGES, session=gpu, **known).counts, counts)
        found = clfrnn.pair_counts(points, EDGES, weights=weights, session=gpu, **known)
        assert np.allclose(found.weighted, sums, rtol=1e-12, atol=1e-10)


def test_histograms_are_added_up_in_parts(session):
    """Where those of all queries do not fit the memory that is set apart for them."""
    points = on_edges(3, np.float32)
    weights = np.random.default_rng(7).normal(size=N)
    small = tuned(session, queries={"histogram_bytes": 7 * 20 * 5})
    for method in ("strips", "brute_force"):
        whole = clfrnn.pair_counts(points, EDGES, weights=weights, method=method, session=session)
        parts = clfrnn.pair_counts(points, EDGES, weights=weights, method=method, session=small)
        assert np.array_equal(parts.counts, whole.counts)
        assert np.allclose(parts.weighted, whole.weighted, rtol=1e-13, atol=1e-12)
        assert np.array_equal(clfrnn.pair_counts(points, EDGES, method=method, session=small).counts, whole.counts)


def test_weighted_sums_are_the_same_in_each_run(session):
    """And those of the definition to the last digits, for weights of very different sizes."""
    rng = np.random.default_rng(8)
    points = rng.random((400, 3)).astype(np.float32)
    weights = rng.normal(size=400) * 10.0 ** rng.integers(-6, 7, 400)
    runs = [
        clfrnn.pair_counts(points, [0, 0.4], weights=weights, method="uniform_grid", session=session).weighted
        for _ in range(4)
    ]
    assert all(np.array_equal(runs[0], each) for each in runs)
    found = reference.neighbors(points, 0.4)
    exact = sum(
        Fraction(float(weights[i])) * Fraction(float(weights[j]))
        for i, j in zip(rows_of(found), found.indices, strict=True)
    )
    largest = np.abs(weights).max() * np.abs(weights).sum()
    assert abs(float(exact) - runs[0][0]) <= 1e-13 * largest


def test_weights_on_a_device_without_float64(session):
    plain = own_session(session, fp64=False)
    points = np.random.default_rng(9).random((N, 3)).astype(np.float32)
    weights = np.random.default_rng(10).random(N)
    _, sums = expected_of(points, EDGES, weights=weights, query_weights=weights)
    found = clfrnn.pair_counts(points, EDGES, weights=weights, session=plain)
    assert np.allclose(found.weighted, sums, rtol=1e-12)
    with pytest.raises(clfrnn.InvalidInputError, match="^points: float64 was given"):
        clfrnn.pair_counts(points.astype(np.float64), EDGES, session=plain)


def test_weights_of_one_side_alone(session):
    points, queries = on_edges(2, np.float32), on_edges(2, np.float32, 1)[:20]
    weights, own = np.random.default_rng(11).random(N), np.random.default_rng(12).random(20)
    asked = {"queries": queries}
    one, of_queries = np.ones(20), np.ones(N)
    for given, used in [
        ({"weights": weights}, {"weights": weights, "query_weights": one}),
        ({"query_weights": own}, {"weights": of_queries, "query_weights": own}),
    ]:
        found = clfrnn.pair_counts(points, EDGES, session=session, **asked, **given)
        assert np.allclose(found.weighted, expected_of(points, EDGES, **asked, **used)[1], rtol=1e-12)
    array = cla.to_device(session.queue, weights.astype(np.float32))
    found = clfrnn.pair_counts(points, EDGES, weights=array, session=session)
    rounded = array.get().astype(np.float64)
    sums = expected_of(points, EDGES, weights=rounded, query_weights=rounded)[1]
    assert np.allclose(found.weighted, sums, rtol=1e-12)


@pytest.mark.parametrize("n", [0, 1, 5])
def test_few_points_and_points_that_coincide(session, n):
    points, weights = np.full((n, 3), 0.25, np.float32), np.ones(n)
    for known in ({}, {"box": np.full(3, 0.25)}):
        for edges in ([0, 0.5], [0.1, 0.2, 0.25, 0.5]):
            counts, _ = expected_of(points, edges, **known)
            found = clfrnn.pair_counts(points, edges, weights=weights, session=session, **known)
            assert np.array_equal(found.counts, counts)
            assert np.array_equal(found.weighted, counts)
            assert np.array_equal(clfrnn.pair_counts(points, edges, session=session, **known).counts, counts)
            none = clfrnn.pair_counts(points, edges, queries=points[:0], session=session, **known)
            assert not none.counts.any()


def test_the_radial_distribution(session, dim):
    rng = np.random.default_rng(13)
    points, box = rng.random((600, dim)).astype(np.float32) * 2, np.full(dim, 2.0)
    edges = np.linspace(0, 3, 13)  # beyond the box
    found = clfrnn.pair_counts(points, edges, box=box, session=session)
    shells = np.diff((math.pi * edges**2) if dim == 2 else (4 / 3 * math.pi * edges**3))
    assert np.allclose(found.rdf(), found.counts / (600 * 600 / 2.0**dim * shells))
    assert np.abs(found.rdf()[2:] - 1).max() < 0.1
    half = clfrnn.pair_counts(points, edges, box=box, half=True, include_self=True, session=session)
    whole = clfrnn.pair_counts(points, edges, box=box, include_self=True, session=session)
    assert np.array_equal(half.rdf(), whole.rdf())
    assert whole.counts[0] == found.counts[0] + 600
    cell = clfrnn.pair_counts(points, edges, cell=np.diag(box) + np.eye(dim, k=1), session=session)
    assert np.abs(cell.rdf()[2:] - 1).max() < 0.1
    of_queries = clfrnn.pair_counts(points, edges, queries=points[:50], box=box, session=session)
    assert np.allclose(of_queries.rdf(), of_queries.counts / (50 * 600 / 2.0**dim * shells))
    across, along = np.linspace(0, 1, 5), np.array([0.0, 0.5, 1.0])
    rings = clfrnn.pair_counts(points, (across, along), line_of_sight=0, box=box, session=session)
    assert rings.rdf().shape == (4, 2)
    assert np.abs(rings.rdf()[1:] - 1).max() < 0.1


def test_the_radial_distribution_of_a_batch(session):
    rng = np.random.default_rng(14)
    batch = np.repeat([3, 8], [200, 400])
    points = rng.random((600, 3)) * np.where(batch == 3, 1.0, 2.0)[:, None]
    boxes = np.array([[1.0] * 3, [2.0] * 3])
    points = points.astype(np.float32)
    edges = np.linspace(0.1, 0.5, 5)
    found = clfrnn.pair_counts(points, edges, batch=batch, box=boxes, session=session)
    even = (200 * 200 + 400 * 400 / 8) * 4 / 3 * math.pi * np.diff(edges**3)
    assert np.allclose(found.rdf(), found.counts / even)


def test_a_histogram_unpacks_and_is_pickled(session):
    points = on_edges(2, np.float32)
    found = clfrnn.pair_counts(points, EDGES, box=[1, 1], session=session)
    counts, weighted, edges = pickle.loads(pickle.dumps(found))
    assert np.array_equal(counts, found.counts)
    assert weighted is None
    assert np.array_equal(edges, EDGES)
    assert np.array_equal(copy.copy(found).rdf(), found.rdf())
    doubled = found._replace(counts=2 * found.counts)
    assert np.array_equal(doubled.rdf(), 2 * found.rdf())
    assert np.array_equal(doubled.edges, found.edges)


def test_a_distribution_needs_a_volume(session):
    points = np.zeros((3, 2), np.float32)
    for known in ({}, {"box": [1, 1], "periodic": [True, False]}):
        found = clfrnn.pair_counts(points, [0, 0.2], session=session, **known)
        with pytest.raises(clfrnn.InvalidInputError, match="^box: expected a box or cell that repeats on all axes"):
            found.rdf()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"edges": [0.1]}, "^edges: expected at least two"),
        ({"edges": [[0, 1], [1, 2]]}, "^edges: expected at least two"),
        ({"edges": "far"}, "^edges: expected at least two"),
        ({"edges": [0, np.nan, 1]}, "^edges: expected finite"),
        ({"edges": [0, np.inf]}, "^edges: expected finite"),
        ({"edges": [-0.1, 1]}, "^edges: expected finite"),
        ({"edges": [0, 1, 1]}, "^edges: expected finite"),
        ({"edges": [1, 0.5]}, "^edges: expected finite"),
        ({"edges": [0, 1e30]}, "^edges: "),
        ({"weights": np.ones(3)}, r"^weights: expected 4 numbers, .*got shape \(3,\)"),
        ({"weights": [1, 2, np.nan, 3]}, "^weights: expected finite numbers, got nan in row 2"),
        ({"weights": "heavy"}, "^weights: "),
        ({"query_weights": np.ones(5)}, "^query_weights: "),
        ({"line_of_sight": 0}, "^edges: expected two arrays"),
        ({"line_of_sight": 2, "edges": ([0, 1], [0, 1])}, "^line_of_sight: expected one of the 2 axes"),
        ({"line_of_sight": "z", "edges": ([0, 1], [0, 1])}, "^line_of_sight: expected the number"),
        ({"half": True, "queries": np.zeros((2, 2))}, "^half: "),
        ({"where": "d2 > 0"}, "^where: "),
        ({"method": "quick"}, "^method: "),
    ],
)
def test_wrong_arguments(session, given, message):
    asked = {"edges": [0, 1], "session": session, **given}
    with pytest.raises(clfrnn.InvalidInputError, match=message):
        clfrnn.pair_counts(np.zeros((4, 2), np.float32), **asked)
