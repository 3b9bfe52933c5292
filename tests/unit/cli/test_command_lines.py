"""Wrong command lines, each with all that its message has to say: what is wrong, what was expected, what to do."""

import json
import shlex
from importlib.metadata import version

import numpy as np
import pytest
from conftest import PROFILES
from test_cli import run

CLICK = tuple(map(int, version("click").split(".")[:2]))

FLOATS = np.random.default_rng(0).random((50, 3))

ARRAYS = {
    "cloud.npy": FLOATS.astype(np.float32),
    "c64.npy": FLOATS,
    "flat.npy": np.arange(9.0),
    "cube.npy": np.zeros((2, 3, 3)),
    "bool.npy": np.zeros((4, 3), bool),
    "complex.npy": np.zeros((4, 3), complex),
    "words.npy": np.array([["a", "b"]]),
    "nan.npy": np.array([[0, 0, 0], [0, np.nan, 1]]),
    "wide.npy": np.zeros((4, 13)),
    "two.npy": np.zeros((4, 2), np.float32),
    "big.npy": np.full((4, 3), 1e300),
    "zero.npy": np.zeros((3, 0)),
}
TEXTS = {
    "ok.csv": "x,y,z,i\n1,2,3,4\n5,6,7,8\n",
    "wide.csv": "1,2,3,4\n5,6,7,8\n",
    "named.csv": "a,b,c,d\n1,2,3,4\n",
    "words.csv": "x,y,z\n1,2,3\n4,five,6\n",
    "ragged.csv": "x,y,z\n1,2,3\n4,5\n7,8,9\n",
    "eu.csv": "6,370;2,698;1,041\n",
    "hole.csv": "1,2,3\n4,,6\n",
    "inf.csv": "# far\nx,y\n1,2\n3,inf\n",
    "empty.csv": "",
    "atoms.xyz": "2\n\nH 0 0 0\n",
    "frames.xyz": "1\n\nH 0 0 0\n1\n\nH 0 0 0\n",
    "other.e57": "1 2",
    "none": "1 2",
    "facts.json": json.dumps({"name": "a device"}),
    "list.json": "[1, 2]",
    "deep.json": "[" * 100_000,
}

