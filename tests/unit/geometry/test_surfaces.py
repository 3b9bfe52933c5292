"""Surfaces of spheres and planes, right to a voxel."""

import os
import stat
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import KDTree

import clfrnn
from clfrnn.geometry import Field, Surface, distance_field, isosurface, offset_surface
from clfrnn.host.files import replacing

ABSENT = "the extra `geometry` is not installed"
SPACING = 0.1


@pytest.fixture
def contours():
    return pytest.importorskip("skimage.measure", reason=ABSENT)


def ball(dim, dtype=np.float32, n=4000):
    points = np.random.default_rng(0).normal(size=(n, dim))
    return (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(dtype)


def volume(surface):
    """What the faces enclose, positive where they turn outwards."""
    return np.linalg.det(surface.vertices[surface.faces]).sum() / {2: 2, 3: 6}[surface.vertices.shape[1]]


@pytest.mark.parametrize("offset", [None, 0.4, -0.4])
def test_surfaces_of_a_ball(session, dim, contours, offset):
    points = ball(dim)
    if offset is None:
        found = isosurface(distance_field(points, points, spacing=SPACING, radius=0.3, session=session))
    else:
        found = offset_surface(points, points, offset, spacing=SPACING, session=session)
    radius = 1 + (offset or 0)
    assert np.abs(np.linalg.norm(found.vertices, axis=1) - radius).max() < SPACING
    assert abs(volume(found) / ({2: np.pi, 3: 4 / 3 * np.pi}[dim] * radius**dim) - 1) < 0.05
    edges = np.sort(np.concatenate([found.faces[:, [k, (k + 1) % dim]] for k in range(dim)]), axis=1)
    if dim == 3:
        assert (np.unique(edges, axis=0, return_counts=True)[1] == 2).all()  # no hole
    assert found.vertices.dtype == np.float64
    assert found.faces.dtype == np.int32


def test_offsets_of_an_open_plane_are_at_that_distance(session, contours):
    flat = np.random.default_rng(1).random((3000, 3)) * [1, 1, 0]
    up = np.tile([0.0, 0.0, 1.0], (len(flat), 1))
    for distance in (0.7, -0.7):
        found = offset_surface(flat, up, distance, spacing=SPACING, session=session)
        assert np.abs(KDTree(flat).query(found.vertices)[0] - 0.7).max() < SPACING
        assert np.abs(found.vertices[:, 2] - distance).min() < 0.02


def test_a_surface_has_holes_where_the_field_is_undefined(session, contours):
    points = ball(3)
    field = distance_field(points, points, spacing=SPACING, radius=0.3, session=session)
    values = field.values.get()
    values[:, :, values.shape[2] // 2 :] = np.nan
    found = isosurface(Field(values, field.origin, field.spacing))
    last = field.origin[2] + SPACING * (values.shape[2] // 2 - 1)
    assert len(found.faces) > 0
    assert found.vertices[:, 2].max() <= last + 1e-9
    nowhere = Field(np.full_like(values, np.nan), field.origin, field.spacing)
    thin = field._replace(values=values[:1])
    for empty, level in ((nowhere, 0.0), (field, 7.0), (thin, 0.0)):
        with pytest.warns(UserWarning, match=r"level: the field has .* is empty; pass a level between its values"):
            none = isosurface(empty, level)
        assert none.vertices.shape == none.faces.shape == (0, 3)


@pytest.mark.parametrize("ending", ["ply", "obj", "stl"])
def test_save(ending, tmp_path):
    trimesh = pytest.importorskip("trimesh", reason=ABSENT)
    corners = Surface(np.float64([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]), np.int32([[0, 1, 2], [0, 3, 1]]))
    corners.save(tmp_path / f"two.{ending}")
    read = trimesh.load_mesh(tmp_path / f"two.{ending}", process=False)
    assert np.allclose(read.triangles, corners.vertices[corners.faces])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ply_files_have_all_digits(tmp_path, dtype):
    """Also where float32 has steps of a quarter of a unit, as in maps."""
    plyfile = pytest.importorskip("plyfile", reason=ABSENT)
    corners = (np.float64([500_000, 4_100_000, 0]) + np.random.default_rng(0).random((3, 3))).astype(dtype)
    Surface(corners, np.int32([[0, 1, 2]])).save(tmp_path / "one.ply")
    read = plyfile.PlyData.read(str(tmp_path / "one.ply"))
    found = np.stack([read["vertex"][name] for name in "xyz"], axis=1)
    assert found.dtype == dtype
    assert np.array_equal(found, corners)
    assert np.array_equal(np.stack(read["face"]["vertex_indices"]), [[0, 1, 2]])


@pytest.mark.parametrize(("ending", "writer"), [("ply", "plyfile.PlyData.write"), ("stl", "trimesh.Trimesh.export")])
def test_a_file_stays_where_writing_the_next_is_interrupted(ending, writer, tmp_path, monkeypatch):
    pytest.importorskip(writer.split(".")[0], reason=ABSENT)
    triangle = Surface(np.eye(3), np.int32([[0, 1, 2]]))
    triangle.save(tmp_path / f"one.{ending}")
    before = (tmp_path / f"one.{ending}").read_bytes()

    def interrupted(_, path, **__):
        Path(path).write_bytes(before[:9])
        raise KeyboardInterrupt

    monkeypatch.setattr(writer, interrupted)
    with pytest.raises(KeyboardInterrupt):
        triangle.save(tmp_path / f"one.{ending}")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [(f"one.{ending}", before)]
    monkeypatch.undo()
    with pytest.raises(clfrnn.InvalidInputError, match="it could not be written .No such file or directory"):
        triangle.save(tmp_path / "nowhere" / f"one.{ending}")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
def test_what_is_no_file_is_written_to_and_permissions_stay(tmp_path):
    private, pipe = tmp_path / "one.ply", tmp_path / "pipe.ply"
    private.touch(0o600)
    os.mkfifo(pipe)
    for path in (private, pipe):
        reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        with replacing(path) as part:
            part.write_bytes(b"points")
        assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(os.fstat(reader).st_mode)
        assert (os.read(reader, 9) if path == pipe else path.read_bytes()) == b"points"
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_bad_arguments():
    curve = Surface(np.zeros((2, 2)), np.int32([[0, 1]]))
    with pytest.raises(clfrnn.InvalidInputError, match=r"path: expected a name that ends in \.ply, \.obj, \.stl"):
        curve.save("curve.off")
    with pytest.raises(clfrnn.InvalidInputError, match="path: expected a surface in 3D, got a curve in 2D"):
        curve.save("curve.ply")
    with pytest.raises(clfrnn.InvalidInputError, match="field: expected values at the nodes"):
        isosurface(np.zeros((4, 4, 4)))
    with pytest.raises(clfrnn.InvalidInputError, match="level: expected a finite number, got None"):
        isosurface(Field(np.zeros((4, 4)), np.zeros(2), 1.0), None)


def test_messages_name_the_extra(monkeypatch, tmp_path):
    for module in ("skimage.measure", "trimesh", "plyfile"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(clfrnn.ClfrnnError, match=r"isosurface needs scikit-image.*clfrnn\[geometry\]"):
        isosurface(Field(np.zeros((4, 4)), np.zeros(2), 1.0))
    for ending, what in ((".obj", r"Surface\.save needs trimesh"), (".ply", r"a \.ply file needs plyfile")):
        with pytest.raises(clfrnn.ClfrnnError, match=rf"{what}.*clfrnn\[geometry\]"):
            Surface(np.zeros((3, 3)), np.int32([[0, 1, 2]])).save(tmp_path / f"one{ending}")
