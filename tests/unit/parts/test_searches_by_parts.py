"""Searches by parts: the same bits as a search of the whole, whatever the parts, the devices and the array."""

import pickle
import threading
import time

import numpy as np
import pyopencl as cl
import pytest
from conftest import FULL, assert_same, before_allocations, own_session

import clfrnn
from clfrnn import clouds, cluster, parts

RADIUS = 0.11


@pytest.fixture(scope="module")
def edges():
    """Points at the radius from each other and from multiples of it, adjacent floats, and a stray."""
    points = clouds.edges(400, 3, seed=3, radius=RADIUS, sides=(RADIUS,) * 3, low=-1.0)
    points = np.concatenate([points, np.full((1, 3), 1e30, np.float32)])
    return np.random.default_rng(0).permutation(points)


@pytest.fixture(scope="module")
def torus():
    """The same in a box of length 1, moved by some lengths."""
    points = clouds.edges(300, 3, seed=4, radius=RADIUS, sides=(RADIUS,) * 3)
    shifts = np.random.default_rng(1).integers(-3, 4, points.shape)
    return (np.concatenate([points[:150], 1 - points[150:]]) + shifts).astype(np.float32)


BOX = {"box": (1.0, 1.0, 1.0)}


@pytest.fixture(params=["open", "box"])
def scene(request, edges, torus):
    return (edges, {}) if request.param == "open" else (torus, BOX)


def pair_of(session):
    """Two devices: of a CPU its halves, where it can be divided, else one device twice."""
    device = session.device
    if device.partition_max_sub_devices < 2:  # some drivers crash where they are asked to divide one nevertheless
        return [session, own_session(session)]
    halves = device.create_sub_devices([cl.device_partition_property.EQUALLY, 1])
    contexts = [cl.Context([half]) for half in halves[:2]]  # which some drivers' queues do not hold
    return [clfrnn.Session(cl.CommandQueue(context, half)) for context, half in zip(contexts, halves, strict=False)]


@pytest.mark.parametrize("include_self", [False, True], ids=["others", "self"])
@pytest.mark.parametrize("half", [False, True], ids=["whole", "half"])
def test_any_number_of_parts_gives_the_list_of_the_whole(session, scene, half, include_self):
    points, domain = scene
    asked = {"half": half, "include_self": include_self, **FULL, **domain}
    expected = clfrnn.search(points, RADIUS, session=session, **asked)
    assert expected.num_pairs > len(points)
    for many in (1, 2, 5, 9):
        found = list(clfrnn.search_parts(points, RADIUS, sessions=[session], parts=many, **asked))
        assert len(found) == many
        assert_same(parts.join(found), expected)


def test_rows_by_distance_are_those_of_the_whole(session, scene):
    points, domain = scene
    points = np.concatenate([points, points[::3]])  # ties by number
    asked = {"sort": "distance", "distances": True, "session": session, **domain}
    expected = clfrnn.search(points, RADIUS, **asked)
    del asked["session"]
    assert_same(parts.join(parts.search(points, RADIUS, sessions=session, parts=4, **asked)), expected)


def test_counts_and_radii_of_their_own(session, scene):
    points, domain = scene
    radii = np.linspace(0, RADIUS, len(points))
    index = clfrnn.build_index(points, RADIUS, session=session, **domain)
    for radius in (RADIUS, radii):
        for include_self in (False, True):
            expected = index.count(radius=radius, include_self=include_self, to_host=True)
            given = {"sessions": [session], "parts": 5, "include_self": include_self, **domain}
            assert np.array_equal(parts.count(points, radius, **given), expected)
    expected = index.query(radius=radii, **FULL)
    assert_same(parts.join(parts.search(points, radii, sessions=[session], parts=5, **FULL, **domain)), expected)


@pytest.mark.parametrize("wide", [False, True], ids=["float32", "float64"])
def test_queries_that_are_no_points(session, scene, wide):
    points, domain = scene
    if wide and not session.profile.fp64:
        pytest.skip("the device has no fp64")
    queries = np.concatenate([points[::7], points[::5] + np.float32(RADIUS)]).astype(np.float64 if wide else np.float32)
    expected = clfrnn.search(points, RADIUS, queries=queries, session=session, **FULL, **domain)
    given = {"queries": queries, "sessions": [session], "parts": 6, **domain}
    assert_same(parts.join(parts.search(points, RADIUS, **given, **FULL)), expected)
    assert np.array_equal(parts.count(points, RADIUS, **given), expected.counts)


