"""Many queries that are no points are sorted into cells first: what they find, and when it is done."""

import numpy as np
import pyopencl.array as cla
import pytest
from conftest import (
    POINTS,
    RECORDED,
    as_gpu,
    assert_counts,
    assert_same,
    joined,
    launched,
    refusing,
    same_rows,
    structure_of,
    truth,
    tuned,
    with_slots,
)

import clfrnn
from clfrnn import clouds
from clfrnn.domain.box import open_space
from clfrnn.methods.grid import plan as cell_plan
from clfrnn.problem import Problem
from clfrnn.runtime.launcher import Launcher
from clfrnn.survey import Survey
from clfrnn.tuning import default_tuning

N = min(700, POINTS)
M = min(500, POINTS)
METHODS = ["strips", "uniform_grid"]
#: Kernels that bring rows into the order of cells, each on some devices.
SORTING = {"gather_points", "select_cells", "serial_cells", "sort_tiles"}

#: As many foreign queries are sorted on any device.
FEW_ARE_MANY = {"many_queries": 40, "least_to_sort_for": 0}

pytestmark = pytest.mark.core


@pytest.fixture(params=METHODS)
def method(request):
    return request.param


@pytest.fixture(params=["as it is", "as a GPU", "by buckets"])
def device(request, session):
    gpu = session if request.param == "as it is" else as_gpu(session)
    numbers = {"few_of_item": 0} if request.param == "by buckets" else {}
    return tuned(gpu, binning=numbers, grid=FEW_ARE_MANY)