#: A command line, its exit status, and parts of what it says.
TABLE = [
    ("search", 2, "Missing argument 'POINTS'", "add it, as in: clfrnn search cloud.npy --radius 0.1"),
    ("search cloud.npy", 2, "Missing option '--radius' or '--k'", "search cloud.npy --radius 0.1", "as in --k 8"),
    ("search cloud.npy --k 0", 2, "'--k'", "0 is not in the range", "pass a whole number of at least 1 (find"),
    ("search cloud.npy --k 1.5", 2, "'--k'", "'1.5'", "pass a whole number of at least 1"),
    ("search cloud.npy --k 3000000000000", 1, "the 3,000,000,000,000 nearest of 50 queries take", "Take a smaller --k"),
    ("search cloud.npy --k 3 -r nan", 1, "radius: expected a finite number", "got nan"),
    ("search nan.npy --k 3", 1, "nan.npy: row 2: expected finite numbers", "got nan in column 2"),
    ("search cube.npy --k 3", 1, "cube.npy: expected an array of shape (n, dim)", "got shape (2, 3, 3)"),
    ("search bool.npy --k 3", 1, "bool.npy: points: expected float32 or float64", "got bool"),
    ("search cloud.npy --k 3 --queries two.npy", 1, "two.npy: queries: expected", "got"),
    ("search cloud.npy --k 3 --count", 2, "--count: expected a search for all neighbors", "got --k", "leave out one"),
    ("search cloud.npy --k 3 --half -o a.npz", 2, "--half: expected a search for all neighbors", "leave out one"),
    ("search cloud.npy --k 3 --plot a.png", 2, "--plot: expected a search for all neighbors", "leave out one"),
    ("search cloud.npy --k 3 --sort index -o a.npz", 2, "--sort: expected a search", "the closest first"),
    ("search cloud.npy --k 3 --vectors", 2, "--vectors: ", "is written to a file", "name one, as in -o neighbors.npz"),
    ("search cloud.npy -r", 2, "'-r' requires an argument", "write its value behind it"),
    ("search cloud.npy -r x", 2, "'--radius'", "'x'", "pass a number (search radius, in the unit of"),
    ("search cloud.npy -r ''", 2, "'--radius'", "''", "pass a number"),
    ("search cloud.npy -r nan", 1, "radius: expected a finite number", "got nan", "pass a distance"),
    ("search cloud.npy -r inf", 1, "radius: expected a finite number", "got inf", "pass a distance"),
    ("search cloud.npy -r -1", 1, "radius: expected a finite number of at least 0", "got -1.0", "pass a distance"),
    ("search cloud.npy -r 1e30", 1, "radius: expected", "whose square is finite in float32", "pass a distance"),
    ("search cloud.npy -r 0.1 --raduis 1", 2, "No such option '--raduis'", "Did you mean", "--radius"),
    ("search missing.npy -r 1", 2, "'POINTS'", "'missing.npy' does not exist", "check its name and its folder"),
    ("search folder.csv -r 1", 2, "'POINTS'", "'folder.csv' is a directory", "check its name"),
    ("search none -r 1", 1, "none: expected a name that ends in .asc", "got no ending", "save the points as one"),
    ("search other.e57 -r 1", 1, "other.e57: expected a name that ends in", "got .e57", "save the points as one"),
    ("search cloud.npy.gz -r 1", 1, "cloud.npy.gz: expected a text", "got cloud.npy.gz", "unpack it first"),
    ("search cloud.npy c64.npy -r 1", 2, "argument (c64.npy)", "expected one file of points", "name queries by --quer"),
    ("search flat.npy -r 1", 1, "flat.npy: expected an array of shape (n, dim)", "got shape (9,)", "reshape it"),
    ("search cube.npy -r 1", 1, "cube.npy: expected an array of shape (n, dim)", "got shape (2, 3, 3)", "reshape it"),
    ("search bool.npy -r 1", 1, "bool.npy: points: expected float32 or float64", "got bool", "convert"),
    ("search complex.npy -r 1", 1, "complex.npy: points: expected float32", "got complex128", "convert"),
    ("search words.npy -r 1", 1, "words.npy: expected an array of numbers", "got dtype <U1", "save the coordinates"),
    ("search nan.npy -r 1", 1, "nan.npy: row 2: expected finite numbers", "got nan in column 2", "correct or delete"),
    ("search wide.npy -r 1", 1, "wide.npy: points: expected at most 12 coordinates", "got 13", "leave out columns"),
    ("search zero.npy -r 1", 1, "zero.npy: points: expected shape (rows, dim)", "got (3, 0)", "pass one row"),
    ("search big.npy -r 1 --float32", 1, "--float32: expected", "got 1e+300 in row 1 of big.npy", "leave out"),
    ("search many.npz -r 1", 1, "many.npz: expected one array", "got a, b", "name one of them with --array"),
    ("search many.npz -r 1 --array c", 1, "expected one named 'c'", "got a, b", "name one of them"),
    ("search cloud.npy -r 1 --array a", 1, "cloud.npy: only .npz archives hold arrays", "leave out 'a' of --array"),
    (
        "search cloud.npy -r 1 --columns 1,2",
        1,
        "--columns: expected none, as cloud.npy has no columns to choose from",
        "leave it out",
    ),
    (
        "search ok.csv -r 1 --columns 0,1,2",
        1,
        "--columns: expected columns that ok.csv has",
        "got '0'",
        "count them from 1",
    ),
    ("search ok.csv -r 1 --columns ''", 1, "--columns: expected", "got ''", "name them as there, or count them from 1"),
    ("search ok.csv -r 1 --columns x,,z", 1, "--columns: expected", "got ''", "whose first row is x, y, z, i"),
    ("search ok.csv -r 1 --columns x,y,q", 1, "--columns: expected", "got 'q'", "whose first row is x, y, z, i"),
    ("search ok.csv -r 1 --columns x,x", 1, "--columns: expected", "got 'x', which is there twice", "name them"),
    ("search ok.csv -r 1 --columns ²", 1, "--columns: expected", "got '²'", "count them from 1"),
    ("search wide.csv -r 1", 1, "wide.csv: line 1: expected 3 columns or fewer", "got 4 (1,2,3,4)", "--columns 1,2,3"),
    ("search named.csv -r 1", 1, "named.csv: expected names of columns", "got a, b, c, d", "--columns 1,2,3"),
    (
        "search words.csv -r 1",
        1,
        "words.csv: line 3: expected rows of numbers",
        "got 'five' in column 2 (y)",
        "correct or",
    ),
    ("search ragged.csv -r 1", 1, "ragged.csv: line 3: expected 3 columns", "got 2 (4,5)", "complete the line"),
    ("search eu.csv -r 1", 1, "eu.csv: line 1: expected numbers", "got '6,370', whose comma", "< eu.csv > eu.new.csv"),
    ("search hole.csv -r 1", 1, "hole.csv: line 2: expected rows of numbers", "got nothing in column 2", "correct or"),
    ("search inf.csv -r 1", 1, "inf.csv: line 4: expected finite numbers", "got inf in column 2 (y)", "correct or"),
    ("search empty.csv -r 1", 1, "empty.csv: expected rows of numbers", "got none", "write one point a line"),
    ("search latin1.csv -r 1", 1, "latin1.csv: line 1: expected text in UTF-8", "got the byte 0xF6", "iconv -f WIND"),
    ("search utf16.csv -r 1", 1, "utf16.csv: line 1: expected text in UTF-8", "got UTF-16", "iconv -f UTF-16"),
    ("search atoms.xyz -r 1", 1, "atoms.xyz: line 1: expected 2 atoms", "got 1", "the file may be cut off"),
    (
        "search frames.xyz -r 1 --frame 2",
        1,
        "--frame: expected a frame that frames.xyz has",
        "got 2",
        "it has 2 frames",
    ),
    (
        "search frames.xyz -r 1 --frame -99999999999999999999999",
        1,
        "--frame: expected a frame",
        "got -99999999999999999999999",
        "it has 2 frames",
    ),
    (
        "search cut.npz -r 1",
        1,
        "cut.npz: expected an archive as numpy.savez writes it",
        "got something",
        "save it again",
    ),
    (
        "search cut.npy -r 1",
        1,
        "cut.npy: expected an array as numpy.save writes it",
        "got a header that announces",
        "save it",
    ),
    ("search c64.npy -r 1 --queries missing.npy", 2, "'--queries'", "'missing.npy' does not exist", "check its name"),
    ("search c64.npy -r 1 --queries ''", 2, "'--queries'", "'' does not exist", "check its name"),
    ("search cloud.npy -r 1 --queries two.npy", 1, "two.npy: queries: expected", "got", ""),
    (
        "search cloud.npy -r 1 --queries nan.npy",
        1,
        "nan.npy: row 2: expected finite numbers",
        "got nan in column 2",
        "corr",
    ),
    (
        "search cloud.npy -r 1 --queries c64.npy",
        1,
        "--queries: expected float32",
        "got float64 in c64.npy",
        "--float32",
    ),
    ("search c64.npy -r 1 --queries words.csv", 1, "words.csv: line 3: expected", "got 'five'", "correct or delete"),
    ("search - --queries - -r 1", 2, "--queries: standard input (-) has the points already", "save one of them"),
    ("search cloud.npy -r 1 --method kdtree", 2, "'--method'", "'kdtree' is not one of auto, brute_force"),
    (
        "search cloud.npy -r 1 --device abacus",
        1,
        "device='abacus'",
        "no device or platform has this",
        "Take one of these",
    ),
    ("search cloud.npy -r 1 --device 99", 1, "device=99", "expected a position below", "Take one of these"),
    ("search cloud.npy -r 1 --device ²", 1, "device='²'", "no device or platform has this", "Take one of these"),
    ("search cloud.npy -r 1 --device ''", 1, "device=''", "no device or platform has this", "Take one of these"),
    (f"search cloud.npy -r 1 --device {'9' * 5000}", 1, "device='999", "no device or platform", "Take one of these"),
    ("search cloud.npy -r 1 --periodic", 2, "--periodic: say how long the box is", "as in --box 10,10,10"),
    ("search --periodic cloud.npy -r 1", 2, "--periodic: say how long the box is", "as in --box 10,10,10"),
    (
        "search cloud.npy -r 1 --box 1 1 --periodic",
        2,
        "--box: expected 3 lengths",
        "two corners for points in 3D, got 2",
    ),
    ("search --periodic cloud.npy -r 1 --box 1,1", 2, "--box: expected 3 lengths", "got 2"),
    ("search cloud.npy -r 1 --box --periodic", 2, "'--box'", "'--periodic' is not numbers", "as in 10,10,20"),
    (
        "search cloud.npy -r 1 --box a,1,1 --periodic",
        2,
        "'--box'",
        "'a,1,1' is not numbers with commas",
        "as in 10,10,20",
    ),
    ("search cloud.npy -r 1 --box 1 1 x --periodic", 2, "argument (x)", "expected one file of points"),
    ("search cloud.npy -r 1 --box 0 1 1 --periodic", 1, "box: expected a positive", "got 0.0", "leave that axis out"),
    ("search cloud.npy -r 1 --box nan,1,1 --periodic", 1, "box: expected a positive", "got nan", "leave that axis out"),
    ("search cloud.npy -r 1 --box 1 1 1 --periodic xq", 2, "--periodic: expected axes of points in 3D", "got 'xq'"),
    ("search cloud.npy -r 1 --box 1 1 1 --periodic ²", 2, "--periodic: expected axes", "as in xyz or 0,1,2", "got '²'"),
    ("search cloud.npy -r 1 --box 1 1 1 --periodic 7", 2, "--periodic: expected axes", "as in xyz or 0,1,2", "got '7'"),
    ("search cloud.npy -r 1 --box 1 1 1 --periodic ''", 2, "--periodic: expected axes", "as in xyz", "got ''"),
    ("search cloud.npy -r 1 --box 1 1 1 --periodic 0.1", 2, "argument (0.1)", "expected one file of points"),
    ("search cloud.npy -r 1 --distances", 2, "--distances: it is of a list", "name one, as in -o neighbors.npz"),
    ("search cloud.npy -r 1 --pairs", 2, "--pairs: it is of a list", "name one, as in -o neighbors.npz"),
    ("search cloud.npy -r 1 --sort index", 2, "--sort: it is of a list", "name one, as in -o neighbors.npz"),
    ("search cloud.npy -r 1 --count --pairs -o a.npz", 2, "--count makes no list", "leave out --pairs"),
    (
        "search cloud.npy -r 1 --half --queries cloud.npy -o a.npz",
        1,
        "half: expected no queries",
        "got 50",
        "leave one",
    ),
    ("search cloud.npy -r 1 --sort size", 2, "'--sort'", "'size' is not one of 'index', 'distance'"),
    (
        "search cloud.npy -r 1 -o a.txt",
        2,
        "--output: expected a name that ends in .npz",
        "got a.txt",
        "call it, say, a.npz",
    ),
    ("search many.npz -r 1 --array a -o many.npz", 2, "--output: many.npz is read by this command", "name another"),
    ("search cloud.npy -r 1 -o no/a.npz", 2, "--output: there is no folder no", "make it first"),
    ("search cloud.npy -r 1 -o folder.csv", 2, "'--output'", "'folder.csv' is a directory", "check its name"),
    ("search cloud.npy -r 1 --plot no/a.png", 2, "--plot: there is no folder no", "make it first"),
    (
        "search cloud.npy -r 1 --plot a.xyz",
        1,
        "--plot: expected a name that ends in .png",
        "got a.xyz",
        "change its ending",
    ),
    ("source --dim 13", 2, "'--dim'", "13 is not in the range", "pass a whole number from 1 to 12 (coordinates of a"),
    ("source --dim x", 2, "'--dim'", "'x'", "pass a whole number from 1 to 12"),
    ("source --dim 5 --method strips", 1, "--dim: strips serves 2 to 3 dimensions, not 5", "--method may be one of"),
    ("source --method kdtree", 2, "'--method'", "'kdtree' is not one of auto"),
    ("source --points -1", 2, "'--points'", "-1 is not in the range", "pass a whole number from 0 to 2,147,483,647"),
    ("source --points 1e6", 2, "'--points'", "'1e6'", "pass a whole number from 0"),
    (f"source --points {'9' * 5000}", 2, "'--points'", "pass a whole number from 0"),
    ("source --neighbors nan", 2, "'--neighbors'", "nan is not finite", "pass a number from 0 to"),
    ("source --neighbors -3", 2, "'--neighbors'", "-3.0 is not in the range", "neighbors of each point"),
    ("source --device abacus", 1, "device='abacus'", "Take one of these"),
    (
        "source --profile facts.json",
        1,
        "facts.json: expected the facts of a device",
        "got something else",
        "write them",
    ),
    ("source --profile list.json", 1, "list.json: expected the facts of a device", "got something else", "write them"),
    ("source --profile deep.json", 1, "deep.json: expected the facts of a device", "got something else", "write them"),
    ("source --profile kind.json", 1, "kind.json: expected the facts", "kind is 'abacus', not one of cpu, gpu, other"),
    (
        "source --profile size.json",
        1,
        "size.json: expected the facts",
        "max_work_group_size is 'x'",
        "write them again",
    ),
    ("source --profile cloud.npy", 1, "cloud.npy: expected the facts of a device", "got something else", "write them"),
    ("source --profile missing", 2, "'--profile'", "'missing' does not exist", "check its name"),
    ("source --profile facts.json --device 0", 2, "--profile stands for a device", "leave out --device"),
    ("source extra", 2, "argument (extra)", "expected no more words", "leave it out"),
    ("devices extra", 2, "argument (extra)", "expected no more words", "leave it out"),
    (
        "devices --timeout 0",
        2,
        "'--timeout'",
        "0.0 is not in the range",
        "pass a number above 0 (after how many seconds",
    ),
    ("devices --timeout nan", 2, "'--timeout'", "nan is not finite", "pass a number above 0"),
    ("devices --jsn", 2, "No such option '--jsn'", "Did you mean '--json'"),
    (
        "verify --points 1",
        2,
        "'--points'",
        "1 is not in the range",
        "pass a whole number of at least 10 (points in each",
    ),
    ("verify --device abacus", 1, "device='abacus'", "Take one of these"),
    ("verify --seed x", 2, "'--seed'", "'x'", "pass a whole number of at least 0 (seed of the random"),
    ("verify --seed -1", 2, "'--seed'", "-1 is not in the range", "pass a whole number of at least 0"),
    ("verify --json out.json", 2, "--json: expected --matrix beside it", "add --matrix"),
    ("verify --matrix --json nowhere/out.json", 2, "--json: there is no folder nowhere", "make it first"),
    ("serach cloud.npy", 2, "No such command 'serach'", "Did you mean one of: 'search', 'surface'"),
    ("--nope", 2, "No such option '--nope'", "Try 'clfrnn --help' for help"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with every file that the table names."""
    path = tmp_path_factory.mktemp("files")
    for name, array in ARRAYS.items():
        np.save(path / name, array)
    np.savez(path / "many.npz", a=FLOATS, b=FLOATS)
    for name, text in TEXTS.items():
        (path / name).write_text(text, encoding="utf-8")
    (path / "latin1.csv").write_bytes("größe,y\n1,2\n".encode("latin-1"))
    (path / "utf16.csv").write_bytes("x,y\n1,2\n".encode("utf-16"))
    (path / "cloud.npy.gz").write_bytes(b"")
    (path / "cut.npz").write_bytes((path / "many.npz").read_bytes()[:-100])
    (path / "cut.npy").write_bytes((path / "c64.npy").read_bytes()[:-100])
    (path / "folder.csv").mkdir()
    facts = json.loads((PROFILES / "pocl.json").read_text())
    (path / "kind.json").write_text(json.dumps({**facts, "kind": "abacus"}))
    (path / "size.json").write_text(json.dumps({**facts, "max_work_group_size": "x"}))
    return path


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row[0][:60])
def test_wrong_lines(folder, monkeypatch, place, row):
    line, status, *parts = row
    if parts[0].startswith("No such") and CLICK < (8, 4):
        pytest.skip("words of a later click")
    monkeypatch.chdir(folder)
    words = shlex.split(line)
    if words[0] == "search" and status == 1 and "--device" not in words:
        words += ["--device", place]
    found, printed = run(*words)
    said = " ".join(printed.split())
    assert found == status, printed
    for part in parts:
        assert part in said
    assert "Traceback" not in printed
    assert len(said) < 900 + len(line)
    if status == 1:
        assert printed.startswith("clfrnn: ")
        assert printed.count("\n") == 1, "one line"
    assert sorted(each.name for each in folder.glob("a.*")) == []
