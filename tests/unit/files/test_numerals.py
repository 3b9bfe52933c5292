"""Texts of other languages and programs: read where they are clear, else refused with advice that works when typed."""

import re
import subprocess
import sys

import numpy as np
import pytest

from clfrnn.errors import InvalidInputError
from clfrnn.files import read

POINTS = np.round(np.random.default_rng(12).random((30, 3)) * 2000, 3)


def point(x):
    return f"{x:.3f}"


def comma(x):
    return f"{x:.3f}".replace(".", ",")


def english(x):
    return f"{x:,.3f}"


def german(x):
    return f"{x:,.3f}".translate(str.maketrans(",.", ".,"))


def lines(write, between, quote="", points=POINTS, head=()):
    return "\n".join([*head, *(between.join(quote + write(x) + quote for x in row) for row in points)]) + "\n"


CLEAR = {
    "semicolons": ((point, ";"), ".csv"),
    "semicolons and decimal commas": ((comma, ";"), ".csv"),
    "semicolons and blanks": ((comma, " ; "), ".csv"),
    "tabs and decimal commas": ((comma, "\t"), ".txt"),
    "tabs and decimal commas, .csv": ((comma, "\t"), ".csv"),
    "tabs and decimal commas, .tsv": ((comma, "\t"), ".tsv"),
    "blanks and decimal commas": ((comma, " "), ".xyz"),
    "many blanks and decimal commas": ((comma, "   "), ".dat"),
    "quoted decimal commas": ((comma, ",", '"'), ".csv"),
    "quoted, with semicolons": ((comma, ";", '"'), ".csv"),
    "commas and blanks": ((point, ", "), ".csv"),
}


@pytest.mark.parametrize("head", [(), ("X{0}Y{0}Z",), ("// made by a scanner", "//X{0}Y{0}Z"), ("sep={0}",)])
@pytest.mark.parametrize("form", CLEAR)
def test_texts_that_are_clear(tmp_path, form, head):
    (write, between, *quote), ending = CLEAR[form]
    path = tmp_path / f"cloud{ending}"
    path.write_text(lines(write, between, *quote, head=[each.format(between) for each in head]))
    assert np.array_equal(read(path).points, POINTS)


@pytest.mark.parametrize("ending", [".csv", ".txt", ".xyz", ".tsv"])
@pytest.mark.parametrize("between", [";", "\t"])
def test_names_of_columns(tmp_path, between, ending):
    path = tmp_path / f"cloud{ending}"
    if (between, ending) == (";", ".tsv"):
        pytest.skip("tabs are what .tsv says")
    rows = (between.join(["a name, with a comma", *map(comma, row[::-1]), "7"]) for row in POINTS)
    path.write_text("\n".join([between.join(["name", "z", "y", "x", "i"]), *rows]))
    cloud = read(path)
    assert np.array_equal(cloud.points, POINTS)
    assert "coordinates are x, y, z; left out: name, i" in cloud.notes[0]
    assert np.array_equal(read(path, columns=[4, "y", "2"]).points, POINTS)


@pytest.mark.parametrize(
    ("write", "between", "quote"),
    [
        (english, ";", ""),
        (english, "\t", ""),
        (english, " ", ""),
        (english, ",", '"'),
        (german, ";", ""),
        (german, "\t", ""),
        (german, ",", '"'),
    ],
)
@pytest.mark.parametrize("head", [(), ("X{0}Y{0}Z",)])
@pytest.mark.parametrize("ending", [".csv", ".txt", ".xyz", ".tsv"])
def test_thousands_are_refused_with_advice_that_works(tmp_path, write, between, quote, head, ending):
    if ending == ".tsv" and between != "\t":
        pytest.skip("tabs are what .tsv says")
    path = tmp_path / f"a cloud{ending}"
    path.write_text(lines(write, between, quote, head=[each.format(between) for each in head]))
    with pytest.raises(InvalidInputError, match="expected numbers that can be read in one way") as raised:
        read(path)
    assert np.array_equal(read(followed(str(raised.value), tmp_path)[0]).points, POINTS)


def followed(message, folder):
    """The files that are there once the lines for a shell in a message were typed."""
    if sys.platform == "win32":
        pytest.skip("the lines are for a shell")
    commands = re.findall(r"as in: (.*?)(?=; or |$)", message)
    assert commands
    found = []
    for command in commands:
        before = set(folder.iterdir())
        subprocess.run(command, shell=True, cwd=folder, check=True)
        (new,) = set(folder.iterdir()) - before
        found.append(folder / f"{len(found)}{new.suffix}")
        new.rename(found[-1])
    return found


@pytest.mark.parametrize("between", [";", " ", "\t"])
def test_what_is_one_number_here_and_another_there(tmp_path, between):
    """1,234 may be either; both pieces of advice lead to what they say."""
    path = tmp_path / "cloud.txt"
    path.write_text(between.join(["1,234", "2,345", "3,456"]) + "\n")
    with pytest.raises(InvalidInputError, match="line 1: .*got '1,234', whose comma may be a decimal one") as raised:
        read(path)
    decimals, thousands = followed(str(raised.value), tmp_path)
    assert read(decimals).points.tolist() == [[1.234, 2.345, 3.456]]
    assert read(thousands).points.tolist() == [[1234, 2345, 3456]]


def test_decimal_commas_beside_decimal_points(tmp_path):
    (tmp_path / "cloud.csv").write_text("0,5;1.5;2\n")
    with pytest.raises(InvalidInputError, match="can be read in one way") as raised:
        read(tmp_path / "cloud.csv")
    assert read(followed(str(raised.value), tmp_path)[0]).points.tolist() == [[0.5, 1.5, 2]]


