"""Lists measured by the numbers of their pairs: as those that a visit writes, to the last bit."""

import numpy as np
import pyopencl.array as cla
import pytest
from conftest import (
    POINTS,
    as_gpu,
    assert_same,
    by_distance,
    joined,
    refusing,
    structure_of,
    takes_long_as_gpu,
    truth,
    tuned,
)

import clfrnn
from clfrnn import clouds
from clfrnn.answers.lists import attributes
from clfrnn.methods import METHODS

N = min(500, POINTS)
RADIUS = 0.17

#: However short lists are.
ALWAYS = {"attributes_apart": 0, "attributes_apart_of_point": 0}
BOX = {"box": (1.0, 1.0, 1.0), "periodic": (True, False, True)}
ASKED = {
    "distances": {"distances": True, "sort": "index"},
    "vectors, by distance": {"vectors": True, "distances": True, "sort": "distance"},
    "vectors": {"vectors": True, "sort": "index"},
    "by distance": {"sort": "distance"},
}


@pytest.fixture(autouse=True)
def measured(calls_of):
    """One for each list that was measured."""
    return calls_of(attributes, "measure_pairs")


def gpu(session, method):
    """One that measures lists however short they are."""
    if session.profile.kind != "gpu" and (method == "aabb_tree" or takes_long_as_gpu(session, method)):
        pytest.skip("drivers for CPUs take long for kernels in the arrangement for a GPU")
    return tuned(as_gpu(session), lists=ALWAYS)


@pytest.mark.parametrize("method", sorted(METHODS))
def test_points_are_read_back(session, method, dtype):
    points = clouds.uniform(N, 3, dtype=dtype, seed=2)
    index = clfrnn.build_index(points, RADIUS, method=method, session=session)
    for moved in (points, points[::-1] * dtype.type(2)):
        index.update(moved)
        assert np.array_equal(structure_of(index).positions().get(), moved)


@pytest.mark.long
@pytest.mark.parametrize("domain", [{}, BOX], ids=["open", "periodic"])
@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_method(session, method, domain, dtype, measured):
    """The points' own and foreign queries, foreseen and hinted at, with points that lie far outside of the box."""
    points, queries = clouds.uniform(N, 3, dtype=dtype, seed=3), clouds.uniform(N // 7, 3, dtype=dtype, seed=4)
    if domain:
        points[::9, 0] += dtype.type(3)
        queries[::5, 2] -= dtype.type(2)
    index = clfrnn.build_index(points, RADIUS, method=method, session=gpu(session, method), **domain)
    for asked in ASKED.values():
        for hint in (None, 7, 10**5):
            for given in (None, queries):
                expected = truth(points, RADIUS, queries=given, **domain)
                order = by_distance(expected) if asked["sort"] == "distance" else slice(None)
                assert_same(index.query(given, hint=hint, **asked), expected, order=order)
    assert measured


@pytest.mark.parametrize("dim", [1, 2, 5, 12])
def test_every_dimension(session, dim, measured):
    points = clouds.uniform(N, dim, seed=5)
    radius = 0.05 * dim
    index = clfrnn.build_index(points, radius, method="brute_force", session=gpu(session, "brute_force"))
    assert_same(
        index.query(distances=True, vectors=True, half=True, sort="index"),
        truth(points, radius, half=True),
    )
    assert measured


def test_a_query_that_sees_two_images_of_a_point_is_visited(session, measured):
    points = clouds.uniform(N // 4, 3, seed=6)
    domain = {"box": (0.9, 2.0, 2.0), "periodic": True}
    index = clfrnn.build_index(points, 0.4, method="strips", session=gpu(session, "strips"), **domain)
    assert_same(index.query(distances=True, vectors=True, sort="index"), truth(points, 0.4, **domain))
    assert not measured


@pytest.mark.core
@pytest.mark.parametrize("foreign", [False, True], ids=["own", "foreign"])
def test_lists_are_of_the_points_and_queries_that_were(session, foreign, measured):
    """Also when they are looked at after the index has moved on, and the caller has written over his arrays."""
    session = gpu(session, "strips")
    points, queries = clouds.uniform(N, 3, seed=7), clouds.uniform(N // 3, 3, seed=8)
    on_device = cla.to_device(session.queue, queries) if foreign else None
    index = clfrnn.build_index(points, RADIUS, method="strips", session=session)
    expected = truth(points, RADIUS, queries=queries if foreign else None)

    hinted = [index.query(on_device, hint=hint, distances=True, vectors=True, sort="index") for hint in (3, 10**5)]
    parts = index.query_blocks(on_device, max_bytes=4_000, distances=True, sort="index")
    index.update(points[::-1] * np.float32(0.5))
    if on_device is not None:
        on_device.fill(9)

    for each in hinted:
        assert_same(each, expected)
    parts = list(parts)
    assert len(parts) > 1
    assert_same(joined(parts), expected)
    assert measured


@pytest.mark.parametrize("domain", [{}, BOX], ids=["open", "periodic"])
def test_parts_of_many_queries(session, domain, measured):
    """Whose walks go through a sorted copy of them, made anew for each part."""
    session = tuned(gpu(session, "strips"), grid={"many_queries": 40, "least_to_sort_for": 0})
    points, queries = clouds.uniform(N, 3, seed=10), clouds.uniform(N, 3, seed=11)
    on_device = cla.to_device(session.queue, queries)
    index = clfrnn.build_index(points, RADIUS, method="strips", session=session, **domain)
    expected = truth(points, RADIUS, queries=queries, **domain)
    parts = index.query_blocks(on_device, max_bytes=15_000, distances=True, vectors=True, sort="index")
    on_device.fill(9)
    index.update(points[::-1].copy())

    parts = list(parts)

    assert len(parts) > 2
    assert_same(joined(parts), expected)
    assert measured


@pytest.mark.parametrize("hint", [None, 10**5])
@pytest.mark.parametrize("sort", ["index", "distance"])
def test_the_visit_writes_all_where_there_is_no_memory_for_points(session, hint, sort, measured):
    session = gpu(session, "strips")
    points = clouds.uniform(N, 3, seed=12)
    index = clfrnn.build_index(points, RADIUS, method="strips", session=session)
    with refusing("by their numbers") as refused:
        found = index.query(hint=hint, distances=True, vectors=True, sort=sort)
        expected = truth(points, RADIUS)
        assert_same(found, expected, order=by_distance(expected) if sort == "distance" else slice(None))
    assert refused
    assert not measured


@pytest.mark.core
def test_long_rows_are_sorted_too(session, measured):
    """Longer than what fits local memory, beside short ones and empty ones."""
    rng = np.random.default_rng(9)
    points = np.concatenate([rng.normal(0, 0.01, (700, 3)), rng.random((200, 3)), [[5, 5, 5]]]).astype(np.float32)
    index = clfrnn.build_index(points, 0.08, method="uniform_grid", session=gpu(session, "uniform_grid"))
    expected = truth(points, 0.08)
    assert np.diff(expected.offsets).max() > 512
    assert_same(index.query(distances=True, sort="distance"), expected, order=by_distance(expected))
    assert_same(index.query(vectors=True, sort="index"), expected)
    assert measured
