"""Which columns of a text are the coordinates: one rule for all texts, with nothing left out in silence."""

import gzip
import io
import sys

import numpy as np
import pytest

from clfrnn import files
from clfrnn.errors import InvalidInputError

POINTS = np.random.default_rng(0).random((30, 3))
ROWS = [list(map(repr, row)) for row in POINTS.tolist()]
ENDINGS = [".csv", ".txt", ".dat", ".tsv", ".xyz", ".csv.gz", ".TXT.GZ", ".tsv.gz", ".xyz.gz", "-"]


def read(tmp_path, monkeypatch, ending, lines, **options):
    """The points in `lines`, with commas that become tabs in .tsv files, and what was said."""
    if ".tsv" in ending:
        lines = [line.replace(",", "\t") for line in lines]
    content = ("\n".join(lines) + "\n").encode()
    if ending == "-":
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        path = type(tmp_path)("-")
    else:
        path = tmp_path / f"cloud{ending}"
        path.write_bytes(gzip.compress(content) if ending.lower().endswith(".gz") else content)
    cloud = files.read(path, **options)
    return cloud.points, " ".join(cloud.notes)


def rows(*before, behind=()):
    """Rows with further words, where {k} is the number of the row."""
    return [",".join([*before, *row, *behind]).replace("{k}", str(k)) for k, row in enumerate(ROWS)]


NAMED = {
    "lidar": (["x,y,z,intensity", *rows(behind=["{k}"])], "coordinates are x, y, z; left out: intensity"),
    "ids": (["id,x,y,z", *rows("{k}")], "coordinates are x, y, z; left out: id"),
    "pandas": ([",x,y,z", *rows("{k}")], "coordinates are x, y, z; left out: column 1"),
    "named": (["id,X,Y,Z,name", *rows("{k}", behind=["pt{k}"])], "coordinates are X, Y, Z; left out: id, name"),
    "colours": (["X,Y,Z,R,G,B", *rows(behind=["1", "2", "3"])], "coordinates are X, Y, Z; left out: R, G, B"),
    "quoted": (['"x","y","z","i"', *rows(behind=['"{k}"'])], "left out: i"),
    "units": (["time,x [m],y (m),z [m]", *rows("{k}")], "coordinates are x [m], y (m), z [m]; left out: time"),
    "ParaView": (["v,Points:0,Points:1,Points:2", *rows("{k}")], "Points:0, Points:1, Points:2; left out: v"),
    "positions": (["pos_x,pos_y,pos_z,vel_x", *rows(behind=["{k}"])], "pos_x, pos_y, pos_z; left out: vel_x"),
    "CloudCompare": (["//X,Y,Z,R", *rows(behind=["{k}"])], "coordinates are X, Y, Z; left out: R"),
    "savetxt": (["# x,y,z,w", *rows(behind=["{k}"])], "coordinates are x, y, z; left out: w"),
    "letters first": (["x,y,z,center_x,pos_x", *rows(behind=["1", "2"])], "left out: center_x, pos_x"),
    "empty behind": (["x,y,z,note,", *rows(behind=["", ""])], "left out: note"),
    "plain": (["x,y,z", *rows()], ""),
    "unknown": (["E,N,a", *rows()], "all columns are read as coordinates: E, N, a"),
    "bare": (rows(), ""),
    "bare, empty behind": (rows(behind=["", ""]), ""),
    "Excel": (["sep=,", "x,y,z", *rows()], ""),
    "2theta": (["x,y,z,2theta", *rows(behind=["1"])], "left out: 2theta"),
}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("form", NAMED)
def test_columns_that_are_coordinates(tmp_path, monkeypatch, form, ending):
    lines, expected = NAMED[form]
    found, said = read(tmp_path, monkeypatch, ending, lines)
    assert np.array_equal(found, POINTS)
    assert expected in said
    assert bool(said) == bool(expected)


