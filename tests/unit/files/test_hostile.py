"""Damaged and hostile files: one clear line each, soon, and without memory that the file does not fill."""

import os
import subprocess
import sys
from pathlib import Path

import hostile
import pytest
from conftest import run_clfrnn as run

from clfrnn.errors import ClfrnnError

#: Memory that a child may take beyond what its modules take.
_ROOM = 600 << 20

#: Reads each file by the reader of its ending; prints what it says, or the traceback.
_CHILD = """
import contextlib, importlib, random, resource, sys, time, traceback, warnings
from pathlib import Path
sys.path[:0] = [{tests!r}]
import numpy, hostile
for name in sum(hostile.NEEDED.values(), ()):
    with contextlib.suppress(ImportError):
        importlib.import_module(name)
from clfrnn import files
from clfrnn.errors import ClfrnnError
warnings.simplefilter("error")
taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (taken + {room}, taken + {room}))
ending, count, seed = {ending!r}, {count}, {seed}
path = Path({folder!r}) / f"cloud{{ending}}"
cases = list(hostile.KINDS[ending]()) if seed is None else []
chance = random.Random(seed)
if seed is not None:
    names = ("good", "good text", "deflate", "lzma", "bzip2")
    good = [raw for name, raw in hostile.KINDS[ending]() if name in names]
    cases = [("spoilt", raw) for each in good for raw in hostile.spoilt(each, chance, count // len(good))]
for name, raw in cases:
    path.write_bytes(raw)
    started = time.process_time()  # whatever else the machine does
    try:
        points = files.read(path).points
        said = f"read {{points.shape}}"
    except ClfrnnError as error:
        said = str(error)
    except BaseException:
        (path.parent / "failed").write_bytes(raw)
        said = "TRACEBACK " + traceback.format_exc()
    seconds = time.process_time() - started
    print(ascii((name, said, seconds)))
"""


def outcomes(tmp_path, ending, *, count=0, seed=None):
    """Name, message and seconds of every file."""
    if not sys.platform.startswith("linux"):
        pytest.skip("limits of memory are those of Linux")
    code = _CHILD.format(
        tests=str(Path(__file__).parent), room=_ROOM, ending=ending, count=count, seed=seed, folder=str(tmp_path)
    )
    # Threads take memory for their stacks, and a reader starts one for each core.
    environment = {**os.environ, "RAYON_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr[-3000:]
    return [eval(line) for line in done.stdout.splitlines()]


def check(found):
    for name, said, seconds in found:
        assert not said.startswith("TRACEBACK"), f"{name}: {said}"
        assert "\n" not in said.strip(), f"{name}: {said!r}"
        assert len(said) < 700, f"{name}: {said!r}"
        assert seconds < 10, f"{name}: {seconds}"
        if not said.startswith("read "):
            assert "cloud." in said
            assert "; " in said, f"{name}: no remedy in {said!r}"


@pytest.mark.parametrize("ending", hostile.KINDS)
def test_files_that_were_made_to_do_harm(tmp_path, ending):
    for package in hostile.NEEDED.get(ending, ()):
        pytest.importorskip(package, reason=f"{package} is an extra")
    found = outcomes(tmp_path, ending)
    check(found)
    said = {name: text for name, text, _ in found}
    assert said["good"].startswith("read ")


@pytest.mark.parametrize("ending", hostile.KINDS)
def test_files_that_were_spoilt(tmp_path, ending):
    for package in hostile.NEEDED.get(ending, ()):
        pytest.importorskip(package, reason=f"{package} is an extra")
    found = outcomes(tmp_path, ending, count=500, seed=7)
    assert len(found) >= 499
    check(found)


@pytest.mark.parametrize(
    ("ending", "name", "message"),
    [
        (".npz", "deflate flags 1", "got one that a password protects; unpack it"),
        (".npz", "stored checksum", "got something else (Bad CRC-32 for file 'points.npy'); save it again"),
        (".npz", "deflate as 99", "got something else"),
        (".npz", "deflate without 100", "expected an archive as numpy.savez writes it, got something else"),
        (".npz", "deflate announces 4294967294", "announces 4,294,967,294 bytes for points.npy, which it cannot hold"),
        (".npz", "terabytes", "a header that announces shape (1000000000000, 3) of float64, for which the file has 64"),
        (".npz", "a bomb", "it may be damaged or cut off: save it again"),
        (".npz", "two", "expected one array, or one named points, positions, coordinates, xyz, got a, b; save one"),
        (".npy", "(1000000000000, 3) <f8", "announces shape (1000000000000, 3) of float64, for which the file has 64"),
        (".npy", "dtype |O", "expected an array of numbers, got dtype object; save the coordinates alone"),
        (".npy", "two arrays", "got something else (1,088 bytes behind the array)"),
        (".ply", "ascii 1000000000000", "announces 1,000,000,000,000 of vertex in a file of"),
        (".pcd", "binary 1000000000000", "announces 1,000,000,000,000 points, and 480 bytes where a point takes 12"),
        (".pcd", "binary_compressed 39", "bytes, which say 1,034,905,813 packed and"),
        (".pcd", "short", "line 12: expected 3 columns, as line 11 has, got 2 (1 2); complete the line"),
        (
            ".las",
            "4294967295 at 107",
            "announces 4,294,967,295 of 34 bytes, for which the file has 1,360 bytes; it may",
        ),
        (".csv.gz", "without 8", "expected a whole file that gzip packed, got something else"),
        (".xyz", "9" * 40, "line 1: expected 99999999"),
    ],
)
def test_what_is_said(tmp_path, ending, name, message):
    for package in hostile.NEEDED.get(ending, ()):
        pytest.importorskip(package, reason=f"{package} is an extra")
    from clfrnn.files import read

    raw = next(raw for each, raw in hostile.KINDS[ending]() if each == name)
    path = tmp_path / f"cloud{ending}"
    path.write_bytes(raw)
    with pytest.raises(ClfrnnError) as raised:
        read(path)
    assert message in str(raised.value)


@pytest.mark.parametrize("ending", [".npy", ".npz", ".csv", ".xyz", ".ply", ".pcd", ".las"])
def test_the_command_line_on_them(place, tmp_path, ending):
    """What the readers take goes on to the search, which refuses in one line what is no cloud."""
    for package in hostile.NEEDED.get(ending, ()):
        pytest.importorskip(package, reason=f"{package} is an extra")
    path = tmp_path / f"cloud{ending}"
    for name, raw in hostile.KINDS[ending]():
        path.write_bytes(raw)
        status, printed = run("search", path, "-r", 0.1, "--device", place)
        assert status in (0, 1), f"{name}: {printed}"
        lines = [line for line in printed.splitlines() if line.startswith("clfrnn: ")]
        assert len(lines) == 1 or status == 0, f"{name}: {printed}"
        if status:
            assert printed.splitlines() == lines, f"{name}: {printed}"
            assert "cloud" in printed, f"{name}: {printed}"
