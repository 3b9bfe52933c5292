"""Counts that are written as bytes first: what they are, where that is done, and what is done with more than a byte."""

import numpy as np
import pytest
from conftest import POINTS, RECORDED, as_gpu

import clfrnn
from clfrnn import clouds, reference
from clfrnn.errors import DeviceMemoryError
from clfrnn.methods import cells, side_costs, tally
from clfrnn.plan import Problem
from clfrnn.primitives.widen import widen
from clfrnn.scratch import Scratch
from clfrnn.survey import Survey

N = min(701, POINTS)
RADIUS = {2: 0.08, 3: 0.2}
METHODS = ["strips", "uniform_grid"]


@pytest.fixture
def always(monkeypatch):
    """However few the counts are, and however much work each is."""
    monkeypatch.setattr(tally, "_SMALL", ((1, np.inf),))


def launched(index, call):
    with index.session.recorded() as launches:
        found = call()
    return [name for name, _ in launches], found


@pytest.mark.core
@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "asked",
    [{}, {"include_self": True}, {"radius": True}, {"queries": True}, {"box": 1.0}, {"box": 0.9}],
    ids=["plain", "self", "radii", "queries", "home", "away"],
)
def test_every_kind_of_count(session, monkeypatch, method, asked, dim, dtype):
    if (dim, dtype.itemsize) == (2, 8):
        pytest.skip("float64 is tested in three dimensions")
    monkeypatch.setattr(cells, "many_queries", lambda *_, **__: 1)
    points, radius, kept = clouds.uniform(N, dim, dtype=dtype, seed=3), RADIUS[dim], {**asked}
    domain = {"box": (kept.pop("box"),) * dim, "periodic": True} if "box" in kept else {}
    if "queries" in kept:
        kept["queries"] = clouds.uniform(N // 2, dim, dtype=dtype, seed=4)
    alike = {**kept}
    if alike.pop("radius", False):
        kept["radius"] = radius = np.random.default_rng(1).uniform(0, radius, N).astype(dtype)
    expected = np.diff(reference.neighbors(points, radius, **domain, **alike).offsets)
    index = clfrnn.build_index(points, np.max(radius), method=method, session=as_gpu(session), **domain)
    for _ in range(2):
        names, found = launched(index, lambda: index.count(**kept))
        assert names[-1] == "widen"
        assert np.array_equal(found.get(), expected)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("method", METHODS)
def test_counts_that_no_byte_holds(session, method):
    """Crowds of which each point has 254, 255 and 256 others, and 600; and by one launch what blocks are cut by."""
    crowds = [255, 256, 257, 601] if POINTS > 1000 else [255, 256, 257]
    places = np.random.default_rng(2).permutation(np.repeat(np.arange(len(crowds)), crowds))
    points = np.zeros((len(places), 3), np.float32)
    points[:, 0] = 10 * places
    index = clfrnn.build_index(points, 1.0, method=method, session=as_gpu(session))
    expected = np.take(crowds, places) - 1

    assert np.array_equal(index.count().get(), expected)
    assert np.array_equal(index.count(include_self=True).get(), expected + 1)
    names, blocks = launched(index, lambda: list(index.query_blocks(max_bytes=1 << 18)))
    assert names.count("widen") == 1
    assert np.array_equal(np.concatenate([block.to_host().counts for block in blocks]), expected)


@pytest.mark.parametrize("n", [0, 1, 3, 4, 5, 8, 500])
def test_widen_leaves_what_no_byte_holds(session, n):
    small = np.random.default_rng(n).integers(250, 256, n).astype(np.uint8)
    numbers = session.upload(np.arange(1000, 1000 + n, dtype=np.int32), purpose="a test")
    held = session.upload(small, purpose="a test")

    widen(session, Scratch(held.base_data, n, small.dtype), numbers)

    assert np.array_equal(numbers.get(), np.where(small == 255, np.arange(1000, 1000 + n), small))


@pytest.mark.usefixtures("always")
def test_only_where_queries_come_in_another_order(session):
    """Not for queries in the caller's order, on a CPU, or by methods that wait for something else."""
    points = clouds.uniform(N, 3, seed=1)
    queries = points[: N // 2].copy()
    gpu = as_gpu(session)
    index = clfrnn.build_index(points, 0.1, method="strips", session=gpu)
    assert "widen" in launched(index, index.count)[0]
    assert "widen" not in launched(index, lambda: index.count(queries))[0]
    for method in ("fenns", "aabb_tree", "brute_force"):
        index = clfrnn.build_index(points, 0.1, method=method, session=gpu)
        assert "widen" not in launched(index, index.count)[0]
    if session.profile.kind == "cpu":
        index = clfrnn.build_index(points, 0.1, method="strips", session=session)
        assert "widen" not in launched(index, index.count)[0]


def test_not_where_queries_have_much_to_do(session, monkeypatch):
    points = clouds.uniform(N, 3, seed=1)
    index = clfrnn.build_index(points, 0.2, method="strips", session=as_gpu(session))
    work = index._work_of_query
    assert work > 100
    for most, many in ((work, N), (0.999 * work, N), (work, N + 1)):
        monkeypatch.setattr(tally, "_SMALL", ((many, most),))
        pays = most == work and many == N
        assert ("widen" in launched(index, index.count)[0]) == pays
        assert ("as bytes first" in index.explain()) == pays


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_how_much_work_is_too_much_for_so_many(name):
    """On GPUs from six million counts on; more work, the more they are."""
    profile = RECORDED[name]
    found = [tally.most_tests(profile, m << 20) for m in (0, 4, 6, 8, 16, 1000)]

    assert found[:2] == [0.0, 0.0]
    assert found == sorted(found)
    assert (found[2] > 0) == (profile.kind == "gpu")


@pytest.mark.parametrize(
    ("dim", "neighbors", "pays"), [(3, 0.05, 3), (3, 3, 2), (3, 6, 2), (3, 24, 0), (2, 12, 3), (2, 49, 1)]
)
def test_work_of_even_clouds(dim, neighbors, pays):
    """At how many of six, eight and sixteen millions counts as bytes are sooner, as measured."""
    n, ball = 1 << 23, {2: np.pi, 3: 4 / 3 * np.pi}[dim]
    survey = Survey(n=n, low=(0.0,) * dim, high=(1.0,) * dim, others=neighbors / ball)
    radius = float((neighbors / (ball * n)) ** (1 / dim))
    problem = Problem(n=n, dim=dim, real="float", radius=radius, survey=survey, options={})
    profile = RECORDED["h200"]
    work = side_costs.work_of_query(problem, profile, side_costs.rank_sides(problem, profile)[0].sides)

    assert sum(work <= tally.most_tests(profile, m << 20) for m in (6, 8, 16)) == pays


@pytest.mark.usefixtures("always")
def test_without_memory_for_the_bytes(session, monkeypatch):
    points = clouds.uniform(N, 3, seed=1)
    index = clfrnn.build_index(points, 0.1, method="strips", session=as_gpu(session))
    scratch = type(index.session).scratch

    def failing(kept, size, dtype, *, purpose):
        if dtype.itemsize == 1:
            raise DeviceMemoryError("bytes", needed=1, available=0)
        return scratch(kept, size, dtype, purpose=purpose)

    monkeypatch.setattr(type(index.session), "scratch", failing)
    names, found = launched(index, index.count)
    assert "widen" not in names
    assert np.array_equal(found.get(), np.diff(reference.neighbors(points, 0.1).offsets))