def test_integers_with_commas_between_stay_three_numbers(tmp_path):
    (tmp_path / "cloud.csv").write_text("1,234,567\n2,345,678\n")
    assert read(tmp_path / "cloud.csv").points.tolist() == [[1, 234, 567], [2, 345, 678]]


@pytest.mark.parametrize(
    ("name", "text", "remedy"),
    [
        (
            "a.csv",
            "0,123,0,456,0,789\n",
            "where the commas are decimal ones, separate the numbers by semicolons; else say",
        ),
        ("a.csv", "p1,0.1,0.2,0.3\n", "as in columns=[2, 3, 4], on the command line --columns 2,3,4;"),
        ("a.csv", "id,q,a,b,c\nk,w,0.1,0.2,0.3\n", "as in columns=[3, 4, 5], on the command line --columns 3,4,5;"),
    ],
)
def test_columns_that_the_advice_names_are_numbers(tmp_path, name, text, remedy):
    (tmp_path / name).write_text(text)
    with pytest.raises(InvalidInputError) as raised:
        read(tmp_path / name)
    assert remedy in str(raised.value)
    columns = re.search(r"--columns (\S+);", str(raised.value))[1].split(",")
    assert read(tmp_path / name, columns=columns).points.shape == (1, 3)


@pytest.mark.parametrize("ending", [".txt", ".csv", ".xyz", ".pts", ".asc", ".dat", ".extxyz"])
@pytest.mark.parametrize("head", ["{n}\n", "//X Y Z\n{n}\n", "# a comment\n\n0{n}\n"])
def test_the_number_of_rows_above_them(tmp_path, ending, head):
    path = tmp_path / f"cloud{ending}"
    path.write_text(head.format(n=30) + lines(point, " "))
    assert np.array_equal(read(path).points, POINTS)
    path.write_text(head.format(n=31) + lines(point, " "))
    with pytest.raises(InvalidInputError, match="the file may be cut off"):
        read(path)


def test_scans_of_leica_and_cloudcompare(tmp_path):
    rows = "".join(f"{a} {b} {c} -1200 1 2 3\n" for a, b, c in POINTS.tolist())
    (tmp_path / "a.pts").write_text("30\n" + rows)
    cloud = read(tmp_path / "a.pts")
    assert np.array_equal(cloud.points, POINTS)
    assert "coordinates are columns 1, 2, 3; left out: 4, 5, 6, 7" in cloud.notes[0]
    (tmp_path / "a.txt").write_text("//X Y Z Intensity R G B\n30\n" + rows)
    assert np.array_equal(read(tmp_path / "a.txt").points, POINTS)


def test_one_column_of_whole_numbers_is_no_number_of_rows(tmp_path):
    (tmp_path / "a.txt").write_text("2\n5\n6\n")
    assert read(tmp_path / "a.txt").points.tolist() == [[2], [5], [6]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\u22121.5,2,3\n4,5,\u22126e1\n", [[-1.5, 2, 3], [4, 5, -60]]),
        ("-0,5;\u22120,25;1,5e2\n", [[-0.5, -0.25, 150]]),
    ],
)
def test_other_signs_of_numbers(tmp_path, text, expected):
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    assert read(tmp_path / "a.csv").points.tolist() == expected


def test_exponents_of_fortran(tmp_path):
    (tmp_path / "a.txt").write_text("1.5D+02 2d0 3\n")
    with pytest.raises(InvalidInputError, match="line 1: .*'1.5D.02' in column 1; write exponents with e") as raised:
        read(tmp_path / "a.txt")
    assert read(followed(str(raised.value), tmp_path)[0]).points.tolist() == [[150, 2, 3]]


@pytest.mark.parametrize("word", ["1'893.5", "1\u202f893,5", "1\u00a0893,5", "1\u2019893.5"])
def test_other_signs_between_thousands(tmp_path, word):
    (tmp_path / "a.csv").write_text(f"501,5;{word};2\n", encoding="utf-8")
    with pytest.raises(InvalidInputError, match="leave out what stands between thousands, and write decimals with a"):
        read(tmp_path / "a.csv")


@pytest.mark.parametrize("hole", ["nan", "NaN", "", "NA", "null"])
def test_rows_with_holes(tmp_path, hole):
    path = tmp_path / "a.csv"
    path.write_text(f"x,y,z\n1,2,3\n4,{hole},6\n7,8,9\n")
    with pytest.raises(InvalidInputError, match="line 3"):
        read(path)
    cloud = read(path, skip_nan=True)
    assert cloud.points.tolist() == [[1, 2, 3], [7, 8, 9]]
    assert cloud.skipped == 1
    path.write_text(f"x,y,z\n1,2,inf\n4,{hole},6\n")
    with pytest.raises(InvalidInputError, match="line 2: expected finite numbers, got inf"):
        read(path, skip_nan=True)


def test_arrays_with_holes(tmp_path):
    points = POINTS.copy()
    points[[3, 8], [0, 2]] = np.nan
    np.save(tmp_path / "a.npy", points)
    with pytest.raises(InvalidInputError, match="row 4: expected finite numbers, got nan in column 1"):
        read(tmp_path / "a.npy")
    cloud = read(tmp_path / "a.npy", skip_nan=True)
    assert np.array_equal(cloud.points, np.delete(POINTS, [3, 8], axis=0))
    assert cloud.skipped == 2
    points[8, 1] = np.inf
    points[9, 1] = -np.inf
    np.save(tmp_path / "a.npy", points)
    with pytest.raises(InvalidInputError, match="row 10: expected finite numbers, got -inf in column 2"):
        read(tmp_path / "a.npy", skip_nan=True)
