"""The face of scipy.spatial finds what scipy finds: beside scipy, in open space and in boxes, in every dimension."""

import pickle

import numpy as np
import pytest

import clfrnn
from clfrnn.interop.scipy import KDTree, cKDTree

spatial = pytest.importorskip("scipy.spatial")
sparse = pytest.importorskip("scipy.sparse")

#: The lengths of boxes by their kind; None for open space.
BOXES = {"open": None, "torus": 1.0, "mixed": "mixed"}


@pytest.fixture(params=[1, 3, 12])
def m(request):
    return request.param


@pytest.fixture(params=sorted(BOXES))
def boxsize(request, m):
    given = BOXES[request.param]
    return np.where(np.arange(m) % 2, 0.0, 1.0 + np.arange(m)) if given == "mixed" else given


@pytest.fixture
def both(session, m, boxsize):
    """Two pairs of trees, theirs and ours, and queries that need not lie in the box."""
    if not session.profile.fp64:
        pytest.skip("scipy computes in float64")
    if m == 12 and boxsize is not None:
        pytest.skip("images of twelve repeating axes are too many to go through")
    rng = np.random.default_rng(m)
    clouds = rng.random((2, 60, m))
    clouds[1, 10] = clouds[1, 11]
    theirs = [spatial.KDTree(cloud, boxsize=boxsize) for cloud in clouds]
    ours = [KDTree(cloud, boxsize=boxsize, session=session) for cloud in clouds]
    return theirs, ours, np.concatenate([3 * rng.random((40, m)) - 1, clouds[0][:3]])


def radii_for(m):
    """A few neighbors; more than half of a box; all points."""
    return [0.15 * m**0.5, 0.7 * m**0.5, 1000.0]


def assert_lists(found, expected):
    assert [sorted(row) for row in found] == [sorted(row) for row in expected]


def test_balls(both, m):
    theirs, ours, queries = both
    for r in radii_for(m):
        found = ours[0].query_ball_point(queries, r)
        expected = theirs[0].query_ball_point(queries, r)
        assert list(found) == list(expected), "sorted as scipy's"
        assert sum(map(len, found))
        lengths = ours[0].query_ball_point(queries, r, return_length=True)
        assert np.array_equal(lengths, theirs[0].query_ball_point(queries, r, return_length=True))
        own = ours[0].query_ball_point(ours[0].data, r)
        assert list(own) == list(theirs[0].query_ball_point(theirs[0].data, r)), "a point finds itself, once"
        assert ours[0].query_pairs(r) == theirs[0].query_pairs(r)
        assert_lists(ours[0].query_ball_tree(ours[1], r), theirs[0].query_ball_tree(theirs[1], r))
        expected = theirs[0].sparse_distance_matrix(theirs[1], r)
        pairs = ours[0].sparse_distance_matrix(ours[1], r, output_type="dict")
        assert pairs == pytest.approx(dict(expected.items()), rel=1e-14)
        for kind in ("dok_matrix", "coo_matrix", "dok_array", "coo_array"):
            matrix = ours[0].sparse_distance_matrix(ours[1], r, output_type=kind)
            assert type(matrix) is getattr(sparse, kind)
            assert (matrix.shape, matrix.nnz) == (expected.shape, expected.nnz)
            assert abs(matrix.tocsr() - expected.tocsr()).max() < 1e-14
    each = np.linspace(0, radii_for(m)[1], len(queries))
    assert list(ours[0].query_ball_point(queries, each)) == list(theirs[0].query_ball_point(queries, each))