@pytest.mark.parametrize("radius", [None, RADIUS], ids=["unbounded", "radius"])
@pytest.mark.parametrize("include_self", [False, True], ids=["others", "self"])
def test_the_nearest_are_those_of_the_whole(session, scene, radius, include_self):
    """Also of strays, of points with more coincident ones than neighbors, and of parts with fewer than k points."""
    points, domain = scene
    points = np.concatenate([points[:200], points[:1].repeat(9, axis=0)])
    asked = {"radius": radius, "include_self": include_self, "vectors": True, **domain}
    for k in (1, 6, 300):
        expected = clfrnn.nearest(points, k, session=session, **asked).to_host()
        found = parts.nearest(points, k, sessions=[session], parts=7, **asked)
        for name in ("indices", "distances", "vectors", "shifts"):
            assert np.array_equal(getattr(found, name), getattr(expected, name)), (k, name)


def test_the_nearest_of_queries(session, edges):
    queries = np.concatenate([edges[:40] + np.float32(0.03), np.full((1, 3), -1e9, np.float32)])
    expected = clfrnn.nearest(edges, 3, queries=queries, session=session).to_host()
    found = parts.nearest(edges, 3, queries=queries, sessions=[session], parts=4)
    assert np.array_equal(found.indices, expected.indices)
    assert np.array_equal(found.distances, expected.distances)


