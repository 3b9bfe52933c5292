"""Files of laser scanners: .pcd, .las and .laz."""

import sys

import hostile
import numpy as np
import pytest

from clfrnn.errors import InvalidInputError
from clfrnn.files import read

POINTS = hostile.POINTS


@pytest.fixture
def laspy():
    return pytest.importorskip("laspy", reason="laspy is an extra")


def test_pcd_of_a_scanner(tmp_path):
    """Fields in another order and of other kinds, between fields of several numbers."""
    record = np.dtype([("i", "u1"), ("z", "<f4"), ("h", "<f4", (3,)), ("x", "<f4"), ("y", "<f4"), ("t", "<f8")])
    rows = np.zeros(40, record)
    for k, name in enumerate("xyz"):
        rows[name] = POINTS[:, k]
    said = {"FIELDS": "i z h x y t", "SIZE": "1 4 4 4 4 8", "TYPE": "U F F F F F", "COUNT": "1 1 3 1 1 1"}
    said |= {"HEIGHT": 8, "width": 5, "VIEWPOINT": "0 0 0 1 0 0 0"}
    text = "\r\n".join(" ".join(map(repr, [7, z, 0, 0, 0, x, y, 0])) for x, y, z in POINTS.tolist()).encode()
    (tmp_path / "binary.pcd").write_bytes(hostile.pcd(40, rows.tobytes() + b"\n", "binary", **said))
    (tmp_path / "ascii.pcd").write_bytes(hostile.pcd(40, text, **said))
    found = read(tmp_path / "binary.pcd").points
    assert found.dtype == np.float32
    assert np.array_equal(found, POINTS.astype(np.float32))
    assert np.array_equal(read(tmp_path / "ascii.pcd").points, POINTS)


def test_pcd_of_doubles_and_without_points(tmp_path):
    path = tmp_path / "cloud.pcd"
    path.write_bytes(hostile.pcd(40, POINTS.tobytes(), "binary", SIZE="8 8 8", COUNT=None, WIDTH=None, HEIGHT=None))
    assert np.array_equal(read(path).points, POINTS)
    for lines in ("ascii", "binary"):
        path.write_bytes(hostile.pcd(0, b"", lines))
        assert read(path).points.shape == (0, 3)


def test_pcd_of_an_organized_cloud_with_holes(tmp_path):
    """Rows are those of the file, so that a point that is none is not left out."""
    path = tmp_path / "cloud.pcd"
    holes = np.array([[1, 2, 3], [np.nan] * 3], np.float32)
    path.write_bytes(hostile.pcd(2, holes.tobytes(), "binary"))
    with pytest.raises(InvalidInputError, match=r"cloud.pcd: row 2: expected finite numbers, got nan in column 1"):
        read(path)


@pytest.mark.parametrize("packed", [False, True])
def test_scans(tmp_path, monkeypatch, laspy, packed):
    if packed:
        pytest.importorskip("lazrs", reason="lazrs is an extra")
    path = tmp_path / f"cloud.{'laz' if packed else 'las'}"
    path.write_bytes(hostile.las(packed=packed))
    monkeypatch.setattr("clfrnn.files.scans._AT_ONCE", 7)
    found = read(path).points
    assert found.dtype == np.float64
    assert np.array_equal(found, laspy.read(path).xyz)
    assert np.abs(found - POINTS).max() < 1e-4


@pytest.mark.parametrize("packed", [False, True])
def test_scans_without_points(tmp_path, laspy, packed):
    if packed:
        pytest.importorskip("lazrs", reason="lazrs is an extra")
    path = tmp_path / f"cloud.{'laz' if packed else 'las'}"
    path.write_bytes(hostile.las(packed=packed, points=np.empty((0, 3))))
    assert read(path).points.shape == (0, 3)


def test_scans_want_packages(tmp_path, monkeypatch):
    (tmp_path / "cloud.las").write_bytes(b"LASF")
    monkeypatch.setitem(sys.modules, "laspy", None)
    with pytest.raises(InvalidInputError, match=r"laspy is not installed; pip install 'clfrnn\[las\]'"):
        read(tmp_path / "cloud.las")


def test_packed_scans_want_another(tmp_path, monkeypatch, laspy):
    pytest.importorskip("lazrs", reason="lazrs is an extra")
    (tmp_path / "cloud.laz").write_bytes(hostile.las(packed=True))
    monkeypatch.setattr(laspy.LazBackend, "detect_available", classmethod(lambda _: ()))
    with pytest.raises(InvalidInputError, match=r"lazrs is not installed; pip install 'clfrnn\[las\]'"):
        read(tmp_path / "cloud.laz")
