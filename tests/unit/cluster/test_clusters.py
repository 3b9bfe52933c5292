"""Clusters on every device and in every method, against numpy and scipy, and against scikit-learn where it is there."""

import pickle

import numpy as np
import pyopencl.array as cla
import pytest
from cluster_reference import assert_clusters, in_order, twin
from conftest import POINTS, as_gpu, launched, takes_long_as_gpu, tuned
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree

import clfrnn
from clfrnn import clouds, reference
from clfrnn.answers.linking import search
from clfrnn.cluster import Clusters, dbscan, friends_of_friends
from clfrnn.methods import METHODS

SIZE = min(POINTS, 500)


def check_both(points, distance, min_samples, *, session, options, **domain):
    """Both searches against the twin; they find something that is worth a test."""
    found = dbscan(points, distance, min_samples, session=session, **options, **domain)
    expected = twin(points, distance, min_samples, **domain)
    assert_clusters(found, expected)
    found = friends_of_friends(points, distance, session=session, **options, **domain)
    assert_clusters(found, twin(points, distance, 1, **domain))
    return expected


# --- every method -----------------------------------------------------------------------------------------------------


@pytest.mark.core
def test_every_method(session, way, dim):
    method, options = way
    points = clouds.duplicates(SIZE, dim, seed=1)
    spacing = SIZE ** (-1 / dim)
    labels, core = check_both(points, 0.6 * spacing, 4, session=session, options={"method": method, **options})
    assert labels.max() > 1
    assert 0 < core.sum() < SIZE


@pytest.mark.core
@pytest.mark.parametrize("domain", ["box", "slab", "cell"])
def test_every_method_in_periodic_domains(session, way, domain):
    method, options = way
    points = clouds.uniform(SIZE, 2, seed=5)
    given = {
        "box": {"box": (1.0, 1.0)},
        "slab": {"box": (1.0, 1.0), "periodic": (False, True)},
        "cell": {"cell": ((1.0, 0.0), (0.6, 0.8))},
    }[domain]
    distance = 0.65 * SIZE**-0.5
    labels, _ = check_both(points, distance, 3, session=session, options={"method": method, **options}, **given)
    assert labels.max() > 1
    assert not np.array_equal(labels, twin(points, distance, 3)[0])


