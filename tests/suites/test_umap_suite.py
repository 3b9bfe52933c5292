"""UMAP's embedding of the graph that the face of scikit-learn makes."""

import numpy as np
import pytest
from conftest import needs_fp64

umap = pytest.importorskip("umap")
neighbors = pytest.importorskip("sklearn.neighbors")
face = pytest.importorskip("clfrnn.interop.sklearn")

pytestmark = [pytest.mark.long, needs_fp64, pytest.mark.filterwarnings("ignore")]


def test_nearest_points_that_are_given():
    """UMAP draws the same picture from the nearest points of either."""
    points = np.random.default_rng(0).random((200, 3))
    found, expected = (
        umap.UMAP(
            n_neighbors=10,
            precomputed_knn=module.NearestNeighbors(n_neighbors=10).fit(points).kneighbors(points)[::-1],
            n_epochs=20,
            random_state=0,
        ).fit_transform(points)
        for module in (face, neighbors)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-3)
