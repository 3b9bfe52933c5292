"""The k nearest neighbors, against the reference to the last bit: of an index, and of the call without a radius."""

import functools
import itertools
import pickle

import numpy as np
import pyopencl.array as cla
import pytest
from conftest import POINTS, as_gpu, assert_rows, tuned

import clfrnn
from clfrnn import clouds, reference
from clfrnn.answers.nearest import unbounded
from clfrnn.methods import METHODS
from clfrnn.methods.tree.aabb_tree import TreeStructure
from clfrnn.prepare import Cloud

pytestmark = [pytest.mark.core, pytest.mark.product]

N = min(240, POINTS)

#: No box, one of length 1, and one whose every point sees several images of the others, and its own.
BOUNDARIES = {"open": (0.3, {}), "periodic": (0.3, {"periodic": True}), "images": (0.7, {"periodic": True})}

FIELDS = ("indices", "distances", "vectors", "shifts")


def cloud(name, n, dim, dtype):
    """Clouds with ties, with crowds and with gaps."""
    if name == "stray":
        points = clouds.uniform(n, dim, dtype=dtype, seed=5)
        points[n // 2] = 1e6
        return points
    if name == "clusters":
        points = clouds.uniform(n, dim, dtype=dtype, seed=6)
        points[::2] *= dtype.type(1e-4)
        return points
    if name == "coincident":
        return np.full((n, dim), 0.3, dtype)
    if name == "line":
        return clouds.uniform(n, dim, dtype=dtype, seed=7) * np.eye(1, dim, dim - 1, dtype=dtype)
    return clouds.CLOUDS[name](n, dim, dtype=dtype, seed=4)


@functools.cache
def within_truth(name, dim, dtype, boundary, k, foreign, include_self):
    points, (radius, domain) = cloud(name, N, dim, dtype), BOUNDARIES[boundary]
    asked = {**domain, "box": (1.0,) * dim} if domain else {}
    asked |= {"queries": clouds.uniform(N // 3, dim, dtype=dtype, seed=9)} if foreign else {}
    return reference.nearest(points, k, radius=radius, include_self=include_self, **asked)


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_within_a_radius(session, way, dim, dtype, boundary):
    """Clouds with ties; rows in registers of fewer, as many and more places than neighbors, and larger rows."""
    (method, options), (radius, domain) = way, BOUNDARIES[boundary]
    asked = {**domain, "box": (1.0,) * dim} if domain else {}
    every = method == "strips" and dtype == np.float32
    for name in ("uniform", "lattice", "duplicates"):
        points = cloud(name, N, dim, dtype)
        index = clfrnn.build_index(points, radius, method=method, session=session, **options, **asked)
        for k in (1, 2, 7, 16, 33, 100, N + 50) if every else (7, 33):
            found = index.nearest(k=k, vectors=True)
            assert_rows(found, within_truth(name, dim, dtype, boundary, k, False, False), shifts=bool(domain))
        queries = clouds.uniform(N // 3, dim, dtype=dtype, seed=9)
        found = index.nearest(queries, k=7)
        assert_rows(found, within_truth(name, dim, dtype, boundary, 7, True, False))
        found = index.nearest(k=7, include_self=True)
        assert_rows(found, within_truth(name, dim, dtype, boundary, 7, False, True))


@functools.cache
def unbounded_truth(name, dim, dtype, periodic, k, foreign):
    points = cloud(name, N, dim, dtype)
    asked = {"box": (1.0,) * dim, "periodic": periodic} if any(periodic) else {}
    asked |= {"queries": 3 * clouds.uniform(N // 3, dim, dtype=dtype, seed=9)} if foreign else {}
    return reference.nearest(points, k, **asked)


@pytest.mark.parametrize("name", ["uniform", "lattice", "clusters", "stray", "coincident", "line"])
def test_without_a_radius(session, way, dim, dtype, name):
    (method, options) = way
    points = cloud(name, N, dim, dtype)

    found = clfrnn.nearest(points, 7, method=method, session=session, vectors=True, **options)

    assert_rows(found, unbounded_truth(name, dim, dtype, (False,), 7, False))


@pytest.mark.parametrize("flags", [(True, True, True), (False, True, True)], ids=["all axes", "some axes"])
def test_without_a_radius_in_a_box(session, way, dim, dtype, flags):
    """The cloud leaves a part of the box empty; queries lie outside, too."""
    (method, options), flags = way, flags[:dim]
    points = cloud("clusters", N, dim, dtype)
    box = {"box": (1.0,) * dim, "periodic": flags}
    for foreign in (False, True):
        queries = {"queries": 3 * clouds.uniform(N // 3, dim, dtype=dtype, seed=9)} if foreign else {}
        found = clfrnn.nearest(points, 7, method=method, session=session, vectors=True, **box, **options, **queries)
        assert_rows(found, unbounded_truth("clusters", dim, dtype, flags, 7, foreign), shifts=True)


def test_later_searches_know_that_points_lie_outside_the_box(session):
    """Queries lie in it, so that their bounds tell nothing of the points."""
    points, queries, box = clouds.uniform(100, 3, seed=6), clouds.uniform(33, 3, seed=9), (1.0, 1.0, 1.0)
    points[::2] *= np.float32(1e-4)
    points[1::4] += np.float32(1)
    asked = {"queries": queries, "box": box, "periodic": True}
    found = clfrnn.nearest(points, 7, method="strips", session=session, **asked)
    assert_rows(found, reference.nearest(points, 7, **asked))


@pytest.mark.parametrize("method", ["auto", "brute_force", "aabb_tree"])
@pytest.mark.parametrize("dim", [1, 2, 3, 4, 5, 8, 9, 12])
def test_every_dimension(session, method, dim):
    points = clouds.uniform(min(N, 100), dim, seed=2)
    for k in (3, 40):
        expected = reference.nearest(points, k)
        assert_rows(clfrnn.nearest(points, k, method=method, session=session, vectors=True), expected)
        assert_rows(clfrnn.nearest(points, k, radius=1e9, method=method, session=session), expected)


@pytest.mark.parametrize("n", [0, 1, 2, 5])
@pytest.mark.parametrize("k", [1, 4, 50])
@pytest.mark.parametrize("periodic", [False, True])
def test_more_neighbors_than_points(session, dim, n, k, periodic):
    """In a periodic box a row goes on with further images, unless there is no point."""
    points = clouds.uniform(n, dim, seed=n)
    box = {"box": (1.0,) * dim, "periodic": True} if periodic else {}

    found = clfrnn.nearest(points, k, session=session, vectors=True, **box)

    assert_rows(found, reference.nearest(points, k, **box), shifts=periodic)
    assert (found.indices.get() >= 0).all() == (not n or periodic or k < n)


def test_few_points_of_one_coordinate(session):
    """No compiler warns of a shift that is known to be 0 there."""
    points = np.float32([[0.5], [0.75], [2]])
    for include_self in (False, True):
        asked = {"include_self": include_self}
        found = clfrnn.nearest(points, 13, method="aabb_tree", session=as_gpu(session), **asked)
        assert_rows(found, reference.nearest(points, 13, **asked))


@pytest.mark.parametrize("method", ["auto", "strips", "aabb_tree", "brute_force"])
def test_no_queries_and_queries_alone(session, method):
    points = clouds.uniform(N, 3, seed=1)
    none = clfrnn.nearest(points, 5, queries=points[:0], method=method, session=session)
    assert none.indices.shape == none.distances.shape == (0, 5)
    alone = clfrnn.nearest(points[:0], 5, queries=points[:3], method=method, session=session).to_host()
    assert (alone.indices == -1).all()
    assert np.isinf(alone.distances).all()


@pytest.mark.parametrize("scale", [1e-30, 1e-12, 1e12, 1e18, 3e19])
def test_any_scale(session, scale):
    """Squares that vanish, and squares that exceed every number: these belong to no neighbor."""
    points = (clouds.uniform(N, 3, seed=8).astype(np.float64) * scale).astype(np.float32)
    if not session.profile.subnormals and scale < 1e-18:
        pytest.skip("the device flushes subnormal squares to zero")
    for method in ("auto", "strips"):
        found = clfrnn.nearest(points, 5, method=method, session=session)
        assert_rows(found, reference.nearest(points, 5))


def test_a_radius_for_each_query(session):
    points = clouds.uniform(N, 3, seed=1)
    radii = np.random.default_rng(0).uniform(0, 0.4, N).astype(np.float32)
    expected = reference.nearest(points, 6, radius=radii)

    for given in (radii, cla.to_device(session.queue, radii)):
        assert_rows(clfrnn.nearest(points, 6, radius=given, session=session), expected)


@pytest.mark.parametrize("places", [0, 8, 32])
def test_what_a_plan_may_choose(session, places):
    """As a GPU walks, with rows in registers up to some number of places and heaps beyond."""
    device = tuned(as_gpu(session), nearest={"register_places": places})
    points = cloud("clusters", N, 3, np.dtype(np.float32))
    for k in (1, 5, 8, 20):
        for method in ("strips", "aabb_tree"):
            assert_rows(clfrnn.nearest(points, k, method=method, session=device), reference.nearest(points, k))


@pytest.mark.parametrize("method", sorted(METHODS))
@pytest.mark.parametrize("queries", [None, N // 3], ids=["own", "foreign"])
def test_neighbors_that_meet_a_condition(session, method, queries):
    """Also in later searches, where a query has another number than its row; some find fewer than k."""
    points = cloud("clusters", N, 3, np.dtype(np.float32))
    asked = {} if queries is None else {"queries": clouds.uniform(queries, 3, seed=7)}
    kind = (np.arange(N) % 3).astype(np.int32)
    least = np.arange(queries or N) % 7 * 10

    def holds(i, j, *_):
        return (kind[j] != i % 3) & (j > least[i])

    where = clfrnn.Condition("kind[j] != i % 3 && j > least[i]", kind=kind, least=least)
    for k in (3, 40):
        expected = reference.nearest(points, k, where=holds, **asked)
        assert_rows(clfrnn.nearest(points, k, method=method, where=where, session=session, **asked), expected)
        index = clfrnn.build_index(points, 0.2, method=method, session=session)
        expected = reference.nearest(points, k, radius=0.2, where=holds, **asked)
        assert_rows(index.nearest(k=k, where=where, **asked), expected)
    never = reference.nearest(points, 2, where=lambda i, *_: i < 0, **asked)
    assert_rows(clfrnn.nearest(points, 2, method=method, where=clfrnn.Condition("0"), session=session, **asked), never)


def test_a_condition_without_a_radius_in_a_box(session):
    with pytest.raises(clfrnn.InvalidInputError, match="radius: expected a number with where= in a periodic box"):
        clfrnn.nearest(
            np.zeros((1, 1), np.float32), 1, box=[1.0], periodic=True, where=clfrnn.Condition("0"), session=session
        )


def test_a_condition_on_a_radius_that_there_is_not(session):
    points = np.zeros((2, 3), np.float32)
    where = clfrnn.Condition("d2 > r2 / 4")
    with pytest.raises(clfrnn.InvalidInputError, match="radius: expected a number with a condition that reads r2"):
        clfrnn.nearest(points, 1, where=where, session=session)
    assert clfrnn.nearest(points, 1, radius=1.0, where=where, session=session).indices.get().tolist() == [[-1], [-1]]


@pytest.mark.parametrize("method", sorted(METHODS))
def test_no_points_in_a_box(session, method):
    queries = clouds.uniform(5, 3, seed=1)
    found = clfrnn.nearest(queries[:0], 2, queries=queries, box=(1, 1, 1), method=method, session=session)
    assert (found.indices.get() == -1).all()


def test_updates_and_device_arrays(session):
    points = clouds.uniform(N, 3, seed=1)
    index = clfrnn.build_index(cla.to_device(session.queue, points), 0.3, session=session)
    first = index.nearest(k=4)
    index.update(points[::-1].copy())
    second = index.nearest(k=4, radius=0.1)

    assert_rows(first, reference.nearest(points, 4, radius=0.3))
    assert_rows(second, reference.nearest(points[::-1], 4, radius=0.1))


def test_the_result_unpacks_and_pickles_on_the_host(session):
    found = clfrnn.nearest(np.float32([[0, 0], [3, 4]]), 1, session=session, vectors=True)
    indices, distances = found
    assert indices is found.indices
    assert distances is found.distances
    assert found.shifts is None
    with pytest.raises(TypeError, match="pickle their to_host"):
        pickle.dumps(found)
    again = pickle.loads(pickle.dumps(found.to_host()))
    assert np.array_equal(again.vectors, [[[3, 4]], [[-3, -4]]])
    assert "(2, 1)" in repr(found)


@pytest.mark.parametrize("k", [0, -1, 1.5, True, "3"])
def test_k_that_is_no_number_of_neighbors(session, k):
    with pytest.raises(clfrnn.InvalidInputError, match="k: expected a whole number"):
        clfrnn.nearest([[0.0, 0.0]], k, session=session)


def test_what_is_refused(session):
    index = clfrnn.build_index(np.float32([[0, 0]]), 1.0, session=session)
    with pytest.raises(clfrnn.InvalidInputError, match="vectors: expected k"):
        index.nearest(vectors=True)
    with pytest.raises(clfrnn.InvalidInputError, match="row 1"):
        clfrnn.nearest(np.float32([[0, 0], [np.nan, 0]]), 1, session=session)
    with pytest.raises(TypeError, match="unexpected option 'leaf'"):
        clfrnn.nearest(np.float32([[0, 0]]), 1, session=session, leaf=3)
    for name in ("points", "queries"):
        bad = cla.to_device(session.queue, np.float32([[0, 0], [np.inf, 0]]))
        given = {"points": np.zeros((200, 2), np.float32), "queries": None} | {name: bad}
        with pytest.raises(clfrnn.InvalidInputError, match=f"{name}: expected finite numbers"):
            clfrnn.nearest(given["points"], 1, queries=given["queries"], session=session)


@pytest.mark.optimized
def test_many_points_find_all_in_few_searches(session):
    """Enough points that cells are worth it: corners of the cube are searched again."""
    points = clouds.uniform(2 * POINTS, 3, seed=3)
    expected = reference.nearest(points, 8)
    for method in ("auto", "strips", "uniform_grid"):
        with session.recorded() as launches:
            found = clfrnn.nearest(points, 8, method=method, session=session)
        assert [name for name, _ in launches].count("count_short_rows") <= 2
        assert_rows(found, expected)


def test_few_queries_go_through_the_cells_that_there_are(session, monkeypatch):
    """Points are sorted again for many queries, and where cells are not narrower than the radius.

    A wider search through the cells comes before the passes over all points, and strays may go on through them; where
    they may not, no search over cells reaches beyond what an even cloud needs.
    """
    built, searches, over_cells, farthest = [], [], [], []
    cells, passes = (tuned(session, nearest={"few_pairs": most, "far_pairs": 0}) for most in (0, 1 << 30))
    far = tuned(session, nearest={"few_pairs": 1 << 30, "far_pairs": 1 << 30})

    def build(cloud, method, problem, plain=Cloud.build):
        built.append(problem.radius)
        return plain(cloud, method, problem)

    def fill(traversal, *given, plain=unbounded.fill_rows, **asked):
        searches.append(traversal.radius)
        if not isinstance(traversal.structure, TreeStructure):
            over_cells.append(traversal.radius)
        return plain(traversal, *given, **asked)

    def first_step(search, plain=unbounded.UnboundedSearch._first_step):
        step = plain(search)
        farthest.append(step.wider)
        return step

    monkeypatch.setattr(Cloud, "build", build)
    monkeypatch.setattr(unbounded, "fill_rows", fill)
    monkeypatch.setattr(unbounded.UnboundedSearch, "_first_step", first_step)
    for method, name in itertools.product(("strips", "uniform_grid", "fenns"), ("uniform", "clusters")):
        points = cloud(name, 4 * N, 2, np.dtype(np.float32))
        for radii in (built, searches, over_cells):
            radii.clear()
        found, expected = clfrnn.nearest(points, 8, method=method, session=cells), reference.nearest(points, 8)
        assert len(searches) > 1
        assert max(over_cells) <= farthest[-1]
        assert_rows(found, expected)
        if method == "fenns" or session.profile.loop_turns is not None:
            assert built == searches
            continue
        assert 1 <= len(built) < len(searches)
        assert (len(built) > 1) == (name == "clusters")
        if name == "uniform":
            searches.clear()
            assert_rows(clfrnn.nearest(points, 8, method=method, session=passes), expected)
            assert len(searches) > 1
            points[7], built[:] = 1.5, []
            with far.recorded() as launches:
                found = clfrnn.nearest(points, 8, method=method, session=far)
            assert_rows(found, reference.nearest(points, 8))
            assert len(built) == 1
            assert "count_keys" not in {name for name, _ in launches}
            assert max(over_cells) > farthest[-1]
            over_cells.clear()
            assert_rows(clfrnn.nearest(points, 8, method=method, session=cells), reference.nearest(points, 8))
            assert max(over_cells) <= farthest[-1]


@pytest.mark.parametrize("radius", [None, 0.3])
def test_queries_without_a_length(session, radius):
    """What numpy makes an array of need not have one."""
    points, queries = clouds.uniform(200, 3), clouds.uniform(7, 3, seed=2)
    wrapped = type("Wrapped", (), {"__array__": lambda self, dtype=None, copy=None: queries})()
    found = clfrnn.nearest(points, 3, radius=radius, queries=wrapped, session=session)
    assert_rows(found, reference.nearest(points, 3, radius=radius, queries=queries))
    for wrong in (5.0, iter(queries)):
        with pytest.raises(clfrnn.InvalidInputError, match="^queries: expected"):
            clfrnn.nearest(points, 3, radius=radius, queries=wrong, session=session)
