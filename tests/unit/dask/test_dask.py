"""Searches over dask arrays by processes of a cluster: the bits of one device, also where a process is killed."""

import os
import signal

import numpy as np
import pytest
from conftest import FULL, assert_same

import clfrnn
import clfrnn.dask
from clfrnn import clouds, cluster, parts

array = pytest.importorskip("dask.array", reason="the extra dask is not installed")
distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")

pytestmark = pytest.mark.filterwarnings("ignore:::(distributed|tornado|dask)", "default::ResourceWarning")

RADIUS = 0.11
BOX = {"box": (1.0, 1.0, 1.0)}


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """Two processes, which start anew where they die, and print no errors that their client raises."""
    folder = tmp_path_factory.mktemp("dask")
    given = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DASK_LOGGING__DISTRIBUTED", "critical")
        with (
            distributed.LocalCluster(**given, local_directory=folder) as local,
            distributed.Client(local) as found,
        ):
            yield found


@pytest.fixture(scope="module")
def points():
    """Points at the radius from each other and adjacent floats, in a box of length 1 and outside."""
    found = clouds.edges(400, 3, seed=4, radius=RADIUS, sides=(RADIUS,) * 3)
    shifts = np.random.default_rng(1).integers(-3, 4, found.shape)
    shifts[::2] = 0
    return np.random.default_rng(2).permutation((found + shifts).astype(np.float32))


@pytest.mark.parametrize("domain", [{}, BOX], ids=["open", "box"])
def test_lists_counts_and_clusters_are_those_of_one_device(client, points, domain):
    chunks = array.from_array(points, chunks=(130, 2))
    for many in (None, 5):
        futures = clfrnn.dask.search(chunks, RADIUS, parts=many, **FULL, **domain)
        assert len(futures) == (many or 2)
        assert all(future.key.startswith("clfrnn-search-") for future in futures)
        assert_same(parts.join(client.gather(futures)), clfrnn.search(points, RADIUS, **FULL, **domain))
    counts = clfrnn.dask.count(chunks, RADIUS, parts=3, **domain)
    assert counts.chunks == (chunks.chunks[0],)
    expected = clfrnn.build_index(points, RADIUS, **domain).count(to_host=True)
    assert np.array_equal(counts.compute(), expected)
    for found, one in (
        (clfrnn.dask.friends_of_friends(chunks, 0.05, **domain), cluster.friends_of_friends(points, 0.05, **domain)),
        (clfrnn.dask.dbscan(chunks, 0.1, 4, parts=3, **domain), cluster.dbscan(points, 0.1, 4, **domain)),
    ):
        assert found.num_clusters.result() == one.num_clusters > 0
        assert np.array_equal(found.labels.compute(), one.labels.get())
        assert np.array_equal(found.core.compute(), one.core.get())


def assert_same_neighbors(found, expected):
    assert found.indices.dtype == np.int32
    for name in ("indices", "distances", "vectors", "shifts"):
        given, wanted = getattr(found, name), getattr(expected.to_host(), name)
        assert (given is None) == (wanted is None), name
        assert given is None or np.array_equal(given.compute(), wanted), name


@pytest.mark.parametrize("domain", [{}, BOX], ids=["open", "box"])
def test_the_nearest_are_those_of_one_device(client, points, domain):
    """Also of strays, of points with more coincident ones than neighbors, and of more neighbors than parts have."""
    points = np.concatenate([points, points[:1].repeat(9, axis=0), np.full((1, 3), 1e9, np.float32)])[::-1].copy()
    points = points if not domain else points[1:]
    chunks = array.from_array(points, chunks=(170, 3))
    for k, given in (
        (6, {"vectors": True}),
        (6, {"radius": RADIUS, "vectors": True}),
        (150, {"include_self": True}),
    ):
        found = clfrnn.dask.nearest(chunks, k, parts=4, **given, **domain)
        assert found.indices.chunks[0] == chunks.chunks[0]
        assert_same_neighbors(found, clfrnn.nearest(points, k, **given, **domain))


def test_queries_that_are_no_points(client, points):
    queries = np.concatenate([points[::7] + np.float32(0.03), np.full((1, 3), -1e9, np.float32), points[:9]])
    given = {"queries": array.from_array(queries, chunks=(50, 3)), "parts": 5}
    lists = client.gather(clfrnn.dask.search(points, RADIUS, **given, **FULL))
    expected = clfrnn.search(points, RADIUS, queries=queries, **FULL)
    assert_same(parts.join(lists), expected)
    assert np.array_equal(clfrnn.dask.count(points, RADIUS, **given).compute(), expected.counts)
    for radius in (None, RADIUS):
        expected = clfrnn.nearest(points, 3, queries=queries, radius=radius)
        assert_same_neighbors(clfrnn.dask.nearest(points, 3, radius=radius, **given), expected)


