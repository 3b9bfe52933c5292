"""The face of scikit-learn gives what scikit-learn gives: beside it, and in pipelines that go on from its graphs."""

import itertools
import pickle

import numpy as np
import pytest
from conftest import needs_fp64

from clfrnn.interop import sklearn as ours

neighbors = pytest.importorskip("sklearn.neighbors")
InvalidParameterError = pytest.importorskip("sklearn.utils._param_validation").InvalidParameterError
cluster = pytest.importorskip("sklearn.cluster")

pytestmark = needs_fp64


@pytest.fixture
def points():
    rng = np.random.default_rng(0)
    found = np.concatenate([rng.normal(0, 0.2, (70, 3)), rng.normal(1, 0.2, (70, 3)), rng.random((60, 3))])
    found[20] = found[21]
    return found


def assert_graphs(found, expected):
    assert type(found) is type(expected)
    assert found.shape == expected.shape
    assert found.nnz == expected.nnz > found.shape[0]
    assert [each.dtype for each in (found.data, found.indices, found.indptr)] == [
        each.dtype for each in (expected.data, expected.indices, expected.indptr)
    ]
    np.testing.assert_allclose(found.toarray(), expected.toarray(), rtol=1e-12)


def test_balls(points):
    mine, theirs = (module.NearestNeighbors(radius=0.3).fit(points) for module in (ours, neighbors))
    for given in (None, points, points[::7] + 0.01):
        for radius in (None, 0.0, 0.5, np.inf):
            found = mine.radius_neighbors(given, radius, sort_results=True)
            expected = theirs.radius_neighbors(given, radius, sort_results=True)
            for mine_far, their_far in zip(found[0], expected[0], strict=True):
                np.testing.assert_allclose(mine_far, their_far, rtol=1e-12)
            for mine_row, their_row in zip(found[1], expected[1], strict=True):
                assert sorted(mine_row) == sorted(their_row)
                assert mine_row.dtype == their_row.dtype
            alone = mine.radius_neighbors(given, radius, return_distance=False)
            assert [sorted(row) for row in alone] == [sorted(row) for row in found[1]]
        for mode in ("connectivity", "distance"):
            assert_graphs(
                mine.radius_neighbors_graph(given, mode=mode, sort_results=True),
                theirs.radius_neighbors_graph(given, mode=mode, sort_results=True),
            )


def test_nearest(points):
    points[20] += 1e-3  # at one place, the order is open
    mine, theirs = (module.NearestNeighbors(n_neighbors=6).fit(points) for module in (ours, neighbors))
    for given in (None, points, points[::7] + 0.01, points[:3] + 50):
        for k in (None, 1, 150):
            for found, expected in zip(mine.kneighbors(given, k), theirs.kneighbors(given, k), strict=True):
                np.testing.assert_allclose(found, expected, rtol=1e-12)
        for mode in ("connectivity", "distance"):
            assert_graphs(mine.kneighbors_graph(given, mode=mode), theirs.kneighbors_graph(given, mode=mode))
    assert np.array_equal(mine.kneighbors(return_distance=False), mine.kneighbors()[1])


@pytest.mark.parametrize("mode", ["connectivity", "distance"])
@pytest.mark.parametrize("kind", ["RadiusNeighborsTransformer", "KNeighborsTransformer"])
def test_transformers(points, kind, mode):
    points[20] += 1e-3
    given = {"radius": 0.4} if kind.startswith("Radius") else {"n_neighbors": 4}
    mine, theirs = (getattr(module, kind)(mode=mode, **given).fit(points) for module in (ours, neighbors))

    assert_graphs(mine.transform(points), theirs.transform(points))
    assert_graphs(mine.transform(points[:50] + 0.01), theirs.transform(points[:50] + 0.01))
    assert np.array_equal(mine.get_feature_names_out()[:3], [name.lower() for name in (f"{kind}{k}" for k in range(3))])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("eps", "least"), [(0.15, 1), (0.2, 5), (0.25, 8), (1e-9, 2)])
def test_dbscan(points, eps, least, weighted):
    weights = np.random.default_rng(1).integers(-1, 4, len(points)) / 2 if weighted else None
    mine, theirs = (
        module.DBSCAN(eps=eps, min_samples=least).fit(points, sample_weight=weights) for module in (ours, cluster)
    )

    assert np.array_equal(mine.labels_, theirs.labels_)
    assert np.array_equal(mine.core_sample_indices_, theirs.core_sample_indices_)
    assert np.array_equal(mine.components_, theirs.components_)
    assert mine.components_.dtype == theirs.components_.dtype


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", ">f8"])
def test_attributes_are_theirs(points, dtype):
    rows = (points * 9).astype(dtype)
    for name, module in (("DBSCAN", cluster), *((name, neighbors) for name in ours.__all__[1:])):
        mine, theirs = (getattr(each, name)().fit(rows) for each in (ours, module))
        assert vars(theirs).keys() - vars(mine).keys() <= {"_fit_method", "_tree", "_sort_results"}
        for key in (key for key in vars(theirs) if key.endswith("_")):
            found, expected = getattr(mine, key), getattr(theirs, key)
            assert type(found) is type(expected)
            assert getattr(found, "dtype", None) == getattr(expected, "dtype", None), key
            assert np.array_equal(found, expected), key
        assert isinstance(mine, type(theirs))
        assert repr(mine) == repr(theirs)