@pytest.mark.parametrize("ending", [".csv", ".txt", ".xyz", "-"])
def test_the_order_is_that_of_the_names(tmp_path, monkeypatch, ending):
    lines = ["z,x,y", *(f"{z},{x},{y}" for x, y, z in ROWS)]
    assert np.array_equal(read(tmp_path, monkeypatch, ending, lines)[0], POINTS)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            ["a,b,c,d", *rows("1")],
            "got a, b, c, d; say which to read, as in columns=[1, 2, 3], on the command line --columns 1,2,3; columns",
        ),
        (["id,u,v,w", *rows("1")], "expected names of columns that say which are the coordinates"),
        (["id,u", "1,2"], "got id, u; say which to read"),
        ([",u", "1,2"], "say which to read"),
        (["x,y,z,X", *rows(behind=["1"])], "got x, y, z, X; say which to read"),
        (["pos_x,pos_y,p_x,p_y", "1,2,3,4"], "say which to read"),
        (["1,,3", *rows()], "line 1: expected rows of numbers, got nothing in column 2"),
        (["1,2,3x", *rows()], "line 1: expected rows of numbers, got '3x' in column 3"),
        (["1x,2x,3x", *rows()], "line 1: expected rows of numbers, got '1x' in column 1"),
        (["1_0,2_0,3_0", *rows()], "line 1: expected rows of numbers, got '1_0' in column 1"),
        (["NA,NA,NA", *rows()], "line 1: expected rows of numbers, got 'NA' in column 1"),
        (["x,y,1", *rows()], "line 1: expected rows of numbers, got 'x' in column 1"),
        (["x,y,z", *rows(), "nan,0,1"], "line 32: expected finite numbers, got nan in column 1 (x); correct or"),
        ([*rows(), "1,1e999,1"], "line 31: expected finite numbers, got 1e999 in column 2; correct or"),
        (
            ["word,number", "abc,1"],
            "by their names or numbers, as in columns=[2], on the command line --columns 2 (columns",
        ),
        (["word,other", "abc,def"], "correct or delete the line"),
        (["# two", "", *rows(), "1,2"], "line 33: expected 3 columns, as line 3 has, got 2 ("),
        (["x,y,z", *rows(), "1,2,3,4"], "line 32: expected 3 columns, as the names above say, got 4 ("),
        (["x,y,z", *rows("1")], "line 2: expected 3 columns, as the names above say, got 4 ("),
        (["x,y,z"], "expected rows of numbers, got none below the names in line 1; write one point a line"),
        (["# nothing"], "expected rows of numbers, got none; write one point a line"),
    ],
)
def test_columns_that_cannot_be_known(tmp_path, monkeypatch, ending, lines, message):
    with pytest.raises(InvalidInputError) as raised:
        read(tmp_path, monkeypatch, ending, lines)
    assert message in str(raised.value)
    assert str(raised.value).startswith("standard input: " if ending == "-" else str(tmp_path))


@pytest.mark.parametrize("ending", ENDINGS)
def test_more_than_three_columns_without_names(tmp_path, monkeypatch, ending):
    lines = rows(behind=["7", "8"])
    if ".xyz" in ending:  # the ending is what names them
        found, said = read(tmp_path, monkeypatch, ending, lines)
        assert "coordinates are columns 1, 2, 3; left out: 4, 5" in said
        assert np.array_equal(found, POINTS)
    else:
        with pytest.raises(
            InvalidInputError, match=r"line 1: expected 3 columns or fewer .*, got 5 .*--columns 1,2,3;"
        ):
            read(tmp_path, monkeypatch, ending, lines)
    for columns in (["1", "2", "3"], ["3", "1", "2"], ["1", "2", "3", "4", "5"]):
        found, said = read(tmp_path, monkeypatch, ending, lines, columns=columns)
        expected = np.column_stack([POINTS, np.full(len(POINTS), 7), np.full(len(POINTS), 8)])
        assert np.array_equal(found, expected[:, [int(column) - 1 for column in columns]])
        assert not said


@pytest.mark.parametrize("ending", ENDINGS)
def test_chosen_names(tmp_path, monkeypatch, ending):
    lines = ["id,x,y,z,X2,name", *rows("{k}", behind=["5", "some one"])]
    for columns in (["x", "y", "z"], ["X", "Y", "Z"], ["2", "y", "4"]):
        assert np.array_equal(read(tmp_path, monkeypatch, ending, lines, columns=columns)[0], POINTS)
    for columns, message in (
        (["x", "x"], "got 'x', which is there twice"),
        (["x", "0"], "got '0'; it has 6"),
        (["name"], "got 'some' in column 6" if ending in {"x"} else "got 'some one' in column 6 (name)"),
    ):
        with pytest.raises(InvalidInputError) as raised:
            read(tmp_path, monkeypatch, ending, lines, columns=columns)
        assert message in str(raised.value)


