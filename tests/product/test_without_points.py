"""Every call of every method in every domain, of an index without points or of no queries: all results are written."""

import itertools

import numpy as np
import pyopencl as cl
import pytest
from conftest import FULL, assert_counts, assert_same, counts_of

import clfrnn
from clfrnn import reference

RADIUS, N, M = 0.3, 24, 5
CELL = np.array([[0, 1.1, 0.2], [0.9, 0.3, 0], [-0.4, 0.1, 1.2]])
SKEWED = np.array([[1, 0, 0], [6, 1, 0], [-4, 7, 1.1]])
BATCH = np.array([3, 0])[np.arange(N) % 2]  # systems 1 and 2 are empty
QUERY_BATCH = np.array([0, 1, 2, 3, 9])


def subsets(dim):
    return [flags for flags in itertools.product([False, True], repeat=dim) if any(flags)]


def domains(kind, dim):
    if kind == "open":
        return [{}]
    if kind == "box":
        return [{"box": np.full(dim, 0.9), "periodic": flags} for flags in subsets(dim)]
    if kind in ("cell", "skewed cell"):
        rows = (CELL if kind == "cell" else SKEWED)[:dim, :dim]
        return [{"cell": rows, "periodic": flags} for flags in subsets(dim)]
    lengths = np.linspace(0.8, 1.4, 4)[:, None] * np.ones(dim)
    cells = lengths[:, :, None] * CELL[:dim, :dim]
    return [
        {"batch": BATCH},
        {"batch": BATCH, "box": lengths},
        {"batch": BATCH, "cell": cells, "periodic": np.arange(4)[:, None] % 2 == np.zeros(dim)},
    ]


@pytest.fixture
def garbage(monkeypatch):
    """What a new buffer holds; nobody may read it."""
    plain = clfrnn.Session.scratch

    def scratch(session, size, dtype, *, purpose):
        found = plain(session, size, dtype, purpose=purpose)
        many = size * dtype.itemsize // 4 * 4
        if many:
            cl.enqueue_fill_buffer(session.queue, found.base_data, np.int32(0x3F3B2A19), 0, many)
        return found

    monkeypatch.setattr(clfrnn.Session, "scratch", scratch)


def queries_of(dim, batched):
    rows = np.random.default_rng(dim).random((M, dim)).astype(np.float32)
    own = [{}] if not batched else [{"query_batch": QUERY_BATCH}, {"query_batch": QUERY_BATCH[:0]}]
    return [(None, {}), (rows, own[0]), (rows[:0], own[-1])]


@pytest.mark.product
@pytest.mark.usefixtures("garbage")
@pytest.mark.parametrize("kind", ["open", "box", "cell", "skewed cell", "systems"])
def test_every_call_without_points(session, method, dim, kind):
    points = np.random.default_rng(7).random((N, dim)).astype(np.float32)
    for known in domains(kind, dim):
        domain = {"method": method, "session": session, **known}
        batch = {"batch": BATCH[:0]} if "batch" in domain else {}
        built = clfrnn.build_index(points[:0], RADIUS, **{**domain, **batch})
        emptied = clfrnn.build_index(points, RADIUS, **domain)
        emptied.update(points[:0], **batch)
        for index in (built, emptied):
            check_empty(index, dim, domain)
            index.update(points, **({"batch": BATCH} if batch else {}))
            check_full(index, points, domain)
            index.update(points[:0], **batch)
            assert counts_of_own(index).size == 0


def counts_of_own(index):
    return index.count().get()


