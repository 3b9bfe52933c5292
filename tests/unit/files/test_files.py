"""Files of points are read as they were meant, or refused with what to do."""

import re
import sys

import numpy as np
import pytest

from clfrnn import clouds
from clfrnn.errors import InvalidInputError
from clfrnn.files import read
from clfrnn.files.formats import read_cloud

POINTS = clouds.uniform(20, 3, seed=1)


def rows(points=POINTS, between=" "):
    return [between.join(map(repr, row)) for row in points.tolist()]


def written(path, lines):
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_arrays(tmp_path):
    np.save(tmp_path / "a.npy", POINTS)
    np.savez(tmp_path / "one.npz", whatever=POINTS)
    np.savez(tmp_path / "many.npz", counts=np.arange(3), points=POINTS)
    np.savez(tmp_path / "more.npz", others=POINTS[:3], points=POINTS)
    for name in ("a.npy", "one.npz", "many.npz"):
        found = read(tmp_path / name).points
        assert found.dtype == np.float32
        assert np.array_equal(found, POINTS)
    assert np.array_equal(read_cloud(tmp_path / "more.npz", array="others").points, POINTS[:3])


@pytest.mark.parametrize(
    "lines",
    [
        rows(between=","),
        ["x,y,z", *rows(between=",")],
        ["# a comment", "", *rows()],
        ["\ufeff" + rows()[0], *rows()[1:]],
        ['"x","y","z"', *(f'"{row}"' for row in rows(between='","'))],
        [f"{row}," for row in rows(between=", ")],
    ],
)
@pytest.mark.parametrize("ending", [".csv", ".txt", ".TXT"])
def test_rows_of_numbers(tmp_path, lines, ending):
    assert np.array_equal(read(written(tmp_path / f"cloud{ending}", lines)).points.astype(np.float32), POINTS)


NAMED = ["name,x,y,z,charge", *(f"a {k},{row}," for k, row in enumerate(rows(between=",")))]


@pytest.mark.parametrize("lines", [NAMED, ['"name","x","y","z","charge"', *NAMED[1:]]])
@pytest.mark.parametrize("columns", [["x", "y", "z"], ["2", "3", "4"], ["z", "2"]])
def test_columns_among_others(tmp_path, lines, columns):
    """Whatever stands in those that are not asked for, nothing included."""
    found = read(written(tmp_path / "cloud.csv", lines), columns=columns).points
    expected = POINTS[:, ["234".find(name) if name.isdigit() else "xyz".find(name) for name in columns]]
    assert np.array_equal(found.astype(np.float32), expected)


def test_columns_of_rows_without_names(tmp_path):
    assert np.array_equal(
        read(written(tmp_path / "cloud.csv", NAMED[1:]), columns=["2", "3", "4"]).points.astype(np.float32), POINTS
    )
    spaced = [f"atom {row}" for row in rows()]
    assert np.array_equal(
        read(written(tmp_path / "cloud.txt", spaced), columns=["2", "3", "4"]).points.astype(np.float32), POINTS
    )


@pytest.mark.parametrize("column", ["w", "6", "0", "-1", "²", "9" * 5000, "", "x\n"])
def test_columns_that_are_not_there(tmp_path, column):
    path = written(tmp_path / "cloud.csv", NAMED)
    shown = ".*…'" if len(column) > 40 else re.escape(repr(column))
    message = (
        rf"columns: expected .*got {shown}; it has 5, whose first row is name, x, y, z, charge.*columns=.2, 3, 4.,"
    )
    with pytest.raises(InvalidInputError, match=message) as raised:
        read(path, columns=["x", column])
    assert raised.value.argument == "columns"
    np.save(tmp_path / "a.npy", POINTS)
    with pytest.raises(InvalidInputError, match="columns: expected none, as .* has no columns") as raised:
        read(tmp_path / "a.npy", columns=["1"])
    assert raised.value.argument == "columns"


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.csv", "x,y\n1,2\nnan,2\n"), ("a.csv", "x,y\n1,2\n,2\n"), ("a.obj", "v 0 0 0\nv 1 nan 2\n"), ("a.npy", None)],
)
def test_errors_of_missing_numbers_say_how_to_leave_them_out(tmp_path, name, text):
    path = tmp_path / name
    if text is None:
        np.save(path, np.array([[0.0, 1.0], [np.nan, 1.0]]))
    else:
        path.write_text(text)
    with pytest.raises(
        InvalidInputError, match="or leave such rows out by skip_nan=True, on the command line --skip-nan"
    ):
        read(path)
    found = read(path, skip_nan=True)
    assert (len(found.points), found.skipped) == (1, 1)


@pytest.mark.parametrize("skip_nan", [True, False])
def test_infinite_numbers_cannot_be_left_out(tmp_path, skip_nan):
    with pytest.raises(InvalidInputError, match="correct or delete the line$"):
        read(written(tmp_path / "a.csv", ["1,2", "inf,2"]), skip_nan=skip_nan)


@pytest.mark.parametrize(
    ("lines", "left_out"),
    [
        (rows(), ""),
        ([f"{row} 12 200 10" for row in rows()], "columns 1, 2, 3; left out: 4, 5, 6"),
        (["20", "water, some of it", *(f"O {row}" for row in rows())], ""),
        (["20", "", *(f"Ar {row} 0.1 0.2 0.3" for row in rows()), "", ""], "columns 2, 3, 4; left out: 5, 6, 7"),
    ],
)
def test_atoms_and_bare_coordinates(tmp_path, lines, left_out):
    cloud = read(written(tmp_path / "cloud.xyz", lines))
    assert np.array_equal(cloud.points.astype(np.float32), POINTS)
    assert left_out in " ".join(cloud.notes)
    assert bool(cloud.notes) == bool(left_out)


