"""What type checkers see of the public calls: right ones pass, and wrong ones are reported, without being run."""

import re
import textwrap
from pathlib import Path

import pytest

import clfrnn

mypy = pytest.importorskip("mypy.api")

RIGHT = """
import numpy as np
import numpy.typing as npt
import pyopencl.array as cla
import clfrnn
from typing import Any
from typing_extensions import assert_type
from clfrnn import cluster, geometry
from clfrnn.device_array import DeviceArray
from clfrnn.models import Boids

def degree(points: npt.NDArray[np.float32], r: float) -> npt.NDArray[np.int32]:
    index = clfrnn.build_index(points, r, method="strips", bin_width=0.5)
    found = index.query(distances=True, sort="distance").to_host()
    i, j = found.to_coo()
    for part in index.query_blocks(max_bytes=1 << 20):
        print(part.num_pairs, i + j, found[0].tolist(), index.nearest().indices.get())
    return index.count().get()

def kinds(points: npt.NDArray[np.float32]) -> None:
    index = clfrnn.build_index(points, 0.1)
    Reals = DeviceArray[np.floating[Any]]
    HostReals = npt.NDArray[np.floating[Any]]
    for found in (clfrnn.search(points, 0.1), index.query(points, sort="index"), *index.query_blocks(max_bytes=9)):
        assert_type(found.indices, DeviceArray[np.int32])
        assert_type(found.offsets, DeviceArray[np.int32 | np.int64])
        assert_type(found.distances, Reals)
        assert_type(found.vectors, Reals)
        assert_type(found.shifts, DeviceArray[np.int32])
        assert_type(found.counts, npt.NDArray[np.int32])
        assert_type(found[0], npt.NDArray[np.int32])
    for host in (found.to_host(), found.to_host().to_host(), index.query(to_host=True)):
        assert_type(host.indices, npt.NDArray[np.int32])
        assert_type(host.offsets, npt.NDArray[np.int32 | np.int64])
        assert_type(host.distances, HostReals)
        assert_type(host.vectors, HostReals)
        assert_type(host.shifts, npt.NDArray[np.int32])
    nearest = index.nearest(k=2)
    indices, distances = nearest
    assert_type(indices, DeviceArray[np.int32])
    assert_type(distances, Reals)
    assert_type(nearest.vectors, Reals)
    assert_type(clfrnn.nearest(points, 2).shifts, DeviceArray[np.int32])
    near, far = nearest.to_host()
    assert_type(near, npt.NDArray[np.int32])
    assert_type(far, HostReals)
    assert_type(nearest.to_host().shifts, npt.NDArray[np.int32])
    clusters = cluster.dbscan(points, 0.1, 3)
    assert_type(clusters.labels, DeviceArray[np.int32])
    assert_type(clusters.core, DeviceArray[np.bool_])
    assert_type(clusters.sizes, DeviceArray[np.int32])
    assert_type(clusters.to_host().labels, npt.NDArray[np.int32])
    assert_type(clusters.to_host().core, npt.NDArray[np.bool_])
    assert_type(clusters.to_host().sizes, npt.NDArray[np.int32])
    assert_type(index.count(), DeviceArray[np.int32])
    assert_type(index.count(to_host=True), npt.NDArray[np.int32])
    assert_type(index.order, DeviceArray[np.int32])
    assert_type(index.reorder(points), DeviceArray[np.float32])
    assert_type(index.reorder(index.order), DeviceArray[np.int32])
    assert_type(index.reorder(points, points), tuple[DeviceArray[Any], ...])
    assert_type(index.zeros(3, np.int32), DeviceArray[np.int32])
    assert_type(index.empty((3, 3)), DeviceArray[Any])
    normals = geometry.normals(points, 0.1)
    assert_type(normals.normals, Reals)
    assert_type(normals.counts, DeviceArray[np.int32])
    assert_type(geometry.orient(points, normals.normals, 0.1), Reals)
    assert_type(geometry.smooth(points, 0.1), Reals)
    assert_type(geometry.wlop(points, 3, 0.1), Reals)
    assert_type(geometry.statistical_outliers(points, 8, 1.0), DeviceArray[np.bool_])
    assert_type(geometry.radius_outliers(points, 0.1, 1), DeviceArray[np.bool_])
    field = geometry.distance_field(points, points, spacing=0.1, radius=0.2)
    assert_type(field.values, Reals)
    assert_type(geometry.isosurface(field).faces, npt.NDArray[np.int32])
    assert_type(Boids(100).positions, Reals)

def masks(found: clfrnn.NeighborList, points: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    far = found.distances > 0.5
    assert_type(far, DeviceArray[np.bool_])
    assert_type(found.indices == -1, DeviceArray[np.bool_])
    assert_type(~far & far, DeviceArray[np.bool_])
    assert_type(found.indices.get(), npt.NDArray[np.int32])
    assert_type(np.asarray(found.indices), npt.NDArray[np.int32])
    print(int(found.indices[0]), float(found.distances.mean()), bool(far.any()), found.indices.max() + 1)
    print(len(far), [*far], far.tolist(), np.from_dlpack(found.indices), found.indices.dtype.kind, far.item(0))
    print(found.indices % 2, found.indices // 2, -found.indices, 2 * found.distances, found.distances @ points)
    return points[far]

points = np.zeros((3, 3), np.float32)
device = cla.to_device(clfrnn.Session().queue, points)
index = clfrnn.build_index(device, 0.1, method="aabb_tree", construction="median", leaf_size=3)
index.update(index.empty((3, 3)))
index.query(device, radius=device[:, 0], where=clfrnn.Condition("d2 > 0")).num_pairs
print(index.count(to_host=True).sum())
clfrnn.search(device, 0.1, queries=points.tolist(), box=(1, 1, 1), periodic=[True, False, 1], to_host=True)
clfrnn.search([(0, 1), (1, 2.5)], np.float32(0.1), box=np.ones(2), queries=[points[0]], sort=None)
clfrnn.search(points, points[0], cell=[[1, 0, 0], [0, 1, 0], [0, 0.5, 1]], method="strips", bin_width=1)
clfrnn.nearest(points, 3, radius=[0.1, 0.2, 0.3], method="fenns", coarse_shape=(3, 3, 3), periodic=False)
"""

