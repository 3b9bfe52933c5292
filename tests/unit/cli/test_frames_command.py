"""``clfrnn search`` of files with several frames, and of rows without coordinates."""

import numpy as np
import pytest
from click.testing import CliRunner

from clfrnn.cli import main

FRAMES = "".join(f'2\nLattice="9 0 0 0 9 0 0 0 9"\nH 0 0 0 7\nO 0 0 {z} 7\n' for z in (1, 3, 8))


def run(*words):
    done = CliRunner().invoke(main, [str(word) for word in words])
    return done.exit_code, done.output


@pytest.fixture
def path(tmp_path):
    (tmp_path / "three.xyz").write_text(FRAMES)
    return tmp_path / "three.xyz"


def pairs(printed):
    return [int(line.split()[1].strip(",")) for line in printed.splitlines() if line.startswith("pairs")]


def test_one_frame(path):
    status, printed = run("search", path, "-r", 2)
    assert (status, pairs(printed)) == (0, [2])
    assert "it has 3 frames, of which frame 0 is read; say which by --frame" in printed
    for frame, shown, expected in ((1, 1, 0), (-1, 2, 2)):
        status, printed = run("search", path, "-r", 2, "--frame", frame)
        assert (status, pairs(printed)) == (0, [expected])
        assert f"frame    {shown} of 3" in printed
        assert "say which" not in printed


def test_all_frames(path):
    status, printed = run("search", path, "-r", 2, "--frames", "--count", "-o", path.with_name("n-{frame}.npz"))
    assert (status, pairs(printed)) == (0, [2, 0, 2])
    assert printed.count("left out: 5") == 1  # for all frames
    for frame, counts in enumerate(([1, 1], [0, 0], [1, 1])):
        assert np.load(path.with_name(f"n-{frame}.npz"))["counts"].tolist() == counts


def test_rows_without_coordinates(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n0,0\n1,nan\n,2\n0,1\n")
    status, printed = run("search", tmp_path / "a.csv", "-r", 2, "--skip-nan")
    assert (status, pairs(printed)) == (0, [2])
    assert "skipped  2 without coordinates, in a.csv" in printed
    assert run("search", tmp_path / "a.csv", "-r", 2)[0] == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--frame", 3), "frame: expected a frame that"),
        (
            ("--frames", "--frame", 0),
            "--frames: expected a search of all frames alone, got --frame as well; leave it out",
        ),
        (
            ("--frames", "-o", "n.npz"),
            "--output: expected {frame} where the number of a frame is to stand, got n.npz; call",
        ),
    ],
)
def test_frames_that_are_refused(path, words, message):
    status, printed = run("search", path, "-r", 2, *words)
    assert status in (1, 2)
    assert message in printed


def test_files_without_frames(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((2, 2)))
    status, printed = run("search", tmp_path / "a.npy", "-r", 2, "--frames")
    assert status == 2
    assert "--frames: a.npy has no frames; leave it out" in printed