def assert_same_clusters(found, expected):
    expected = expected.to_host()
    for name in ("labels", "core", "num_clusters", "sizes"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name


@pytest.mark.parametrize("domain", [{}, BOX], ids=["open", "box"])
def test_clusters_are_those_of_the_whole(session, domain):
    points = clouds.clustered(900, 3, seed=2, clusters=12, width=0.03)
    points[::90] += 3  # outside of the box
    for many in (1, 2, 6):
        given = {"sessions": [session], "parts": many, **domain}
        for least in (1, 5):
            expected = cluster.dbscan(points, 0.03, least, session=session, **domain)
            assert expected.num_clusters > 3
            assert_same_clusters(parts.dbscan(points, 0.03, least, **given), expected)
        expected = cluster.friends_of_friends(points, 0.02, min_members=3, session=session, **domain)
        assert_same_clusters(parts.friends_of_friends(points, 0.02, min_members=3, **given), expected)


def test_a_chain_through_all_parts_is_one_group(session):
    """In an order in which no part sees that groups of others are one."""
    points = np.random.default_rng(0).permutation(np.arange(200.0)).astype(np.float32).reshape(-1, 1)
    found = parts.friends_of_friends(points, 1.0, sessions=[session], parts=30)
    assert found.num_clusters == 1
    assert not found.labels.any()


def test_several_sessions_give_the_same_bits(session, scene):
    points, domain = scene
    sessions = pair_of(session)
    expected = clfrnn.search(points, RADIUS, session=session, **FULL, **domain)
    for many in (None, 2, 3, 9):
        found = list(parts.search(points, RADIUS, sessions=sessions, parts=many, **FULL, **domain))
        assert len(found) == (many or 2)
        assert_same(parts.join(found), expected)
    assert_same_clusters(
        parts.dbscan(points, 0.05, 4, sessions=sessions, parts=5, **domain),
        cluster.dbscan(points, 0.05, 4, session=session, **domain),
    )


def test_sessions_of_a_driver_for_one_thread_are_used_in_turn_by_that_of_the_caller(session, edges):
    one_thread = [own_session(session, concurrent=False), own_session(session)]
    used = []

    def looked(owner, size, _):
        used.append((owner, threading.current_thread()))

    with before_allocations(looked):
        found = parts.join(parts.search(edges, RADIUS, sessions=one_thread, parts=5, **FULL))
    assert_same(found, clfrnn.search(edges, RADIUS, session=session, **FULL))
    assert {owner for owner, _ in used} >= set(one_thread)
    assert {thread for _, thread in used} == {threading.current_thread()}


class Sliced:
    """An array that can only be read by slices, as those of Zarr and HDF5."""

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    def __getitem__(self, key):
        assert isinstance(key, slice)
        return self.array[key]


def test_arrays_of_any_kind(session, edges, tmp_path):
    expected = clfrnn.search(edges, RADIUS, session=session, **FULL)
    np.save(tmp_path / "cloud.npy", edges)
    mapped = np.load(tmp_path / "cloud.npy", mmap_mode="r")
    on_device = clfrnn.to_device(edges, session=session)
    swapped = edges.astype(edges.dtype.newbyteorder())
    for points in (mapped, Sliced(edges), on_device, np.asfortranarray(edges), swapped, Sliced(swapped)):
        assert_same(parts.join(parts.search(points, RADIUS, sessions=[session], parts=3, **FULL)), expected)
    whole = np.round(edges[:-1].clip(-9, 9) * 10).astype(np.int16)
    expected = clfrnn.build_index(whole, 2, session=session).count(to_host=True)
    assert np.array_equal(parts.count(whole, 2, sessions=[session], parts=3), expected)


class Refilled(Sliced):
    """A reader that fills one buffer with every slice, as readers of files do, and serves one thread at a time."""

    def __init__(self, array):
        super().__init__(array)
        self.buffer, self.busy = np.empty_like(array), threading.Lock()

    def __getitem__(self, key):
        assert self.busy.acquire(blocking=False), "two threads at the same time"
        rows = super().__getitem__(key)
        self.buffer[: len(rows)] = rows
        time.sleep(0.001)
        self.busy.release()
        return self.buffer[: len(rows)]


def test_a_reader_that_fills_one_buffer_with_every_slice(session, edges, monkeypatch):
    monkeypatch.setattr("clfrnn.parts.rows._ROWS", 32)
    slices = [rows for _, rows in list(parts.rows.slices(Refilled(edges), "points"))]
    assert np.array_equal(np.concatenate(slices), edges)
    expected = clfrnn.search(edges, RADIUS, session=session, **FULL)
    given = {"sessions": pair_of(session), "parts": 5}
    assert_same(parts.join(parts.search(Refilled(edges), RADIUS, **given, **FULL)), expected)


def test_an_array_of_hdf5(session, edges, tmp_path):
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    with h5py.File(tmp_path / "cloud.h5", "w") as file:
        cloud = file.create_dataset("points", data=edges, chunks=(64, 3))
        found = parts.join(parts.search(cloud, RADIUS, sessions=[session], parts=3, **FULL))
    assert_same(found, clfrnn.search(edges, RADIUS, session=session, **FULL))


@pytest.mark.parametrize("sort", [None, "index"])
def test_no_part_exceeds_the_byte_budget(session, sort):
    """The largest number of bytes that the memory of the session ever held, of points, indices and lists."""
    fresh = own_session(session)
    points = clouds.uniform(90_000, 3, seed=1)
    budget = 6 << 20
    held = [0]

    def looked(owner, size, _):
        held.append(owner._pool.managed_bytes + size if owner is fresh else 0)

    with before_allocations(looked):
        lists = list(parts.search(points, 0.03, sessions=[fresh], max_bytes=budget, sort=sort))
    assert len(lists) > 4
    assert 0 < max(held) <= budget
    counts = np.zeros(len(points), np.int32)
    for each in lists:
        counts[each.query_ids] = each.counts
    assert np.array_equal(counts, clfrnn.build_index(points, 0.03, session=session).count(to_host=True))


def test_a_radius_that_no_number_of_parts_fits(session):
    with pytest.raises(clfrnn.DeviceMemoryError, match="max_bytes") as caught:
        list(parts.search(clouds.uniform(5000, 2, seed=1), 2.0, sessions=[session], max_bytes=1 << 16))
    assert caught.value.needed > caught.value.available > 0


def test_lists_go_to_a_folder(session, torus, tmp_path):
    points, asked = torus, {"sessions": [session], "parts": 3, **FULL, **BOX}
    expected = clfrnn.search(points, RADIUS, session=session, **FULL, **BOX)
    assert parts.write_lists(parts.search(points, RADIUS, **asked), tmp_path / "lists") == 3
    assert_same(parts.join(parts.read_lists(tmp_path / "lists")), expected)
    with pytest.raises(clfrnn.InvalidInputError, match="folder: expected a folder without lists"):
        parts.write_lists([], tmp_path / "lists")

    def interrupted():
        yield from list(parts.search(points, RADIUS, **asked))[:2]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        parts.write_lists(interrupted(), tmp_path / "half")
    with pytest.raises(clfrnn.InvalidInputError, match="interrupted"):
        list(parts.read_lists(tmp_path / "half"))


def test_a_list_is_in_the_numbering_of_the_whole(session, edges):
    expected = clfrnn.search(edges, RADIUS, session=session, sort="index")
    whole = {tuple(pair) for pair in zip(*expected.to_coo(), strict=True)}
    found = []
    for each in parts.search(edges, RADIUS, sessions=[session], parts=3, sort="index"):
        assert isinstance(each, clfrnn.NeighborList)
        assert each.num_points == len(edges)
        assert "queries" in repr(each)
        again = pickle.loads(pickle.dumps(each))
        assert np.array_equal(again.query_ids, each.query_ids)
        assert np.array_equal(again[0], each[0])
        found += zip(*each.to_coo(), strict=True)
    assert len(found) == len(whole) == expected.num_pairs
    assert set(found) == whole


def test_small_and_empty_clouds(session):
    for many in (0, 1, 3):
        points = np.zeros((many, 2), np.float32)
        given = {"sessions": [session], "parts": 5}
        assert len(parts.join(parts.search(points, 0.5, **given))) == many
        assert parts.count(points, 0.5, **given).tolist() == [max(many - 1, 0)] * many
        assert parts.nearest(points, 2, **given).indices.shape == (many, 2)
        assert parts.friends_of_friends(points, 0.5, **given).num_clusters == min(many, 1)
        assert parts.dbscan(points, 0.5, 2, **given).num_clusters == (many > 1)


def test_threads_end_where_the_caller_stops(session, edges):
    before = threading.active_count()
    lists = parts.search(edges, RADIUS, sessions=pair_of(session), parts=9)
    next(lists)
    lists.close()
    assert threading.active_count() == before


def test_an_error_in_a_part_is_raised(session, edges):
    def refused(owner, size, purpose):
        if "list" in purpose or "index" in purpose or size > 100:
            raise clfrnn.DeviceMemoryError("no more")

    with before_allocations(refused), pytest.raises(clfrnn.DeviceMemoryError, match="no more"):
        parts.count(edges, RADIUS, sessions=[session], parts=4)
    assert parts.count(edges, RADIUS, sessions=[session], parts=4).sum() > 0


@pytest.mark.parametrize(
    ("change", "argument"),
    [
        ({"radius": -1.0}, "radius"),
        ({"radius": [1.0, 2.0]}, "radius"),
        ({"points": np.float32([[0.0, np.nan]])}, "points"),
        ({"queries": np.float32([[0.0, np.inf]])}, "queries"),
        ({"queries": np.zeros((2, 3), np.float32)}, "queries"),
        ({"parts": 0}, "parts"),
        ({"max_bytes": 1.5}, "max_bytes"),
        ({"sessions": []}, "sessions"),
        ({"sessions": "pocl"}, "sessions"),
        ({"box": (1.0,)}, "box"),
        ({"method": "octree"}, "method"),
        ({"sort": "id"}, "sort"),
        ({"half": True, "radius": [0.5, 0.1, 0.2, 0.3], "parts": 3}, "half"),
        ({"half": True, "queries": np.zeros((2, 2), np.float32)}, "half"),
        ({"where": clfrnn.Condition("i < j")}, "where"),
        ({"batch": [0, 1]}, "batch"),
        ({"session": clfrnn.default_session}, "session"),
    ],
)
def test_bad_arguments_are_named_at_once(change, argument):
    given = {"points": np.zeros((4, 2), np.float32), "radius": 0.5, **change}
    with pytest.raises(clfrnn.InvalidInputError) as caught:
        parts.search(given.pop("points"), given.pop("radius"), **given)
    assert caught.value.argument == argument
    assert ";" in str(caught.value)


def test_bad_arguments_of_the_others_are_named():
    points = np.zeros((4, 2), np.float32)
    for call, argument in (
        (lambda: parts.nearest(points, 0), "k"),
        (lambda: parts.friends_of_friends(points, np.nan), "linking_length"),
        (lambda: parts.friends_of_friends(points, 1e200), "linking_length"),
        (lambda: parts.friends_of_friends(points, 1.0, min_members=0), "min_members"),
        (lambda: parts.dbscan(points, -1.0, 3), "eps"),
        (lambda: parts.dbscan(points, 1.0, 0), "min_samples"),
    ):
        with pytest.raises(clfrnn.InvalidInputError) as caught:
            call()
        assert caught.value.argument == argument
    with pytest.raises(clfrnn.InvalidInputError, match="on one device") as caught:
        parts.dbscan(points, 1.0, 3, sample_weight=[1.0] * 4)
    assert caught.value.argument == "sample_weight"
    with pytest.raises(TypeError, match="did you mean 'distances'"):
        parts.search(points, 1.0, distance=True)
