"""The face of scikit-learn gives what scikit-learn gives: beside it, and in pipelines that go on from its graphs."""

import pickle

import numpy as np
import pytest
from conftest import needs_fp64

from clfrnn.interop import sklearn as ours

neighbors = pytest.importorskip("sklearn.neighbors")
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
    np.testing.assert_allclose(found.toarray(), expected.toarray(), rtol=1e-12)


def test_balls(points):
    mine, theirs = (module.NearestNeighbors(radius=0.3).fit(points) for module in (ours, neighbors))
    for given in (None, points, points[::7] + 0.01):
        for radius in (None, 0.0, 0.5):
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


def test_pipelines(points):
    """Estimators that go on from a graph give the same whichever made it."""
    from sklearn.manifold import TSNE, Isomap
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
    ):
        found, expected = make(ours), make(neighbors)
        np.testing.assert_allclose(np.abs(found), np.abs(expected), rtol=1e-3, atol=1e-5)


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
        (lambda points: ours.DBSCAN(eps=-1).fit(points), "eps: "),
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
    ],
)
def test_what_is_refused(points, call, words):
    with pytest.raises(ValueError, match=words):
        call(points)