def test_a_row_of_numbers_of_columns_is_said(tmp_path, monkeypatch):
    """pandas writes 0,1,2 above an array, which is a point as well."""
    found, said = read(tmp_path, monkeypatch, ".csv", ["0,1,2", *rows()])
    assert len(found) == len(POINTS) + 1
    assert "line 1 (0,1,2) is searched as a point; delete it where it has the numbers of columns" in said


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ("größe,y\n1,2\n".encode("latin-1"), "line 1: expected text in UTF-8, got the byte 0xF6"),
        ("x,y\n1,2\n# µ\n".encode("latin-1"), "line 3: expected text in UTF-8, got the byte 0xB5"),
        ("x,y\n1,2\n".encode("utf-16"), "line 1: expected text in UTF-8, got UTF-16; save it as UTF-8, or convert it"),
        ("x,y\n1,2\n".encode("utf-16-le"), "line 1: expected text in UTF-8, got a zero byte"),
        ("x,y\n1,2\n".encode("utf-32"), "got UTF-32"),
        (gzip.compress(b"1,2\n", mtime=0), "got a file that gzip packed; let its name end in .gz"),
        (b"PK\x03\x04 and so on", "got a zip archive, as .npz and .xlsx files are"),
        (b"\x93NUMPY", "got an array of numpy's; let its name end in .npy"),
        (b"1 2 3\r4 5 six\r", "line 2: expected rows of numbers, got 'six' in column 3"),
        (b"1 2 3\r\n\r\n4 5 six\r\n", "line 3: expected rows of numbers, got 'six' in column 3"),
        (b"1 2 3\n4 5\x0b6\n\x0c\n7 8 nine", "line 4: expected rows of numbers, got 'nine' in column 3"),
        (b"0.5,0.6 7\n0.7,0.8 9\n", "separate numbers by commas or spaces, not by both, and write decimals with a"),
        ("1\u202f893 2\n".encode(), "got the blank U+202F (1\\u202f893 2), which some write between thousands; leave"),
        (b"1 2 3\n4 5 \x1b[31m6\n", "line 2: expected rows of numbers, got '\\x1b[31m6' in column 3"),
    ],
)
def test_texts_of_other_programs(tmp_path, raw, message):
    for path in (tmp_path / "it's a cloud.csv", tmp_path / "cloud.csv.gz"):
        path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)
        with pytest.raises(InvalidInputError) as raised:
            files.read(path)
        assert f"{path}: {message}" in str(raised.value) or message in str(raised.value)
        if "convert" in message:
            assert "gzip -dc " in str(raised.value) or """'it'"'"'s a cloud.new.csv'""" in str(raised.value)


# --- atoms ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("comment", "before", "behind", "expected"),
    [
        ("", ["H"], [], ""),
        ("water", ["1"], [], ""),
        ("", ["H"], ["0.1", "0.2"], "coordinates are columns 2, 3, 4; left out: 5, 6"),
        ("Properties=species:S:1:pos:R:3:forces:R:3", ["H"], ["1", "2", "3"], "left out: 5, 6, 7"),
        (
            'Lattice="9 0 0 0 9 0 0 0 9" Properties=id:I:1:species:S:1:pos:R:3',
            ["7", "H"],
            [],
            "columns 3, 4, 5; left out: 1",
        ),
        ('Properties="pos:R:3:species:S:1"', [], ["H"], ""),
        ('Properties="pos:R:3:kind:S:1" energy=-3', [], ["H"], "columns 1, 2, 3; left out: 4, energy="),
    ],
)
@pytest.mark.parametrize("ending", [".xyz", ".xyz.gz"])
def test_frames_of_atoms(tmp_path, monkeypatch, comment, before, behind, expected, ending):
    lines = [str(len(ROWS)), comment, *(" ".join([*before, *row, *behind]) for row in ROWS)]
    found, said = read(tmp_path, monkeypatch, ending, lines)
    assert np.array_equal(found, POINTS)
    assert expected in said
    columns = [str(len(before) + k) for k in (1, 2, 3)]
    assert np.array_equal(read(tmp_path, monkeypatch, ending, lines, columns=columns)[0], POINTS)


def test_no_atoms(tmp_path, monkeypatch):
    for lines in (["0"], ["0", "nothing"], ["0", "", "", ""], ["000", ""]):
        assert read(tmp_path, monkeypatch, ".xyz", lines)[0].shape == (0, 3)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["2", "", "H 0 0 0"], "line 1: expected 2 atoms, got 1; the file may be cut off"),
        (["2"], "line 1: expected 2 atoms, got 0"),
        (["9" * 5000, "", "H 0 0 0"], "line 1: expected 999999"),
        (["1", "", "0.1 0.2 0.3"], "line 3: expected a symbol and three coordinates, got 0.1 0.2 0.3; complete"),
        (["1", "", "0.1 0.2 0.3 0.4"], "line 3: expected a symbol and three coordinates"),
        (
            ["2", "", "H 0 0 0", "", "H 1 1 1"],
            "line 1: expected 2 atoms, got 1; the file may be cut off",
        ),
        (["2", "", "H 0 0 0", "H 1 1"], "line 4: expected a symbol and three coordinates, got H 1 1"),
        (["1", "", "H 0 nan 0"], "line 3: expected finite numbers, got nan in column 3"),
        (["1", "Properties=id:I:1:type:I:1:at:R:3", "1 1 0 0 0"], "line 2: expected pos:R:3 among the Properties"),
        (["²", "", "H 0 0 0"], "expected"),
        (["-1", "", "H 0 0 0"], "expected"),
        ([""], "expected rows of numbers, got none"),
    ],
)
def test_frames_that_are_none(tmp_path, monkeypatch, lines, message):
    with pytest.raises(InvalidInputError) as raised:
        read(tmp_path, monkeypatch, ".xyz", lines)
    assert message in str(raised.value)
    assert len(str(raised.value)) < 400