def around(dim, dtype=np.float32):
    """Queries in and around the unit cube, some at one place, some far away."""
    rng = np.random.default_rng(6)
    queries = (1.5 * rng.random((M, dim)) - 0.25).astype(dtype)
    queries[: M // 5] = queries[0]
    queries[-3:] *= 50
    return queries


@pytest.mark.parametrize("periodic", [False, True], ids=["open", "periodic"])
def test_they_find_what_others_find(device, method, dim, periodic):
    """Counts and lists, with radii of their own too; after the points moved."""
    domain = {"box": (1.0,) * dim, "periodic": (True,) + (False,) * (dim - 1)} if periodic else {}
    points, queries = clouds.uniform(N, dim, seed=1), around(dim)
    index = clfrnn.build_index(points, 0.2, method=method, session=device, **domain)
    own = (0.2 * np.random.default_rng(2).random(M)).astype(np.float32)
    for radius in (0.2, own):
        expected = truth(points, radius, queries=queries, **domain)
        assert_counts(index.count(queries, radius=radius), expected)
        found = index.query(queries, radius=radius, sort="index", vectors=True).to_host()
        assert np.array_equal(found.indices, expected.indices)
        assert np.array_equal(found.vectors, expected.vectors)
        same_rows(index.query(queries, radius=radius).to_host(), expected)
        points = points[::-1].copy() + np.float32(0.01)
        index.update(points)


@pytest.mark.parametrize("many", [30, 200], ids=["few a part", "many a part"])
@pytest.mark.parametrize("periodic", [False, True], ids=["open", "periodic"])
def test_parts_of_them(device, method, periodic, many, monkeypatch):
    """With radii of their own too; while points, queries and radii change in between."""
    visited, launch = [], Launcher.launch_sliced

    def watched(launcher, kernel, units, *given, **named):
        if kernel.name == "frnn_visit":
            visited.append(units)
        return launch(launcher, kernel, units, *given, **named)

    monkeypatch.setattr(Launcher, "launch_sliced", watched)
    domain = {"box": (1.0,) * 3, "periodic": True} if periodic else {}
    points, queries = clouds.uniform(N, 3, seed=1), around(3)
    index = clfrnn.build_index(points, 0.2, method=method, session=device, **domain)
    for radius in (0.2, (0.2 * np.random.default_rng(2).random(M)).astype(np.float32)):
        expected = truth(points, radius, queries=queries, **domain)
        asked = cla.to_device(device.queue, queries)
        radii = cla.to_device(device.queue, radius) if isinstance(radius, np.ndarray) else radius
        rows = np.diff(expected.offsets)
        budget = 8 + 4 * max(many + int(many / M * rows.sum()), 1 + int(rows.max()))
        parts = index.query_blocks(asked, radius=radii, sort="index", max_bytes=budget)
        del visited[:]
        found = [next(parts).to_host()]
        asked.fill(0)
        if radii is not radius:
            radii.fill(0)
        points = points[::-1].copy() + np.float32(0.3)
        index.update(points)
        found += [part.to_host() for part in parts]
        assert len(found) > 1
        assert set(visited) == {len(part) for part in found}, "no part goes through the queries of others"
        assert np.array_equal(np.concatenate([part.indices for part in found]), expected.indices)
        assert np.array_equal(np.concatenate([np.diff(part.offsets) for part in found]), rows)


@pytest.mark.parametrize("refused", ["a part of the queries", "a copy of the queries", "sorted copy of the queries"])
@pytest.mark.parametrize("on_device", [False, True], ids=["host", "device"])
def test_parts_where_memory_is_short(device, method, on_device, refused):
    points, queries = clouds.uniform(N, 3, seed=1), around(3)
    index = clfrnn.build_index(points, 0.2, method=method, session=device)
    expected = truth(points, 0.2, queries=queries)
    asked = cla.to_device(device.queue, queries) if on_device else queries
    with refusing(refused):
        parts = list(index.query_blocks(asked, sort="index", max_bytes=2 * (M + len(expected.indices))))
    assert len(parts) > 1
    assert_same(joined(parts), expected)


def test_doubles_are_sorted_too(device, method):
    if not device.profile.fp64:
        pytest.skip("the device has no fp64")
    points, queries = clouds.uniform(N, 3, seed=1, dtype=np.float64), around(3, np.float64)
    index = clfrnn.build_index(points, 0.2, method=method, session=device)
    expected = truth(points, 0.2, queries=queries)
    assert_same(index.query(queries, sort="index"), expected)


def test_a_function_finishes_each_query_once(device, method):
    visited = clfrnn.NeighborFunction(
        arguments="global int *found, global int *finished",
        state="int many = 0;",
        per_neighbor="++many;",
        finish="found[i] = many; ++finished[i];",
    )
    points, queries = clouds.uniform(N, 3, seed=1), around(3)
    index = clfrnn.build_index(points, 0.2, method=method, session=device)
    found, finished = (cla.zeros(device.queue, M, np.int32) for _ in range(2))
    index.visit(visited, cla.to_device(device.queue, queries), found=found, finished=finished)
    assert np.array_equal(found.get(), np.diff(truth(points, 0.2, queries=queries).offsets))
    assert (finished.get() == 1).all()


def test_indices_of_few_neighbors_are_buffered(session):
    """Rows of queries in order, of those with more neighbors than slots, too."""
    gpu = tuned(as_gpu(session), grid=FEW_ARE_MANY, lists={"mask_neighbors": np.inf})
    points, queries = clouds.uniform(N, 3, seed=1), around(3)
    index = with_slots(clfrnn.build_index(points, 0.12, method="strips", session=gpu), 4)
    expected = truth(points, 0.12, queries=queries)
    assert 0 < (np.diff(expected.offsets) > 4).sum() < M
    names, found = launched(gpu, lambda: index.query(queries))
    assert "buffer_to_rows" in names
    same_rows(found, expected)


def test_however_many_are_in_one_place(device, method):
    """All of them, or half, or beside each other."""
    points, queries = clouds.uniform(N, 3, seed=1), around(3)
    index = clfrnn.build_index(points, 0.2, method=method, session=device)
    for crowd in (queries[:1] + 0 * queries, np.where(np.arange(M)[:, None] % 2, queries, queries[0]), 0.01 * queries):
        expected = np.diff(truth(points, 0.2, queries=crowd).offsets)
        assert np.array_equal(index.count(crowd).get(), expected)


def test_few_are_taken_as_they_come(device, method):
    index = clfrnn.build_index(clouds.uniform(N, 3, seed=1), 0.1, method=method, session=device)
    queries = cla.to_device(device.queue, around(3))
    many, _ = launched(device, lambda: index.count(queries))
    few, _ = launched(device, lambda: index.count(queries[:39]))
    assert set(many) & SORTING
    assert not set(few) & SORTING
    assert "queries that are no points: from 40 on sorted into cells first" in index.explain(long=True)


def test_all_are_sorted_where_points_lie_in_pairs(session):
    """So that these need no second copy."""
    gpu = tuned(as_gpu(session), grid=FEW_ARE_MANY)
    index = clfrnn.build_index(clouds.uniform(N, 3, seed=1), 0.4, method="strips", session=gpu)
    assert structure_of(index).config.layout == "pairs"
    queries = around(3)
    expected = np.diff(truth(clouds.uniform(N, 3, seed=1), 0.4, queries=queries).offsets)
    kept = index.nbytes
    for m in (1, 7, M):
        assert np.array_equal(index.count(queries[:m]).get(), expected[:m])
    assert index.nbytes == kept
    assert "queries that are no points: sorted into cells first" in index.explain(long=True)


@pytest.mark.parametrize("what", [np.nan, np.inf])
def test_what_is_not_finite_is_told(device, method, what):
    """From the device: at the next call that waits, by its row; the other queries find their neighbors."""
    points, queries = clouds.uniform(N, 3, seed=1), around(3)
    expected = np.diff(truth(points, 0.2, queries=queries).offsets)
    queries[7, 1] = what
    index = clfrnn.build_index(points, 0.2, method=method, session=device)
    counts = index.count(cla.to_device(device.queue, queries)).get()
    with pytest.raises(clfrnn.InvalidInputError, match="queries.*row 7"):
        index.check()
    assert counts[7] == 0
    assert np.array_equal(np.delete(counts, 7), np.delete(expected, 7))


@pytest.mark.parametrize("on_device", [False, True], ids=["host", "device"])
@pytest.mark.parametrize("purpose", ["the sorted copy of the queries", "the bounding boxes of groups"])
def test_where_there_is_no_memory_they_are_not_sorted(device, method, on_device, purpose):
    if purpose == "the bounding boxes of groups":
        if device.profile.kind != "gpu" or device.profile.loop_turns is not None:
            pytest.skip("no group counts points by buckets")
        device = tuned(device, binning={"few_of_item": 0})
    points, queries = clouds.uniform(N, 3, seed=1), around(3)
    index = clfrnn.build_index(points, 0.2, method=method, session=device)
    asked = cla.to_device(device.queue, queries) if on_device else queries
    with refusing(purpose, most=1) as refused:  # to find the box of queries takes the like
        counts = index.count(asked)
        index.check()
    assert refused
    assert_counts(counts, truth(points, 0.2, queries=queries))
    queries[5] = np.nan
    if on_device:
        index.count(cla.to_device(device.queue, queries))
        with pytest.raises(clfrnn.InvalidInputError, match="row 5"):
            index.check()


def test_a_cpu_sorts_where_no_cache_holds_what_is_gone_through():
    """And a GPU many, or all of them where the points lie in pairs, for which queries have to come in order."""
    cases = [
        ("pocl", 100_000, 0.4, "columns", None),
        ("pocl", 1_000_000, 3, "columns", 1 << 14),
        ("h200", 1000, 3, "records", 1 << 17),
        ("h200", 1000, 49, "pairs", 1),
    ]
    for name, n, neighbors, layout, many in cases:
        radius = (neighbors / (4.19 * n)) ** (1 / 3)
        survey = Survey(n=n, low=(0.0,) * 3, high=(1.0,) * 3)
        problem = Problem(n=n, domain=open_space(3), real="float", radius=radius, survey=survey)
        assert cell_plan.many_queries(problem, default_tuning(RECORDED[name]), layout=layout) == many


def test_a_copy_is_all_that_a_list_holds_of_its_queries(session):
    """One that nobody has looked at yet, and whose caller writes to the queries meanwhile."""
    points, queries = clouds.uniform(N, 3, seed=1), around(3)
    expected = truth(points, 0.2, queries=queries)
    session = tuned(session, grid=FEW_ARE_MANY)
    index = clfrnn.build_index(points, 0.2, method="strips", session=session)
    on_device = cla.to_device(session.queue, queries)
    assert index.count(on_device).get().any()
    held = index.query(on_device, sort="index", hint=1)
    on_device.fill(0)
    index.update(points[::-1].copy())
    assert np.array_equal(held.to_host().indices, expected.indices)