#: calls that are reported, with a part of the report
WRONG = {
    'clfrnn.search([[0.0, 1.0]], 1, sort="dist")': "sort",
    'clfrnn.search([[0.0, 1.0]], 1, metod="strips")': "metod",
    'clfrnn.search([[0.0, 1.0]], "1")': "Argument 2",
    'clfrnn.search("abc", 1.0)': "Argument 1",
    'clfrnn.search([[0.0]], 1.0, method="stripes")': "method",
    "clfrnn.search([[0.0]], 1.0, distance=True)": "distance",
    'clfrnn.search([[0.0]], 1.0, periodic="xy")': "periodic",
    'clfrnn.build_index([[0.0]], 1.0, method="strips", bin_with=1)': "bin_with",
    'clfrnn.build_index([[0.0]], 1.0, method="strips", construction="fast")': "construction",
    "clfrnn.build_index([[0.0]], [1.0])": "Argument 2",
    "clfrnn.build_index([[0.0]], 1.0).update([[0.0]], bxo=1)": "bxo",
    "clfrnn.build_index([[0.0]], 1.0).count(query=[[0.0]])": "query",
    "clfrnn.nearest([[0.0]], 3.5)": "Argument 2",
    "clfrnn.nearest([[0.0]])": "Missing",
    "bad: str = clfrnn.search([[0.0]], 1.0).indices": "DeviceArray",
    "bad_too: str = clfrnn.search([[0.0]], 1.0).to_host().distances": "ndarray",
    "clfrnn.nearest([[0.0]], 3).indices.nothing": "nothing",
}


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """What mypy says of the right and then of the wrong calls, by line."""
    folder = tmp_path_factory.mktemp("typed")
    lines = [*textwrap.dedent(RIGHT).strip().splitlines(), *WRONG]
    (folder / "user.py").write_text("\n".join(lines) + "\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MYPYPATH", str(Path(clfrnn.__file__).parents[1]))
        patch.chdir(folder)  # away from the project's own settings
        given = "--strict", "--config-file=", "--follow-imports=silent", f"--cache-dir={folder / 'cache'}", "user.py"
        said, failed, _ = mypy.run(list(given))
    assert not failed, failed
    found = {}
    for number, text in re.findall(r"^user\.py:(\d+): error: (.*)$", said, re.MULTILINE):
        found.setdefault(lines[int(number) - 1], []).append(text)
    return found


def test_right_calls_pass(reports):
    assert not reports.keys() - WRONG.keys(), reports


@pytest.mark.parametrize("call", WRONG)
def test_wrong_calls_are_reported(reports, call):
    assert any(WRONG[call] in text for text in reports.get(call, [])), reports.get(call)