def test_attributes_are_read_only():
    points = np.random.default_rng(2).random((50, 3))
    tree = KDTree(points, boxsize=1)
    assert tree.data is points
    for name in ("n", "m", "leafsize"):
        assert type(getattr(tree, name)) is int
    for name in ("n", "m", "leafsize", "data", "boxsize"):
        with pytest.raises(AttributeError):
            setattr(tree, name, 3)
    for name in ("boxsize", "maxes", "mins"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(tree, name)[0] = 0.5


def test_nearest(both, m):
    theirs, ours, queries = both
    for asked in (
        {"k": 1},
        {"k": 5},
        {"k": [2, 7]},
        {"k": 70},
        {"k": 4, "distance_upper_bound": radii_for(m)[0]},
        {"k": 4, "distance_upper_bound": 5.0},
    ):
        for _ in range(2):  # by a search without a radius, and by the index that follows it
            (far, found), (their_far, theirs_found) = (trees[0].query(queries, **asked) for trees in (ours, theirs))
            np.testing.assert_allclose(far, their_far, rtol=1e-14)
            assert found.dtype == theirs_found.dtype == np.intp
            assert found.shape == theirs_found.shape
            assert np.array_equal(found, theirs_found)


def test_counts(both, m):
    theirs, ours, _ = both
    radii = np.array([0.0, *radii_for(m), radii_for(m)[0], np.inf])
    weights = np.linspace(0.5, 2.0, 60)
    assert np.array_equal(ours[0].count_neighbors(ours[1], radii), theirs[0].count_neighbors(theirs[1], radii))
    for pair in ((0, 1), (0, 0)):
        for given in ((weights, None), (None, weights), (weights, weights[::-1])):
            found, expected = (
                trees[pair[0]].count_neighbors(trees[pair[1]], np.sort(radii), weights=given, cumulative=False)
                for trees in (ours, theirs)
            )
            np.testing.assert_allclose(found, expected, rtol=1e-12)


def kinds_of(found):
    """What callers see of a result beside its numbers: types, dtypes and shapes."""
    if isinstance(found, tuple):
        return [kinds_of(each) for each in found]
    if isinstance(found, np.ndarray):
        return found.dtype, found.shape, [kinds_of(each) for each in found.ravel()] if found.dtype == object else None
    return type(found), len(found) if isinstance(found, (list, dict, set)) else None


@pytest.mark.parametrize("queries", [0, 1, 5, (), (2, 3), (0, 2)])
def test_types_are_scipys(session, queries):
    if not session.profile.fp64:
        pytest.skip("scipy computes in float64")
    rng = np.random.default_rng(6)
    points, rows = rng.random((30, 3)), rng.random((*np.atleast_1d(np.array(queries, int)), 3))
    weights = np.arange(30.0)
    for asked in (
        *[lambda tree, k=k: tree.query(rows, k) for k in (1, 1.0, 3, 40, [2], (1.0, 4), np.array([2, 3]), range(1, 3))],
        *[
            lambda tree, r=r: tree.query_ball_point(rows, r)
            for r in (0.5, np.full(rows.shape[:-1], 0.5), np.float32(0.5))
        ],
        lambda tree: tree.query_ball_point(rows, 0.5, return_length=True),
        *[lambda tree, r=r: tree.count_neighbors(tree, r) for r in (0.5, [0.5], [], [0.1, 0.5])],
        *[
            lambda tree, w=w: tree.count_neighbors(tree, 0.5, weights=w)
            for w in (weights, (None, weights), (None, None))
        ],
        *[
            lambda tree, kind=kind: tree.sparse_distance_matrix(tree, 0.1, output_type=kind)
            for kind in ("dict", "ndarray")
        ],
        *[lambda tree, kind=kind: tree.query_pairs(0.2, output_type=kind) for kind in ("set", "ndarray")],
    ):
        assert kinds_of(asked(KDTree(points, session=session))) == kinds_of(asked(spatial.KDTree(points)))


def test_lattices_have_neighbors_at_exactly_the_radius(session):
    points = np.stack(np.meshgrid(*[np.arange(6.0)] * 3), axis=-1).reshape(-1, 3)
    if not session.profile.fp64:
        pytest.skip("scipy computes in float64")
    for boxsize in (None, 6.0):
        ours = KDTree(points, boxsize=boxsize, session=session)
        theirs = spatial.KDTree(points, boxsize=boxsize)
        for r in (1.0, 2.0, 3.0):  # the last is half of the box
            assert ours.query_pairs(r) == theirs.query_pairs(r)
            assert ours.count_neighbors(ours, r) == theirs.count_neighbors(theirs, r)
        bounded = ours.query(points, k=27, distance_upper_bound=1.0)[0]
        assert (np.isfinite(bounded).sum(axis=1) == 1).all(), "the bound of nearest points is open"


def test_float32_is_searched_as_it_is(session):
    """By choice, or on a device without float64; pairs near the radius are then those of float32."""
    points = np.random.default_rng(3).random((300, 3), np.float32)
    radius = float(np.linalg.norm(points[0] - points[1]))
    tree = KDTree(points, dtype=np.float32, session=session)
    expected = clfrnn.reference.neighbors(points, radius, include_self=True)
    found = tree.query_ball_point(points, radius, return_length=True)

    assert np.array_equal(found, np.diff(expected.offsets))
    assert KDTree(points, session=session).data.dtype == (np.float64 if session.profile.fp64 else np.float32)
    assert tree.query(points, k=3)[0].dtype == np.float64


def test_one_index_serves_many_queries(session, calls_of, monkeypatch):
    from clfrnn.interop import searched_points

    points = np.random.default_rng(4).random((300, 3), np.float32)
    tree = KDTree(points, dtype=np.float32, session=session)
    built, asked = calls_of(searched_points, "build_index"), calls_of(searched_points, "nearest")
    for row in points[:5]:
        tree.query_ball_point(row, 0.7)  # whose float32 is below it
        tree.query(row, k=2)
    assert [len(built), len(asked)] == [2, 1], "one index for balls, and one for the nearest points"
    assert (
        tree.query(np.full(3, 9.0), k=2)[1].tolist() == spatial.KDTree(points).query(np.full(3, 9.0), k=2)[1].tolist()
    )
    assert len(asked) == 2, "a query that is farther away than those before"


def test_trees_are_pickled_and_copied(session):
    points = np.random.default_rng(5).random((50, 2), np.float32)
    tree = KDTree(points, copy_data=True, boxsize=[1, 0], dtype=np.float32, session=session)
    again = pickle.loads(pickle.dumps(tree))

    assert again.query_pairs(0.2) == tree.query_pairs(0.2)
    assert np.array_equal(again.boxsize, [1, 0])
    assert not np.shares_memory(tree.data, points)
    assert KDTree is cKDTree


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda tree: tree.query_ball_point([0, 0], 1, p=1), "p: expected 2"),
        (lambda tree: tree.query([0, 0], p=np.inf), "p: expected 2"),
        (lambda tree: tree.query([0, 0], k=0), "k: .*at least 1"),
        (lambda tree: tree.query([0, 0], k=None), "k must be an integer or"),
        (lambda tree: tree.query([0, 0], eps=-1), "eps: "),
        (lambda tree: tree.query([0, 0], k=1.5), "k must be an integer or"),
        (lambda tree: tree.query([0, 0], k=[1, 0]), "k must be an integer or"),
        (lambda tree: tree.query([0, 0], workers=0), "workers: "),
        (lambda tree: tree.query([0, 0], workers=-2), "workers: "),
        (lambda tree: tree.query([0, 0], distance_upper_bound=-1), "distance_upper_bound: .*at least 0"),
        (lambda tree: tree.query([0, 0, 0]), r"x: expected shape \(..., 2\)"),
        (lambda tree: tree.query([0, np.nan]), "x: .*must be finite"),
        (lambda tree: tree.query_ball_point([0, 0], -1), "r: .*at least 0"),
        (lambda tree: tree.query_ball_point([[0, 0]], ["a"]), "r: "),
        (lambda tree: tree.query_ball_point([[0, 0]] * 2, [1, 2, 3]), "r: .*fit queries"),
        (lambda tree: tree.query_ball_point([0, 0], [1, 2]), "r: .*fit queries"),
        (lambda tree: tree.query_pairs(1, output_type="list"), "output_type: "),
        (lambda tree: tree.query_pairs([1, 2]), "r: expected one number"),
        (lambda tree: tree.count_neighbors(tree, [[1]]), "r: .*flat"),
        (lambda tree: tree.count_neighbors(tree, [2, 1], cumulative=False), "r: .*do not decrease"),
        (lambda tree: tree.count_neighbors(tree, 1, weights=[1]), "weights: "),
        (lambda tree: tree.count_neighbors(tree, 1, weights=(None,)), "weights: "),
        (lambda tree: tree.count_neighbors(tree, 1, weights=(None, [1, np.inf])), "weights: .*finite"),
        (lambda tree: tree.count_neighbors(KDTree(tree.data), 1, weights=[1, 1]), "weights: "),
        (lambda tree: tree.query_ball_tree(spatial.KDTree(tree.data), 1), "other: "),
        (lambda tree: tree.query_ball_tree(KDTree([[0.0]]), 1), "other: "),
        (lambda _: KDTree([[0, 1j]]), "data: .*complex data"),
        (lambda _: KDTree([0, 1]), "data: expected shape"),
        (lambda _: KDTree([["a"]]), "data: expected numbers"),
        (lambda _: KDTree([[np.nan]]), "data: .*must be finite"),
        (lambda _: KDTree([[0.5]], boxsize=0.5), "data: .*boxsize"),
        (lambda _: KDTree([[0.5]], boxsize=-1), "boxsize: "),
        (lambda _: KDTree([[0.5]], leafsize=0), "leafsize: "),
        (lambda _: KDTree(np.zeros((3, 13))).query_pairs(1), "at most 12"),
    ],
)
def test_what_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call(KDTree([[0.0, 0.0], [1.0, 1.0]]))


@pytest.mark.parametrize(
    "call",
    [
        lambda tree: tree.query([0, 0], k="2"),
        lambda tree: tree.query([0, 0], distance_upper_bound=None),
        lambda tree: tree.query([0, 0], eps="a"),
        lambda tree: tree.query([0, 0], p=None),
        lambda tree: tree.query([0, 0], workers=1.5),
        lambda tree: tree.query_pairs([1, 2]),
        lambda _: KDTree([[0.0]], leafsize="a"),
    ],
)
def test_what_scipy_raises_a_type_error_for(call):
    for kind in (KDTree, spatial.KDTree):
        with pytest.raises(TypeError):
            call(kind([[0.0, 0.0], [1.0, 1.0]]))