def check_empty(index, dim, domain):
    """No query has a neighbor, by any call."""
    options = {name: domain[name] for name in ("method", "session", "box", "cell", "periodic") if name in domain}
    periodic = "box" in domain or "cell" in domain
    batched = "batch" in domain
    for queries, asked in queries_of(dim, batched):
        m = 0 if queries is None else len(queries)
        assert index.count(queries, **asked).get().tolist() == [0] * m
        where = clfrnn.Condition("d2 >= 0")
        assert index.count(queries, where=where, **asked).get().tolist() == [0] * m
        for found in (index.query(queries, **FULL, **asked), index.query(queries, sort="distance", **asked)):
            assert found.offsets.get().tolist() == [0] * (m + 1)
            assert found.num_pairs == 0
        assert (index.query(queries, vectors=True, **asked).shifts is not None) == periodic
        one = index.nearest(queries, **asked).to_host()
        assert one.indices.tolist() == [-1] * m
        assert np.isinf(one.distances).all()
        check_rows(index.nearest(queries, k=3, vectors=True, **asked), (m, 3), dim, periodic)
        many = clfrnn.NeighborFunction(
            arguments="global int *counts", state="int n = 0;", per_neighbor="++n;", finish="counts[i] = n;"
        )
        counts = index.empty(max(1, m), np.int32)
        counts.fill(7)
        index.visit(many, queries, counts=counts, **asked)
        assert counts.get()[:m].tolist() == [0] * m
        given = {"queries": queries, **asked, **({"batch": BATCH[:0]} if batched else {})}
        none = np.zeros((0, dim), np.float32)
        for radius in (None, RADIUS):
            found = clfrnn.nearest(none, 2, radius=radius, vectors=True, **given, **options)
            check_rows(found, (m, 2), dim, periodic)
        found = clfrnn.search(none, RADIUS, vectors=True, **given, **options)
        assert found.num_pairs == 0
        assert (found.shifts is not None) == periodic
    half = index.query(half=True, **FULL)
    assert half.offsets.get().tolist() == [0]
    index.check()


def check_rows(found, shape, dim, periodic):
    found = found.to_host()
    assert found.indices.shape == shape
    assert (found.indices == -1).all()
    assert np.isinf(found.distances).all()
    assert found.vectors.shape == (*shape, dim)
    assert not found.vectors.any()
    assert (found.shifts is not None) == periodic
    if periodic:
        assert found.shifts.shape == (*shape, dim)
        assert not found.shifts.any()


def check_full(index, points, domain):
    """An index that had no points is right after an update to some."""
    known = {name: domain[name] for name in ("box", "cell", "periodic", "batch") if name in domain}
    dim = points.shape[1]
    assert_same(index.query(half=True, **FULL), reference.neighbors(points, RADIUS, half=True, **known))
    for queries, asked in queries_of(dim, "batch" in domain):
        wanted = {} if queries is None else {"queries": queries, **asked}
        expected = reference.neighbors(points, RADIUS, **wanted, **known)
        assert_same(index.query(queries, **FULL, **asked), expected)
        assert_counts(index.count(queries, **asked), expected)
        assert counts_of(expected).shape == (N if queries is None else len(queries),)


@pytest.mark.parametrize("method", ["brute_force", "strips", "aabb_tree", "fenns"])
def test_a_domain_of_which_some_axes_repeat(session, garbage, method):
    """The host and the device find the same bounds of no points, and one of two launches serves the queries."""
    queries = np.random.default_rng(0).random((9, 3)).astype(np.float32)
    index = clfrnn.build_index(
        queries, RADIUS, method=method, session=session, cell=CELL, periodic=[False, True, False]
    )
    index.update(queries[:0])
    assert index.count(queries).get().tolist() == [0] * 9
    assert (index.nearest(queries, k=3).indices.get() == -1).all()


@pytest.mark.parametrize("box", [[1.0, 1, 1], np.ones((4, 3)), np.ones((0, 3)), [[0, 0, 0], [1, 1, 1]]])
def test_shifts_of_an_empty_batch(session, box):
    """As without a batch: an axis is periodic, so lists and rows have shifts."""
    points, queries = np.zeros((0, 3), np.float32), np.zeros((4, 3), np.float32)
    known = {"batch": np.zeros(0, int), "box": box, "session": session, "vectors": True}
    asked = {"queries": queries, "query_batch": [0, 1, 2, 3]}
    assert clfrnn.search(points, 0.1, **asked, **known).shifts.shape == (0, 3)
    assert clfrnn.nearest(points, 2, radius=0.1, **asked, **known).shifts.shape == (4, 2, 3)
    assert clfrnn.nearest(points, 2, **asked, **known).shifts.shape == (4, 2, 3)