def test_graphs_of_a_fitted_estimator(points):
    """scikit-learn's functions of graphs take the estimators for its own."""
    points[20] += 1e-3
    for mode, own in itertools.product(("connectivity", "distance"), (False, True)):
        given = {"mode": mode, "include_self": own}
        for function, size in (("kneighbors_graph", 4), ("radius_neighbors_graph", 0.4)):
            graphs = [
                getattr(neighbors, function)(module.NearestNeighbors().fit(points), size, **given)
                for module in (ours, neighbors)
            ]
            assert_graphs(*graphs)


def test_pipelines(points):
    """Estimators that go on from a graph give the same whichever made it."""
    from sklearn.manifold import TSNE, Isomap, SpectralEmbedding
    from sklearn.pipeline import make_pipeline

    for make in (
        lambda module: make_pipeline(
            module.RadiusNeighborsTransformer(radius=0.25), cluster.DBSCAN(eps=0.2, metric="precomputed")
        ).fit_predict(points),
        lambda module: make_pipeline(
            module.KNeighborsTransformer(n_neighbors=40),
            TSNE(perplexity=10, init="random", metric="precomputed", max_iter=250, random_state=0),
        ).fit_transform(points),
        lambda module: make_pipeline(
            module.KNeighborsTransformer(n_neighbors=40), Isomap(n_neighbors=30, metric="precomputed")
        ).fit_transform(points),
        lambda module: make_pipeline(
            module.KNeighborsTransformer(n_neighbors=40),
            SpectralEmbedding(affinity="precomputed_nearest_neighbors", n_neighbors=30, random_state=0),
        ).fit_transform(points),
    ):
        found, expected = make(ours), make(neighbors)
        np.testing.assert_allclose(np.abs(found), np.abs(expected), rtol=1e-3, atol=1e-5)


def test_fitted_points_stay_as_they_were(points):
    mine, given = ours.NearestNeighbors(n_neighbors=3).fit(points), points.copy()
    points += 0.3
    expected = neighbors.NearestNeighbors(n_neighbors=3).fit(given).kneighbors(points)
    for found, theirs in zip(mine.kneighbors(points), expected, strict=True):
        np.testing.assert_allclose(found, theirs, rtol=1e-12)


def test_pickles_search_anew(points):
    mine = pickle.loads(pickle.dumps(ours.NearestNeighbors(radius=0.3).fit(points)))

    assert np.array_equal(mine.kneighbors()[1], ours.NearestNeighbors().fit(points).kneighbors()[1])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda points: ours.NearestNeighbors(metric="cosine").fit(points), "metric: expected one of"),
        (lambda points: ours.NearestNeighbors(p=1).fit(points), "p: expected 2"),
        (lambda points: ours.DBSCAN(metric="precomputed").fit(points), "metric: expected one of"),
        (lambda points: ours.DBSCAN(metric_params={"w": 1}).fit(points), "metric_params: "),
        (lambda _: ours.DBSCAN().fit(np.zeros((3, 13))), "at most 12"),
        (lambda points: ours.NearestNeighbors().fit(points).kneighbors(n_neighbors=200), "n_neighbors <= n_samples"),
        (lambda points: ours.NearestNeighbors().fit(points).kneighbors(n_neighbors=0), "n_neighbors: "),
        (lambda points: ours.NearestNeighbors().fit(points).kneighbors_graph(mode="both"), "mode: "),
        (
            lambda points: (
                ours.NearestNeighbors().fit(points).radius_neighbors(return_distance=False, sort_results=True)
            ),
            "return_distance must be True",
        ),
        (lambda points: ours.NearestNeighbors().fit(points).radius_neighbors(radius=-1), "radius: "),
        (lambda points: ours.NearestNeighbors().fit(points).radius_neighbors(radius=[0.1] * 200), "radius: "),
        (lambda points: ours.NearestNeighbors(n_jobs=0).fit(points), "n_jobs == 0"),
        (lambda points: ours.NearestNeighbors().fit(points).kneighbors([[1e200] * 3]), "X: .*squares of distances"),
    ],
)
@pytest.mark.filterwarnings("ignore::clfrnn.PrecisionWarning")
def test_what_is_refused(points, call, words):
    with pytest.raises(ValueError, match=words):
        call(points)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("NearestNeighbors", {"n_neighbors": 0}),
        ("NearestNeighbors", {"radius": -1.0}),
        ("NearestNeighbors", {"algorithm": "octree"}),
        ("NearestNeighbors", {"leaf_size": 0}),
        ("NearestNeighbors", {"n_jobs": 1.5}),
        ("NearestNeighbors", {"metric": "none"}),
        ("KNeighborsTransformer", {"mode": "both"}),
        ("RadiusNeighborsTransformer", {"radius": "a"}),
        ("DBSCAN", {"eps": 0.0}),
        ("DBSCAN", {"min_samples": 0}),
    ],
)
def test_parameters_that_scikit_learn_refuses(points, name, given):
    for module in (ours, cluster if name == "DBSCAN" else neighbors):
        with pytest.raises(InvalidParameterError, match=next(iter(given))):
            getattr(module, name)(**given).fit(points)


def test_numbers_of_neighbors_that_are_none(points):
    for module in (ours, neighbors):
        with pytest.raises(TypeError):
            module.NearestNeighbors().fit(points).kneighbors(n_neighbors=2.5)


def test_weights_that_reach_the_threshold_together():
    """Ten tenths are one, in whatever order neighbors come; also by position."""
    weights = np.full(10, 0.1)
    found = ours.DBSCAN(eps=1.0, min_samples=1).fit_predict(np.zeros((10, 1)), None, weights)
    assert found.tolist() == [0] * 10
