"""Results in files: whole or not there, in both forms, with a bar while they are written; and what Ctrl-C leaves."""

import errno
import importlib
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from test_cli import run

from clfrnn import clouds, reference
from clfrnn.cli import output as module
from clfrnn.errors import InvalidInputError

command = importlib.import_module("clfrnn.cli.search")

POINTS = clouds.uniform(300, 3, seed=4)


@pytest.fixture
def cloud(tmp_path):
    path = tmp_path / "cloud.npy"
    np.save(path, POINTS)
    return path


def test_pairs(place, cloud, tmp_path):
    out = tmp_path / "pairs.npz"
    status, printed = run(
        "search",
        cloud,
        "-r",
        0.2,
        "--device",
        place,
        "--sort",
        "index",
        "--pairs",
        "--distances",
        "--vectors",
        "-o",
        out,
    )
    assert status == 0, printed
    assert "written" in printed
    expected = reference.neighbors(POINTS, 0.2)
    with np.load(out) as found:
        assert set(found) == {"query_ids", "point_ids", "distances", "vectors"}
        assert found["query_ids"].dtype == found["point_ids"].dtype == np.int32
        assert np.array_equal(found["query_ids"], np.repeat(np.arange(300), np.diff(expected.offsets)))
        assert np.array_equal(found["point_ids"], expected.indices)
        assert np.array_equal(found["distances"], expected.distances)
    np.save(cloud, POINTS[:0])
    assert run("search", cloud, "-r", 0.2, "--device", place, "--pairs", "-o", out)[0] == 0
    with np.load(out) as found:
        assert {name: found[name].shape for name in found} == {"query_ids": (0,), "point_ids": (0,)}


@pytest.mark.parametrize(
    "array",
    [np.arange(7, dtype=np.int64), np.zeros((0, 3), np.float32), np.arange(12.0).reshape(3, 4).T, np.float64(3)],
    ids=["numbers", "empty", "transposed", "scalar"],
)
def test_archives_are_those_of_numpy(tmp_path, array):
    path = tmp_path / "a.npz"
    module.write_arrays(path, {"first": array, "second": array})
    with np.load(path) as found:
        assert set(found) == {"first", "second"}
        assert found["second"].dtype == array.dtype
        assert np.array_equal(found["second"], array)
    assert [each.name for each in tmp_path.iterdir()] == ["a.npz"]


def test_writing_is_told_of(tmp_path, monkeypatch):
    told = []

    class Bar:
        def __init__(self, what):
            assert what == "writing"

        def __enter__(self):
            return lambda done, total: told.append((done, total))

        def __exit__(self, *_):
            pass

    monkeypatch.setattr(module, "progress", Bar)
    monkeypatch.setattr(module, "_CHUNK", 100)
    module.write_arrays(tmp_path / "a.npz", {"a": np.arange(50), "b": np.arange(3)})
    assert told == [(100, 424), (200, 424), (300, 424), (400, 424), (424, 424)]


@pytest.mark.parametrize("option", ["-o", "--plot"])
@pytest.mark.parametrize("before", [None, b"an older result"], ids=["new", "over an older one"])
@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left on device"), MemoryError()]
)
def test_nothing_is_half_written(place, cloud, tmp_path, monkeypatch, option, before, error):
    if option == "--plot":
        pytest.importorskip("matplotlib", reason="plots need matplotlib")
    folder = tmp_path / "results"
    folder.mkdir()
    path = folder / ("out.npz" if option == "-o" else "out.png")
    if before:
        path.write_bytes(before)

    def fail(array):
        assert [each for each in folder.iterdir() if each != path] != [], "it has begun"
        raise error

    def draw(points, counts, path, **_):
        path.write_bytes(b"half")
        fail(None)

    monkeypatch.setattr(np.lib.format, "header_data_from_array_1_0", fail)
    monkeypatch.setattr("clfrnn.cli.pictures.draw_counts", draw)
    status, printed = run("search", cloud, "-r", 0.1, "--device", place, option, path)
    assert status == (130 if isinstance(error, KeyboardInterrupt) else 1)
    assert "Traceback" not in printed
    said = printed.splitlines()[-1]
    if isinstance(error, OSError):
        assert said.startswith(f"clfrnn: {path}: it could not be written (No space left on device); free space there")
    elif isinstance(error, MemoryError):
        assert said.startswith("clfrnn: the memory of this machine is used up; ")
    else:
        assert said == "clfrnn: interrupted; results that were not whole were not written"
    assert [(each.name, each.read_bytes()) for each in folder.iterdir()] == ([(path.name, before)] if before else [])


def test_ctrl_c_between_two_lines_of_the_archive(tmp_path, monkeypatch):
    """An archive with a member that is still open refuses to be closed, which hid the interrupt."""

    class Open(zipfile.ZipFile):
        def open(self, *_, **__):
            raise KeyboardInterrupt

        def __exit__(self, *_):
            super().close()
            raise ValueError("Can't close the ZIP file while there is an open writing handle on it.")

    monkeypatch.setattr(zipfile, "ZipFile", Open)
    with pytest.raises(KeyboardInterrupt):
        module.write_arrays(tmp_path / "a.npz", {"a": np.arange(3)})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("where", ["read_each", "_build", "_count", "_list"])
