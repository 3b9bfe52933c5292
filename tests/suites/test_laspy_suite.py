"""Tiles of a scan that laspy writes: their points, and neighbors across the seams of tiles."""

import numpy as np
import pytest

import clfrnn

laspy = pytest.importorskip("laspy")
spatial = pytest.importorskip("scipy.spatial")

pytestmark = pytest.mark.long

#: The corner of the first tile, as in a national grid, and the length of its sides, in metres.
CORNER, SIDE = np.array([512_000.0, 5_403_000.0, 120.0]), 20.0


@pytest.fixture
def tiles(tmp_path):
    """Four tiles of one surface, each in a file of its own with its own offset."""
    rng = np.random.default_rng(0)
    for row, column in np.ndindex(2, 2):
        corner = CORNER + np.array([row * SIDE, column * SIDE, 0])
        points = corner + rng.random((1_500, 3)) * [SIDE, SIDE, 2.0]
        header = laspy.LasHeader(point_format=6, version="1.4")
        header.offsets, header.scales = corner, [0.001] * 3
        scan = laspy.LasData(header)
        scan.xyz = points
        scan.write(tmp_path / f"{row}_{column}.las")
    return sorted(tmp_path.glob("*.las"))


def test_neighbors_across_seams(tiles):
    clouds = [clfrnn.files.read(path).points for path in tiles]
    for path, cloud in zip(tiles, clouds, strict=True):
        assert np.array_equal(cloud, laspy.read(path).xyz)
    points = np.concatenate(clouds)
    if not clfrnn.default_session().profile.fp64:
        points = (points - CORNER).astype(np.float32)
    found = clfrnn.search(points, 0.5, half=True)
    i, j = found.to_coo()
    assert (i // 1_500 != j // 1_500).any(), "pairs of two tiles"
    far = np.linalg.norm(points[i].astype(np.float64) - points[j], axis=1)
    assert (far <= 0.5 + 1e-5).all()
    inside, outside = (len(spatial.KDTree(points).query_pairs(0.5 + step)) for step in (-1e-5, 1e-5))
    assert inside <= found.num_pairs <= outside