@pytest.mark.long
@pytest.mark.parametrize("dim", [1, 4, 5, 9, 12])
@pytest.mark.parametrize("method", ["aabb_tree", "brute_force"])
def test_other_dimensions(session, method, dim):
    n = min(SIZE, 200)
    points = clouds.uniform(n, dim, seed=3)
    eps = float(np.sort(KDTree(points).query(points, 4)[0][:, 3])[n // 2])  # half of them have three neighbors
    labels, _ = check_both(points, eps, 3, session=session, options={"method": method})
    assert labels.max() >= 0


@pytest.mark.long
@pytest.mark.oclgrind_expected  # a GPU reads links while others change them, see clfrnn/answers/linking/unions.py
@pytest.mark.parametrize("method", ["strips", "fenns", "aabb_tree"])
def test_as_on_a_gpu(session, method):
    if takes_long_as_gpu(session, method):
        pytest.skip("this driver takes long for a kernel in the arrangement for a GPU")
    points = clouds.duplicates(SIZE, 3, seed=4)
    check_both(points, 0.6 * SIZE ** (-1 / 3), 4, session=as_gpu(session), options={"method": method})
    check_both(points, 0.6 * SIZE ** (-1 / 3), 4, session=as_gpu(session), options={"method": method}, box=(1, 1, 1))


def test_float64(session, dtype):
    """A line at exactly eps, whose steps are no sums of halves: float32 and float64 each have their own result."""
    points = (np.arange(300, dtype=dtype) * dtype.type(0.1)).reshape(-1, 1)
    for eps in (0.1, np.nextafter(dtype.type(0.1), dtype.type(0))):
        expected = check_both(points, eps, 3, session=session, options={})
        assert expected[0].max() > 0


# --- shapes of trees --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["ascending", "descending", "shuffled", "halves"])
@pytest.mark.parametrize("method", ["strips", "aabb_tree"])
def test_a_long_chain(session, method, order):
    """One cluster whose trees grow deep, with a gap that halves it."""
    n = 10_000 if POINTS >= 1000 else 100
    places = {
        "ascending": np.arange(n),
        "descending": np.arange(n)[::-1],
        "shuffled": np.random.default_rng(0).permutation(n),
        "halves": np.arange(n) + (np.arange(n) >= n // 2),
    }[order]
    points = np.stack([places, np.zeros(n)], axis=1).astype(np.float32)
    found = friends_of_friends(points, 1.0, method=method, session=session)
    assert found.num_clusters == 1 + (order == "halves")
    assert np.array_equal(found.labels.get(), (places > n // 2).astype(int) if order == "halves" else np.zeros(n))
    found = dbscan(points, 1.0, 3, method=method, session=session)
    ends = 2 * found.num_clusters
    assert found.core.get().sum() == n - ends
    assert found.labels.get().min() == 0


@pytest.mark.parametrize("n", [0, 1, 2])
def test_hardly_any_points(session, way, n):
    method, options = way
    points = np.zeros((n, 2), np.float32)
    for min_samples in (1, 2, 3):
        found = dbscan(points, 0.5, min_samples, method=method, session=session, **options)
        assert_clusters(found, twin(points, 0.5, min_samples))
    found = friends_of_friends(points, 0.0, min_members=2, method=method, session=session, **options)
    assert found.labels.get().tolist() == [[], [-1], [0, 0]][n]


def test_all_points_at_one_place(session):
    points = np.ones((SIZE, 3), np.float32)
    for eps in (0.0, 0.1):
        assert friends_of_friends(points, eps, session=session).sizes.get().tolist() == [SIZE]
        assert dbscan(points, eps, SIZE, session=session).sizes.get().tolist() == [SIZE]
        assert dbscan(points, eps, SIZE + 1, session=session).num_clusters == 0


def test_a_border_point_between_clusters(session):
    """It goes to the cluster of the lowest number, not to the one of the nearest or the lowest core point."""
    places = np.array([9, 4.9, 6, 6.3, 6.4, 6.5, 3.8, 3.5, 3.4, 3.3], np.float32)
    for order in (np.arange(10), np.arange(10)[::-1], np.r_[6, 1, 2:6, 7:10, 0]):
        points = places[order].reshape(-1, 1)
        found = dbscan(points, 1.15, 4, session=session)
        assert_clusters(found, twin(points, 1.15, 4))
        assert found.num_clusters == 2
        assert found.labels.get()[places[order] == places[1]] == 0


def test_many_points_are_linked_by_many_items_at_once(session):
    """The same labels in every run, however items race."""
    points = clouds.uniform(20 * SIZE, 3, seed=5)
    distance = 0.9 * (20 * SIZE) ** (-1 / 3)
    first = friends_of_friends(points, distance, session=session).labels.get()
    for _ in range(3):
        assert np.array_equal(friends_of_friends(points, distance, session=session).labels.get(), first)
    pairs = KDTree(points.astype(float)).query_pairs(float(np.float32(distance)), output_type="ndarray")
    graph = coo_array((np.ones(len(pairs)), pairs.T.astype(np.int32)), shape=(len(points),) * 2)
    assert first.max() + 1 == connected_components(graph)[0]


# --- other libraries --------------------------------------------------------------------------------------------------


def test_scipys_connected_components(session):
    for boxsize, domain in ((None, {}), (1.0, {"box": (1.0, 1.0, 1.0)})):
        points = np.random.default_rng(6).random((SIZE, 3))
        if not session.profile.fp64:
            points = points.astype(np.float32)
        tree = KDTree(points, boxsize=boxsize)
        near = tree.sparse_distance_matrix(tree, 0.1, output_type="coo_matrix")
        many, part = connected_components(near)
        found = friends_of_friends(points, 0.1, session=session, **domain)
        assert found.num_clusters == many
        assert np.array_equal(found.labels.get(), in_order(part, np.ones(SIZE, bool)))


def principal(points, dim):
    """The coordinates along the axes on which points vary most."""
    centered = points - points.mean(axis=0)
    return np.ascontiguousarray(centered @ np.linalg.svd(centered, full_matrices=False)[2][:dim].T)


def terrain():
    """Heights of a map that comes with matplotlib, five times as high; some pairs are at eps exactly."""
    data = pytest.importorskip("matplotlib.cbook", reason="matplotlib has a map of heights")
    heights = data.get_sample_data("jacksboro_fault_dem.npz")["elevation"][100:140, 100:140]
    return np.stack([*90.0 * np.indices(heights.shape), 5.0 * heights], axis=-1).reshape(-1, 3)


def sklearn_cases():
    """Name, points in float64, eps, min_samples."""
    datasets = pytest.importorskip("sklearn.datasets", reason="scikit-learn has the labels")
    yield "moons", datasets.make_moons(SIZE, noise=0.08, random_state=0)[0], 0.12, 5
    yield "blobs", datasets.make_blobs(SIZE, centers=5, cluster_std=0.6, random_state=1)[0], 0.4, 6
    yield "iris", datasets.load_iris().data, 0.5, 5
    yield "wine", datasets.load_wine().data[:, :8], 20.0, 5
    yield "noise", np.random.default_rng(7).random((SIZE, 2)), 0.8 * SIZE**-0.5, 4
    yield "duplicates", clouds.duplicates(SIZE, 2, dtype=np.float64, seed=8), 0.5 * SIZE**-0.5, 5
    yield "a line at exactly eps", np.arange(200.0).reshape(-1, 1) * 0.25, 0.25, 3


def more_real_cases():
    """The same of real data that packages bring along, beside those of irises and wines."""
    datasets = pytest.importorskip("sklearn.datasets", reason="scikit-learn has the labels")
    yield "diabetes", datasets.load_diabetes(scaled=False).data[:, :8], 14.0, 5
    digits, cancer = datasets.load_digits().data, datasets.load_breast_cancer().data
    yield "digits", principal(digits[:900], 8), 10.0, 5
    yield "breast cancer", principal((cancer - cancer.mean(axis=0)) / cancer.std(axis=0), 3), 0.8, 5
    yield "a terrain", terrain(), 150.0, 4


def check_scikit_learns_labels(session, cases):
    """Labels and core points are to the last one those of scikit-learn."""
    if not session.profile.fp64:
        pytest.skip("scikit-learn computes in float64")
    cluster = pytest.importorskip("sklearn.cluster", reason="scikit-learn has the labels")
    for name, points, eps, min_samples in cases:
        theirs = cluster.DBSCAN(eps=eps, min_samples=min_samples).fit(points)
        found = dbscan(points, eps, min_samples, session=session).to_host()
        assert np.array_equal(found.labels, theirs.labels_), name
        assert np.array_equal(np.flatnonzero(found.core), theirs.core_sample_indices_), name
        assert found.num_clusters > 0, name


@pytest.mark.optimized
def test_scikit_learns_labels(session):
    check_scikit_learns_labels(session, sklearn_cases())


def test_scikit_learns_labels_of_more_real_data(session):
    check_scikit_learns_labels(session, more_real_cases())


# --- arguments --------------------------------------------------------------------------------------------------------


def test_small_groups_get_no_label(session):
    points = clouds.uniform(SIZE, 2, seed=9)
    for members in (1, 2, 5, SIZE + 1, 2**40):
        found = friends_of_friends(points, 0.5 * SIZE**-0.5, min_members=members, session=session)
        assert_clusters(found, twin(points, 0.5 * SIZE**-0.5, 1, min_members=members))


def test_a_condition_on_pairs(session):
    points, kind = clouds.uniform(SIZE, 2, seed=10), np.arange(SIZE) % 3
    where = clfrnn.Condition("kind[i] == kind[j]", kind=kind.astype(np.int32))
    distance = SIZE**-0.5

    def same(i, j, *_, **__):
        return kind[i] == kind[j]

    found = dbscan(points, distance, 3, where=where, session=session)
    assert_clusters(found, twin(points, distance, 3, where=same))
    found = friends_of_friends(points, distance, where=where, session=session)
    assert_clusters(found, twin(points, distance, 1, where=same))


def test_points_on_the_device(session):
    points = clouds.uniform(SIZE, 3, seed=11)
    found = friends_of_friends(cla.to_device(session.queue, points), 0.1)
    assert found.labels.queue == session.queue
    assert_clusters(found, twin(points, 0.1, 1))
    points[7] = np.nan
    with pytest.raises(clfrnn.InvalidInputError, match="points: expected finite numbers, got NaN or inf in row 7"):
        dbscan(cla.to_device(session.queue, points), 0.1, 3)


@pytest.mark.parametrize(
    ("call", "given", "message"),
    [
        (dbscan, {"eps": -1.0, "min_samples": 3}, "eps: expected a finite number of at least 0"),
        (dbscan, {"eps": np.nan, "min_samples": 3}, "eps: expected a finite number"),
        (dbscan, {"eps": [0.1, 0.2], "min_samples": 3}, "eps: expected a number, got "),
        (dbscan, {"eps": "far", "min_samples": 3}, "eps: expected a number, got 'far'"),
        (dbscan, {"eps": 0.1, "min_samples": 0}, "min_samples: expected a whole number of at least 1, got 0; pass"),
        (dbscan, {"eps": 0.1, "min_samples": 2.5}, "min_samples: expected a whole number of at least 1, got 2.5"),
        (dbscan, {"eps": 0.1, "min_samples": True}, "min_samples: expected a whole number of at least 1, got True"),
        (friends_of_friends, {"linking_length": -0.5}, "linking_length: expected a finite number of at least 0"),
        (friends_of_friends, {"linking_length": 1, "min_members": 0}, "min_members: expected a whole number of at"),
        (friends_of_friends, {"linking_length": 1, "method": "magic"}, "method: expected 'auto' or one of"),
        (friends_of_friends, {"linking_length": 1, "where": "i < j"}, "where: expected a clfrnn.Condition, got str"),
        (friends_of_friends, {"linking_length": 1, "box": (1, 0)}, "box: "),
    ],
)
def test_bad_arguments(session, call, given, message):
    with pytest.raises(clfrnn.InvalidInputError) as caught:
        call([[0.0, 0.0], [1.0, 0.0]], session=session, **given)
    assert str(caught.value).startswith(message)


def test_options_are_those_of_the_method(session):
    assert friends_of_friends([[0.0, 0.0]], 1.0, method="strips", bin_width=0.5, session=session).num_clusters == 1
    with pytest.raises(TypeError, match="unexpected option 'bin_width'"):
        dbscan([[0.0, 0.0]], 1.0, 2, method="brute_force", bin_width=0.5, session=session)


# --- the result -------------------------------------------------------------------------------------------------------


def test_the_result(session):
    found = clfrnn.cluster.friends_of_friends([[0.0], [1.0], [5.0]], 1.0, session=session)
    assert repr(found) == "<Clusters: 2 of 3 points, on the device>"
    assert np.asarray(found.labels).tolist() == [0, 0, 1]
    assert np.asarray(found.core).tolist() == [True, True, True]
    assert found.sizes is found.sizes
    with pytest.raises(TypeError, match="cannot be pickled; pickle their to_host"):
        pickle.dumps(found)
    host = found.to_host()
    assert host.to_host() is host
    assert isinstance(host, Clusters)
    again = pickle.loads(pickle.dumps(host))
    assert repr(again) == "<Clusters: 2 of 3 points, in host memory>"
    assert again.labels.tolist() == [0, 0, 1]
    assert again.sizes.tolist() == [2, 1]


@pytest.mark.parametrize(("crowded", "most"), [(False, 20), (True, 20)], ids=["even", "crowded"])
@pytest.mark.parametrize("min_samples", [1, 4])
def test_memory_beside_the_index(session, monkeypatch, min_samples, crowded, most):
    """At most 16 bytes a point at any time, 20 where points crowd."""
    n, peak, before = 40_000, [0], []
    points = clouds.uniform(n, 2, seed=12)
    if crowded:
        points[: n // 2] = points[0]
    build, take = search.build, clfrnn.Session.scratch

    def built(*given, **named):
        structure = build(*given, **named)
        before.append(session._pool.active_bytes)
        peak[0] = 0
        return structure

    def noted(self, *given, **named):
        buffer = take(self, *given, **named)
        peak[0] = max(peak[0], session._pool.active_bytes)
        return buffer

    monkeypatch.setattr(search, "build", built)
    dbscan(points, 0.01, min_samples, session=session)  # what sessions hold on to is made
    monkeypatch.setattr(clfrnn.Session, "scratch", noted)
    found = dbscan(points, 0.01, min_samples, session=session)
    assert found.num_clusters > 0
    assert 5 * n <= peak[0] - before[-1] <= most * n


@pytest.mark.parametrize("method", sorted(METHODS))
@pytest.mark.parametrize("domain", ["open", "boxes"])
def test_batches(session, method, domain):
    """Clusters are of one system each, as if each were searched alone; they are numbered across all systems."""
    draw = np.random.default_rng(5)
    batch = draw.integers(0, 4, 200)
    lengths = draw.uniform(1, 2, (4, 3))
    points = (draw.random((200, 3)) * lengths[batch]).astype(np.float32)
    boxes = {} if domain == "open" else {"box": lengths}
    known = {"method": method, "session": session, "batch": batch, **boxes}
    friends, dense = friends_of_friends(points, 0.25, **known).to_host(), dbscan(points, 0.3, 4, **known).to_host()
    for system in range(4):
        own = batch == system
        alone = {"method": "brute_force", "session": session, **({} if not boxes else {"box": lengths[system]})}
        for found, single in (
            (friends, friends_of_friends(points[own], 0.25, **alone)),
            (dense, dbscan(points[own], 0.3, 4, **alone)),
        ):
            labels, theirs = found.labels[own], single.to_host().labels
            assert np.array_equal(labels < 0, theirs < 0)
            assert len(np.unique(np.stack([labels, theirs]), axis=1).T) == len(np.unique(theirs))
            assert np.array_equal(found.core[own], single.to_host().core)
    assert friends.num_clusters == len(np.unique(friends.labels[friends.labels >= 0]))


# --- points of one place ---------------------------------------------------------------------------------------------


@pytest.mark.core
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("domain", ["cell", "systems", "4d", "box and systems"])
def test_one_point_of_each_place_stands_for_all(session, method, domain):
    """Where cliques do not serve; points of one place lie anywhere among all, and count as many as they are."""
    rng = np.random.default_rng(8)
    dim = 4 if domain == "4d" else 2
    if dim not in METHODS[method].dims:
        pytest.skip(f"{method} does not serve {dim} dimensions")
    points = clouds.uniform(SIZE, dim, seed=12)
    points[: SIZE // 2] = points[-1 - rng.integers(0, SIZE // 8, SIZE // 2) ** 2 % (SIZE // 8)]
    points = rng.permutation(points)
    given = {"cell": {"cell": ((1.0, 0.0), (0.4, 1.0))}, "4d": {}}.get(domain, {"batch": rng.integers(3, 6, SIZE)})
    given |= {"box": (1.0, 1.0)} if domain == "box and systems" else {}
    eager = tuned(session, linking={"coincident": 0.0})
    for distance in (0.6 * SIZE ** (-1 / dim), 1e-6):
        names, _ = launched(
            session,
            lambda distance=distance: check_both(
                points, distance, 3, session=eager, options={"method": method}, **given
            ),
        )
        assert "spread_links" in names
        found = friends_of_friends(points, distance, min_members=3, method=method, session=eager, **given)
        assert_clusters(found, twin(points, distance, 1, min_members=3, **given))
    weights = rng.integers(0, 3, SIZE)
    found = dbscan(points, 1e-6, 3, sample_weight=weights, method=method, session=eager, **given)
    assert_clusters(found, twin(points, 1e-6, 3, weights=weights, **given))


# --- weights ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("least", [1, 4])
@pytest.mark.parametrize("domain", [{}, {"box": (1.0, 1.0)}], ids=["open", "box"])
@pytest.mark.parametrize("low", [0, -2])
def test_points_that_count_by_weights(session, dtype, least, domain, low):
    points = clouds.duplicates(SIZE, 2, seed=6).astype(dtype)
    weights = np.random.default_rng(7).integers(low, 4, SIZE) / 2
    eps = 0.6 * SIZE**-0.5
    for given in (weights, weights.tolist(), cla.to_device(session.queue, weights.astype(np.float32))):
        found = dbscan(points, eps, least, sample_weight=given, session=session, **domain)
        assert_clusters(found, twin(points, eps, least, weights=weights, **domain))
    assert_clusters(dbscan(points, eps, least, sample_weight=1, session=session), twin(points, eps, least))


def test_weights_at_the_threshold(session, dtype):
    """Ten tenths are one, and what float32 does not hold is not lost."""
    points = np.zeros((10, 2), dtype)
    assert dbscan(points, 1.0, 1, sample_weight=0.1, session=session).core.get().all()
    assert not dbscan(points, 1.0, 1, sample_weight=np.nextafter(0.1, 0) - 1e-12, session=session).core.get().any()
    for more in (0, 1):
        weights = [2.0**24, 1.0, -(2.0**24), more, 0, 0, 0, 0, 0, 0]
        assert dbscan(points, 1.0, 2, sample_weight=weights, session=session).core.get().all() == bool(more)
    assert dbscan(points, 1.0, 2**24 + 1, sample_weight=[2**24 + 1] + [0] * 9, session=session).core.get().all()
    assert not dbscan(points, 1.0, 1, sample_weight=[0] * 10, session=session).core.get().any()
    for n, weight, least in ((5, 0.2, 1), (20, 0.05, 1), (3, 1 / 3, 1), (10, 0.7, 7)):
        equal = np.full(n, weight)
        assert dbscan(points[:1].repeat(n, 0), 1.0, least, sample_weight=equal, session=session).core.get().all()
        equal[0] -= 1e-12
        assert not dbscan(points[:1].repeat(n, 0), 1.0, least, sample_weight=equal, session=session).core.get().any()
    for scale in (2.0**-900, 2.0**900):  # far from min_samples, the others cancel
        weights = np.array([scale, -scale, 3.0, *[0] * 7])
        assert dbscan(points, 1.0, 3, sample_weight=weights, session=session).core.get().all() == (scale < 1)
    chosen = np.arange(10) < 4
    for least in (4, 5):
        assert dbscan(points, 1.0, least, sample_weight=chosen, session=session).core.get().all() == (least == 4)


@pytest.mark.parametrize(
    "weights", [[1.0], [1, 2, 3, 4], [[1], [1], [1]], "abc", [1, 2, "3"], [1.0, np.nan, 1.0], np.inf]
)
def test_weights_that_are_refused(weights):
    with pytest.raises(clfrnn.InvalidInputError, match="^sample_weight: expected"):
        dbscan(np.zeros((3, 2), np.float32), 1.0, 2, sample_weight=weights)


def test_weights_of_many_images_add_up(session):
    """A point may see itself thousands of times: sums of weights hold all of these."""
    points = np.array([[0.125, 0.0625, 0.5], [0.125, 0.0625, 0.5]], np.float32)
    box, eager = {"box": (0.25, 0.25, 0.125)}, tuned(session, linking={"coincident": 0.0})
    total = int(reference.neighbors(points, 1.5, **box).offsets[1]) + 1
    for weights in (None, np.array([1.0, 1.0])):
        for least, core in (*((few, True) for few in range(1, 512, 37)), (total, True), (total + 1, False)):
            found = dbscan(points, 1.5, least, sample_weight=weights, session=eager, **box)
            assert found.core.get().tolist() == [core] * 2, (weights, least)