def test_ctrl_c_anywhere(place, cloud, tmp_path, monkeypatch, where):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, where, interrupt)
    status, printed = run("search", cloud, "-r", 0.1, "--device", place, "-o", tmp_path / "a.npz")
    assert (status, printed) == (130, "clfrnn: interrupted; results that were not whole were not written\n")
    assert not list(tmp_path.glob("*a*.npz"))


def test_links_stay_links(tmp_path):
    (tmp_path / "there").mkdir()
    link = tmp_path / "a.npz"
    link.symlink_to(tmp_path / "there" / "b.npz")
    module.write_arrays(link, {"a": np.arange(3)})
    assert link.is_symlink()
    with np.load(tmp_path / "there" / "b.npz") as found:
        assert found["a"].tolist() == [0, 1, 2]
    link.unlink()
    link.symlink_to(link)  # leads to itself
    module.write_arrays(link, {"a": np.arange(3)})
    assert link.is_file()


def test_where_nothing_can_be_written(tmp_path):
    with pytest.raises(
        InvalidInputError, match="it could not be written .*; free space there, or name a file in another"
    ):
        module.write_arrays(tmp_path / "no" / "a.npz", {"a": np.arange(3)})


def test_names_that_no_terminal_shows(place, cloud, tmp_path):
    """Half characters, as names of files in Latin-1 have them, and signs that steer a terminal."""
    for name in ("\udcff.npz", "\x1b[31m.npz", "a\nb.npz"):
        try:
            status, printed = run("search", cloud, "-r", 0.1, "--device", place, "-o", tmp_path / name)
        except OSError:
            pytest.skip("the file system has no such names")
        assert status == 0, printed
        assert (tmp_path / name).exists()
        assert not {"\x1b", "\udcff"} & set(printed)
    (tmp_path / "\udcff.csv").write_text("1,2\n3\n")
    status, printed = run("search", tmp_path / "\udcff.csv", "-r", 0.1, "--device", place)
    assert status == 1
    assert "\\udcff.csv: line 2: expected 2 columns" in printed


def test_notes_go_to_standard_error(place, tmp_path):
    (tmp_path / "lidar.csv").write_text("x,y,z,intensity\n0,0,0,17\n0,0,.05,200\n")
    said = [sys.executable, "-m", "clfrnn", "search", "lidar.csv", "-r", "0.1", "--device", place]
    done = subprocess.run(said, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[0] == "clfrnn: lidar.csv: coordinates are x, y, z; left out: intensity"
    assert "points   2 in 3D" in done.stdout
    assert "pairs    2," in done.stdout


def test_tables_of_other_programs(place, tmp_path):
    """A header with intensities, one with ids, and the index of pandas were searched in 4D without a word."""
    points = np.random.default_rng(0).random((500, 3))
    pairs = len(reference.neighbors(points, 0.1).indices)
    assert pairs == 972
    for header, before, behind in (
        ("x,y,z,intensity", [], ["{k}"]),
        ("id,x,y,z", ["{k}"], []),
        (",x,y,z", ["{k}"], []),
    ):
        rows = [",".join([*before, *map(repr, row), *behind]).format(k=k) for k, row in enumerate(points.tolist())]
        (tmp_path / "cloud.csv").write_text("\n".join([header, *rows]))
        status, printed = run("search", tmp_path / "cloud.csv", "-r", 0.1, "--device", place)
        assert status == 0, printed
        assert "points   500 in 3D, float64" in printed
        assert f"pairs    {pairs:,}," in printed
        assert "left out: " in printed
    (tmp_path / "none.xyz").write_text("0\nno atoms\n")
    status, printed = run("search", tmp_path / "none.xyz", "-r", 0.1, "--device", place)
    assert status == 0, printed
    assert "pairs    0, mean 0.00, most 0" in printed


@pytest.mark.parametrize(
    "words",
    [
        ("--periodic", "{cloud}", "--box", "1,1,1"),
        ("--box", "1", "1", "1", "--periodic", "{cloud}"),
        ("--box", "1", "1", "1", "{cloud}", "--periodic"),
        ("--periodic", "xyz", "{cloud}", "--box", "1,1,1"),
        ("--periodic", "--box", "-1", "-1", "-1", "0", "0", "0", "{cloud}"),
        ("--periodic=0,1,2", "--box=1,1,1", "{cloud}"),
        ("--periodic", "--box", "1", "1", "1", "--", "{cloud}"),
    ],
)
def test_words_in_any_order(place, cloud, words):
    expected = reference.neighbors(POINTS, 0.2, box=(1, 1, 1), periodic=True)
    status, printed = run("search", "-r", 0.2, "--device", place, *(word.format(cloud=cloud) for word in words))
    assert status == 0, printed
    assert f"pairs    {len(expected.indices):,}," in printed