@pytest.mark.parametrize("text", [True, False], ids=["ascii", "binary"])
def test_vertices(tmp_path, text):
    plyfile = pytest.importorskip("plyfile", reason="plyfile is an extra")
    kinds = [("x", "f4"), ("y", "f4"), ("z", "f4"), ("red", "u1")]
    vertices = np.array([(*row, 7) for row in POINTS.tolist()], dtype=kinds)
    plyfile.PlyData([plyfile.PlyElement.describe(vertices, "vertex")], text=text).write(str(tmp_path / "cloud.ply"))
    found = read(tmp_path / "cloud.ply").points
    assert found.dtype == np.float32
    assert np.array_equal(found, POINTS)
    whole = (tmp_path / "cloud.ply").read_bytes()
    (tmp_path / "cloud.ply").write_bytes(whole.replace(f"vertex {len(POINTS)}".encode(), b"vertex 2"))
    said, there = ("2 rows", len(POINTS)) if text else ("26 bytes", 13 * len(POINTS))
    message = rf"expected {said}, as its header says \(2 of vertex\), got {there};"
    with pytest.raises(InvalidInputError, match=message):
        read(tmp_path / "cloud.ply")


def test_more_rows_than_a_mesh_announces(tmp_path):
    """Lines may end as on any system, with blank ones at the end."""
    pytest.importorskip("plyfile", reason="plyfile is an extra")
    head = "ply\nformat ascii 1.0\ncomment no end_header\nelement vertex 3\nproperty float x\nproperty float y\n"
    mesh = f"{head}property float z\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n"
    mesh += "1 0 0\n0 1 0\n0 0 1\n3 0 1 2\n\n"
    for end in ("\n", "\r\n", "\r"):
        (tmp_path / "a.ply").write_bytes(mesh.replace("\n", end).encode())
        assert read(tmp_path / "a.ply").points.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
        (tmp_path / "a.ply").write_bytes(f"{mesh}3 0 2 1\n".replace("\n", end).encode())
        with pytest.raises(InvalidInputError, match=r"expected 4 rows, .* \(3 of vertex, 1 of face\), got 5;"):
            read(tmp_path / "a.ply")


def test_vertices_want_a_package(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "plyfile", None)
    path = written(tmp_path / "cloud.ply", ["ply"])
    with pytest.raises(InvalidInputError, match=r"pip install 'clfrnn\[files\]'"):
        read(path)


@pytest.mark.parametrize(
    ("name", "lines", "message"),
    [
        (
            "cloud.e57",
            ["1 2 3"],
            "expected a name that ends in .asc, .cif, .csv, .*, .xyz, or begins with POSCAR, .*, got .e57",
        ),
        ("cloud", ["1 2 3"], "got no ending"),
        ("cloud.npy", ["1 2 3"], "expected an array as numpy.save writes it"),
        ("cloud.npz", ["1 2 3"], "expected an archive as numpy.savez writes it"),
        ("cloud.csv", [], "expected rows of numbers, got none"),
        ("cloud.csv", ["1,2,3", "4,five,6"], "line 2: expected rows of numbers, got 'five' in column 2; correct or"),
        ("cloud.csv", ["1,2,3", "4,5"], "line 2: expected 3 columns, as line 1 has, got 2 .4,5.; complete the line"),
        ("cloud.csv", ["x,y,z", "1,2,3", "4,,6"], "line 3: expected rows of numbers, got nothing in column 2 .y.;"),
        ("cloud.xyz", ["3", "", "H 0 0 0"], "expected 3 atoms, got 1; the file may be cut off"),
        (
            "cloud.xyz",
            ["1", "", "H 0 0 0", "H 1 1 1"],
            "line 4: expected the number of atoms of the next frame, got 'H 1 1 1'",
        ),
        ("cloud.xyz", ["1", "", "H 0 zero 0"], "line 3: expected rows of numbers, got 'zero' in column 3"),
        ("cloud.ply", ["not a ply file"], "expected vertices with x, y and z"),
    ],
)
def test_what_is_no_cloud(tmp_path, name, lines, message):
    if name.endswith(".ply"):
        pytest.importorskip("plyfile", reason="plyfile is an extra")
    path = written(tmp_path / name, lines)
    with pytest.raises(InvalidInputError, match=rf"{name}: .*{message}"):
        read(path)


def test_archives_of_several_arrays(tmp_path):
    np.savez(tmp_path / "a.npz", first=POINTS, second=POINTS)
    with pytest.raises(
        InvalidInputError, match=r"expected one array, or one named points.*got first, second; .*--array"
    ):
        read(tmp_path / "a.npz")
    with pytest.raises(InvalidInputError, match="expected one named 'third', got first, second"):
        read_cloud(tmp_path / "a.npz", array="third")
    np.save(tmp_path / "a.npy", POINTS)
    with pytest.raises(
        InvalidInputError, match="only .npz archives hold arrays with names; leave out 'first' of --array"
    ):
        read_cloud(tmp_path / "a.npy", array="first")


def test_bytes_are_no_text(tmp_path):
    (tmp_path / "cloud.csv").write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(InvalidInputError, match="expected text"):
        read(tmp_path / "cloud.csv")