@pytest.mark.parametrize("kind", ["numpy", "dask"])
def test_a_radius_for_each_query(client, points, kind):
    radii = np.random.default_rng(5).random(len(points)).astype(np.float32) * np.float32(RADIUS)
    given = radii if kind == "numpy" else array.from_array(radii, chunks=90)
    chunks = array.from_array(points, chunks=(130, 3))
    lists = client.gather(clfrnn.dask.search(chunks, given, parts=4, **FULL))
    expected = clfrnn.search(points, radii, **FULL)
    assert_same(parts.join(lists), expected)
    assert np.array_equal(clfrnn.dask.count(chunks, given, parts=3).compute(), expected.counts)
    wanted = clfrnn.nearest(points, 3, radius=radii, vectors=True)
    assert_same_neighbors(clfrnn.dask.nearest(chunks, 3, radius=given, parts=4, vectors=True), wanted)


def test_chunks_of_futures_without_known_lengths(client, points):
    futures = client.scatter([points[:7], points[7:7], points[7:]])
    counts = clfrnn.dask.count(futures, RADIUS, parts=3)
    assert np.array_equal(counts.compute(), clfrnn.build_index(points, RADIUS).count(to_host=True))


def test_a_process_that_is_killed_is_replaced(client, points):
    """After its first list is there, so that this list and what it was made from are lost."""
    chunks = array.from_array(points, chunks=(100, 3))
    futures = clfrnn.dask.search(chunks, RADIUS, parts=6, **FULL)
    distributed.wait(futures, return_when="FIRST_COMPLETED")
    first = next(future for future in futures if future.done())
    (holder,) = client.who_has(first)[first.key]
    pid = client.run(os.getpid, workers=[holder])[holder]
    os.kill(pid, signal.SIGKILL)
    assert_same(parts.join(client.gather(futures)), clfrnn.search(points, RADIUS, **FULL))
    assert pid not in client.run(os.getpid).values()


def test_no_points_and_more_parts_than_points(client):
    for many in (0, 1, 3):
        few = array.from_array(np.zeros((many, 2), np.float32))
        assert len(parts.join(client.gather(clfrnn.dask.search(few, 0.5, parts=4)))) == many
        assert clfrnn.dask.count(few, 0.5, parts=4).compute().tolist() == [max(many - 1, 0)] * many
        assert_same_neighbors(clfrnn.dask.nearest(few, 2, parts=4), clfrnn.nearest(np.zeros((many, 2), np.float32), 2))


def test_errors_name_the_argument_and_the_row_of_the_whole(client, points):
    bad = points.copy()
    bad[321] = np.nan
    for call, argument, said in (
        (lambda: clfrnn.dask.search(array.from_array(bad, chunks=(100, 3)), RADIUS), "points", "row 321 with"),
        (lambda: clfrnn.dask.count(points, -1.0), "radius", "at least 0"),
        (lambda: clfrnn.dask.count(points, np.full(len(points), np.nan)), "radius", "finite"),
        (lambda: clfrnn.dask.search(points, np.full(len(points), 0.1), half=True), "half", "one radius for all"),
        (lambda: clfrnn.dask.search(points, 0.1, queries=points, half=True), "half", "no queries"),
        (lambda: clfrnn.dask.nearest(points, 2, radius=[0.1, 0.2]), "radius", "shape"),
        (lambda: clfrnn.dask.dbscan(points, np.nan, 3), "eps", "finite"),
        (lambda: clfrnn.dask.friends_of_friends(points, 0.1, min_members=0), "min_members", "at least 1"),
        (lambda: clfrnn.dask.count(points, 0.1, parts=0), "parts", "at least 1"),
        (lambda: clfrnn.dask.count(points, 0.1, where=clfrnn.Condition("i < j")), "where", "by parts"),
        (lambda: clfrnn.dask.count(points, 0.1, box=(1.0,)), "box", "3 lengths"),
        (lambda: clfrnn.dask.count(points, 0.1, queries=np.zeros((2, 2))), "queries", "3 coordinates"),
        (lambda: clfrnn.dask.nearest(points, 2, queries=bad), "queries", "row 321 with"),
        (lambda: clfrnn.dask.nearest(points, 0), "k", "at least 1"),
    ):
        with pytest.raises(clfrnn.InvalidInputError, match=said) as caught:
            call()
        assert caught.value.argument == argument
