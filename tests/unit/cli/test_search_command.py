"""``clfrnn search`` and ``clfrnn source``, as a user runs them; what tests/unit/cli/test_cli.py does not look at."""

import contextlib
import importlib
import json
import math
import sys
import weakref

import numpy as np
import pytest
from conftest import PROFILES, RECORDED, position
from test_cli import run

from clfrnn import clouds, reference
from clfrnn.methods import METHODS
from clfrnn.runtime import launcher
from clfrnn.runtime.session import Session

#: the module, which its command hides
command = importlib.import_module("clfrnn.cli.search")

POINTS = clouds.uniform(500, 3, seed=1)
CELL = [[1, 0, 0], [0.3, 1, 0], [0.1, 0.2, 1]]


@pytest.fixture
def cloud(tmp_path):
    path = tmp_path / "cloud.npy"
    np.save(path, POINTS)
    return path


@pytest.mark.parametrize(
    ("said", "domain"),
    [
        (("--box", "1,1,1", "--periodic"), {"box": (1, 1, 1), "periodic": True}),
        (("--box", "1,1,1"), {"box": (1, 1, 1), "periodic": True}),
        (("--cell", "1,0,0,0.3,1,0,0.1,0.2,1"), {"cell": CELL}),
        (("--cell", "1,0,0,0.3,1,0,0.1,0.2,1", "--periodic", "xz"), {"cell": CELL, "periodic": (True, False, True)}),
        (("--cell", "1,1.5,2,90,90,90"), {"box": (1, 1.5, 2), "periodic": True}),
        (("--box", "1,1.5,2", "--periodic", "xz"), {"box": (1, 1.5, 2), "periodic": (True, False, True)}),
        (("--box", "1,1,1", "--periodic", "1"), {"box": (1, 1, 1), "periodic": (False, True, False)}),
        (("--box", "1,1,1", "--periodic", "0,2"), {"box": (1, 1, 1), "periodic": (True, False, True)}),
        (("--box", "-1,-1,-1,1,1,1", "--periodic"), {"box": ((-1, -1, -1), (1, 1, 1)), "periodic": True}),
    ],
)
def test_periodic_boxes(place, cloud, tmp_path, said, domain):
    output = tmp_path / "out.npz"
    status, printed = run(
        "search", cloud, "-r", 0.1, "--device", place, "--sort", "index", "--vectors", "-o", output, *said
    )
    expected = reference.neighbors(POINTS, 0.1, **domain)
    assert status == 0, printed
    with np.load(output) as found:
        assert np.array_equal(found["offsets"], expected.offsets)
        assert np.array_equal(found["indices"], expected.indices)
        assert np.array_equal(found["shifts"], expected.shifts)


@pytest.mark.parametrize(
    ("comment", "said", "domain"),
    [
        ('Lattice="1 0 0 0.3 1 0 0.1 0.2 1" Properties=species:S:1:pos:R:3', (), {"cell": CELL}),
        ('time=0 lattice="1 0 0 0.3 1 0 0.1 0.2 1" pbc="T F T"', (), {"cell": CELL, "periodic": (True, False, True)}),
        ('Lattice="1 0 0 0.3 1 0 0.1 0.2 1" pbc="T F T"', ("--periodic",), {"cell": CELL}),
        ('Lattice="1 0 0 0.3 1 0 0.1 0.2 1"', ("--cell", "none"), {}),
        ('Lattice="9 0 0 0 9 0 0 0 9"', ("--cell", "1,0,0,0.3,1,0,0.1,0.2,1"), {"cell": CELL}),
        ("a comment", (), {}),
    ],
)
def test_cells_in_files(place, tmp_path, comment, said, domain):
    path, output = tmp_path / "cloud.xyz", tmp_path / "out.npz"
    rows = [f"H {x!r} {y!r} {z!r}" for x, y, z in POINTS[:90].astype(float).tolist()]
    path.write_text("\n".join([str(len(rows)), comment, *rows]))
    status, printed = run("search", path, "-r", 0.2, "--device", place, "--sort", "index", "-o", output, *said)
    expected = reference.neighbors(POINTS[:90].astype(float), 0.2, **domain)
    assert status == 0, printed
    assert (", of cloud.xyz\n" in printed) == (bool(domain) and "--cell" not in said)
    assert ("of cloud.xyz, left out by --cell" in printed) == ("--cell" in said)
    with np.load(output) as found:
        assert np.array_equal(found["offsets"], expected.offsets)
        assert np.array_equal(found["indices"], expected.indices)


def test_a_damaged_cell_in_a_file(place, tmp_path):
    path = tmp_path / "cloud.xyz"
    path.write_text('1\nLattice="1 0 0"\nH 0 0 0\n')
    status, printed = run("search", path, "-r", 0.2, "--device", place)
    assert status == 1
    assert "expected the nine numbers of three lattice vectors" in printed


def test_lists_in_parts_are_whole(place, cloud, tmp_path, monkeypatch):
    monkeypatch.setattr(Session, "available", lambda _: (4 << 20, 4 << 20))
    small = tmp_path / "out.npz"
    status, printed = run(
        "search", cloud, "-r", 0.9, "--device", place, "--sort", "distance", "--distances", "--vectors", "-o", small
    )
    expected = reference.neighbors(POINTS, 0.9)
    assert status == 0, printed
    assert len(expected.indices) * 20 > 2 << 20  # several parts
    with np.load(small) as found:
        assert np.array_equal(found["offsets"], expected.offsets)
        assert np.array_equal(np.sort(found["distances"]), np.sort(expected.distances))
        assert found["vectors"].shape == (len(expected.indices), 3)
        rows, others = (np.split(lists, expected.offsets[1:-1]) for lists in (found["indices"], expected.indices))
        assert all(np.array_equal(np.sort(row), np.sort(other)) for row, other in zip(rows, others, strict=True))


@pytest.mark.parametrize("periodic", [(), ("--box", "1,1,1", "--periodic")], ids=["open", "periodic"])
@pytest.mark.parametrize("own", [(), ("--include-self",)], ids=["", "self"])
def test_halves_are_as_long_as_foreseen(place, cloud, tmp_path, periodic, own):
    """The table tells of neighbors, which no half changes; a large radius finds images of the point itself."""
    output, radius = tmp_path / "half.npz", 1.1
    domain = {"box": (1, 1, 1), "periodic": True} if periodic else {}
    expected = reference.neighbors(POINTS[:40], radius, include_self=bool(own), **domain)
    np.save(cloud, POINTS[:40])
    status, printed = run("search", cloud, "-r", radius, "--device", place, "--half", "-o", output, *periodic, *own)
    assert status == 0, printed
    rest = len(expected.indices) - (40 if own else 0)
    with np.load(output) as found:
        assert found["offsets"][-1] == len(found["indices"]) == rest // 2 + (40 if own else 0)
    assert f"pairs    {len(expected.indices):,}, mean {len(expected.indices) / 40:.2f}" in printed


def test_a_list_of_no_queries(place, cloud, tmp_path):
    np.save(tmp_path / "none.npy", POINTS[:0])
    output = tmp_path / "out.npz"
    status, printed = run(
        "search", cloud, "-r", 0.1, "--device", place, "--queries", tmp_path / "none.npy", "--distances", "-o", output
    )
    assert status == 0, printed
    with np.load(output) as found:
        assert {name: found[name].shape for name in found} == {"offsets": (1,), "indices": (0,), "distances": (0,)}


def test_a_list_that_this_machine_cannot_hold(place, cloud, tmp_path, monkeypatch):
    """Said before it is made: systems end a program that fills their memory without a word."""
    pairs = len(reference.neighbors(POINTS, 0.9).indices)
    assert pairs * 24 > 2 << 20
    monkeypatch.setattr(Session, "available", lambda _: (4 << 20, 4 << 20))
    said = ("search", cloud, "-r", 0.9, "--device", place, "--distances", "--vectors", "-o", tmp_path / "out.npz")
    free = 5 << 20  # for the list alone: compiling takes more, and is not what lacks memory here
    monkeypatch.setattr("clfrnn.host.memory.host_memory_left", lambda size: free if size < 1 << 24 else math.inf)
    status, printed = run(*said)
    assert status == 1
    assert f"the list of {pairs:,} pairs takes 0.0 GiB" in printed
    assert "smaller --radius, leave out --distances and --vectors, list each pair once by --half, or count" in printed
    assert not (tmp_path / "out.npz").exists()
    for free in (10 << 20, math.inf):  # noqa: B007 - read above
        assert run(*said)[0] == 0


def test_long_work_is_told_of(place, cloud, tmp_path, monkeypatch):
    """In slices of a launch while counting, in parts of the list behind that."""
    monkeypatch.setattr(launcher, "launch_budget", lambda *_: 500)
    monkeypatch.setattr(Session, "available", lambda _: (4 << 20, 4 << 20))
    told = {}

    @contextlib.contextmanager
    def progress(what):
        yield lambda done, total: told.setdefault(what, []).append((done, total))

    monkeypatch.setattr(command, "_progress", progress)
    status, printed = run(
        "search", cloud, "-r", 0.9, "--device", place, "--method", "strips", "--vectors", "--distances",
        "-o", tmp_path / "out.npz",
    )  # fmt: skip
    assert status == 0, printed
    assert set(told) == {"counting", "listing"}
    for steps in told.values():
        assert len(steps) > 1
        assert steps == sorted(steps)
        assert steps[-1][0] == steps[-1][1] >= 500


def test_a_bar_is_for_terminals(capsys):
    with command._progress("counting") as shown:
        shown(1, 2)
    assert capsys.readouterr() == ("", "")


def test_columns_of_a_file(place, cloud, tmp_path):
    rows = [f"p{k},{x!r},{y!r},{z!r}" for k, (x, y, z) in enumerate(POINTS.tolist())]
    table = tmp_path / "cloud.csv"
    table.write_text("\n".join(["name,x,y,z", *rows]), encoding="utf-8")
    for columns in ("x,y,z", "2, 3, 4"):
        status, printed = run("search", table, "-r", 0.1, "--device", place, "--float32", "--columns", columns)
        assert status == 0, printed
        assert f"pairs    {len(reference.neighbors(POINTS, 0.1).indices):,}, mean" in printed
    status, printed = run("search", table, "-r", 0.1, "--device", place, "--columns", "x,y,w")
    assert status == 1
    assert "got 'w'" in printed
    # Of two files, columns are those of the ones that have them.
    status, printed = run(
        "search", table, "-r", 0.1, "--device", place, "--float32", "--columns", "x,y,z", "--queries", cloud
    )
    assert status == 0, printed
    assert f"pairs    {len(reference.neighbors(POINTS, 0.1, queries=POINTS).indices):,}, mean" in printed


def test_queries_of_a_text_file(place, cloud, tmp_path):
    np.savetxt(tmp_path / "queries.csv", POINTS[:9], delimiter=",")
    said = ("search", cloud, "-r", 0.1, "--device", place, "--queries", tmp_path / "queries.csv")
    status, printed = run(*said)
    assert status == 1
    assert "round them by --float32" in printed
    assert run(*said, "--float32")[0] == 0


def test_without_a_file_neighbors_are_counted(place, cloud):
    status, printed = run("search", cloud, "-r", 0.1, "--device", place)
    assert status == 0
    assert f"pairs    {len(reference.neighbors(POINTS, 0.1).indices):,}, mean" in printed
    assert "build " in printed
    assert ", search " in printed


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ((), {}),
        (("--include-self",), {"include_self": True}),
        (("-r", "0.12"), {"radius": 0.12}),
        (("-r", "0.12", "--method", "fenns", "--box", "1,1,1"), {"radius": 0.12, "box": (1, 1, 1)}),
        (("--box", "1", "1.5", "2", "--periodic", "xz"), {"box": (1, 1.5, 2), "periodic": (True, False, True)}),
        (("--cell", "1,0,0,0.3,1,0,0.1,0.2,1"), {"cell": CELL}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
@pytest.mark.parametrize("others", [False, True], ids=["points", "queries"])
def test_the_k_nearest(place, cloud, tmp_path, said, asked, others):
    """With their distances, and on demand with vectors."""
    output, queries = tmp_path / "out.npz", POINTS[::7] + np.float32(0.01) if others else None
    words = ["--k", 5, "--device", place, "--vectors", "-o", output, *said]
    if others:
        np.save(tmp_path / "queries.npy", queries)
        words += ["--queries", tmp_path / "queries.npy"]
    status, printed = run("search", cloud, *words)
    assert status == 0, printed
    expected = reference.nearest(POINTS, 5, queries=queries, **asked)
    names = ["indices", "distances", "vectors", *(["shifts"] if asked.keys() & {"box", "cell"} else [])]
    with np.load(output) as found:
        assert list(found) == names
        for name in names:
            assert np.array_equal(found[name], getattr(expected, name)), name
    there = expected.indices >= 0
    short = int((~there[:, -1]).sum())
    fewer = f", fewer of {short} queries" if short else ""
    farthest = f"{expected.distances[there].max():.6g}"
    assert f"nearest  5 of each query{fewer}; {there.sum():,} in all, the farthest at {farthest}\n" in printed
    assert f"written  {output}: {', '.join(names)}" in printed


def test_the_k_nearest_of_few(place, cloud):
    """More neighbors than there are points, and no points at all; without a file a summary alone."""
    np.save(cloud, POINTS[:3])
    status, printed = run("search", cloud, "--k", 5, "--device", place)
    assert status == 0, printed
    assert "nearest  5 of each query, fewer of 3 queries; 6 in all, the farthest at" in printed
    np.save(cloud, POINTS[:0])
    status, printed = run("search", cloud, "--k", 5, "--device", place)
    assert status == 0, printed
    assert "nearest  5 of each query; 0 in all\n" in printed


@pytest.mark.parametrize("dim", [1, 2, 3, 5])
def test_pictures(place, tmp_path, dim):
    imread = pytest.importorskip("matplotlib.image", reason="plots need matplotlib").imread
    np.save(tmp_path / "cloud.npy", clouds.uniform(200, dim, seed=2))
    picture = tmp_path / "picture.png"
    status, printed = run("search", tmp_path / "cloud.npy", "-r", 0.1, "--device", place, "--plot", picture)
    assert status == 0, printed
    assert f"drawn    {picture}: 200 points" in printed
    pixels = imread(picture)
    assert min(pixels.shape[:2]) > 400
    assert pixels[..., :3].std() > 0.02


def test_pictures_of_queries_and_of_nothing(place, cloud, tmp_path):
    pytest.importorskip("matplotlib", reason="plots need matplotlib")
    for name, queries in (("some", POINTS[:7]), ("none", POINTS[:0]), ("equal", np.zeros((5, 3), np.float32))):
        np.save(tmp_path / f"{name}.npy", queries)
        status, printed = run(
            "search", cloud, "-r", 0.1, "--device", place, "--queries", tmp_path / f"{name}.npy",
            "--plot", tmp_path / f"{name}.pdf",
        )  # fmt: skip
        assert status == 0, printed
        assert f"{len(queries):,} points" in printed


def test_pictures_want_a_package_and_a_format(place, cloud, tmp_path, monkeypatch):
    status, printed = run("search", cloud, "-r", 0.1, "--device", place, "--plot", tmp_path / "cloud.bmp2")
    assert status == 1
    assert "pairs" not in printed, "it is said before the search"
    assert "expected a name that ends in .png, .pdf or .svg, got cloud.bmp2" in printed
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    status, printed = run("search", cloud, "-r", 0.1, "--device", place, "--plot", tmp_path / "cloud.png")
    assert status == 1
    assert "pip install 'clfrnn[plot]'" in printed


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (("--periodic",), "--periodic: say how long the box is, as in --box 10,10,10"),
        (("--box", "1,1,1", "--cell", "1,0,0,0,1,0,0,0,1"), "--box, --cell: expected one of the two, got both"),
        (
            ("--cell", "1,0,0,1"),
            "--cell: expected the 9 numbers of 3 lattice vectors or three lengths and three angles",
        ),
        (("--cell", "a,b"), "'a,b' is not numbers with commas between them"),
        (("--box", "1,1", "--periodic"), "expected 3 lengths or the 6 numbers of two corners for points in 3D, got 2"),
        (("--box", "1,one,1", "--periodic"), "'1,one,1' is not numbers with commas between them"),
        (("--box", "1,1,1", "--periodic", "xq"), "expected axes of points in 3D, as in xyz or 0,1,2, got 'xq'"),
        (("--box", "1,1,1", "--periodic", "3"), "expected axes of points in 3D"),
        (("--plot", "no/such/folder.png"), "--plot: there is no folder no/such; make it first"),
        (("-o", "no/such/folder.npz"), "--output: there is no folder no/such; make it first"),
        (
            ("--distances",),
            "--distances: it is of a list, which is written to a file; name one, as in -o neighbors.npz",
        ),
    ],
)
def test_wrong_usage(cloud, said, message):
    status, printed = run("search", cloud, "-r", 0.1, *said)
    assert status == 2
    assert message in " ".join(printed.split())


# --- source -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", ["awkward", "h200", "mi300x", "pocl"])
@pytest.mark.parametrize("method", METHODS)
def test_source_for_a_device_on_file(method, profile, monkeypatch):
    monkeypatch.setattr("clfrnn.runtime.device.list_devices", list)  # no driver is asked
    path = PROFILES / f"{profile}.json"
    for said in ((), ("--dim", 2, "--periodic"), ("--float64", "--points", 5000, "--neighbors", 3)):
        status, printed = run("source", "--method", method, "--profile", path, *said)
        if "--float64" in said and not RECORDED[profile].fp64:
            assert status == 1
            assert "has no double precision; leave it out" in printed
            continue
        assert status == 0, printed
        assert printed.startswith(f"// {method} in {2 if '--dim' in said else 3}D for {RECORDED[profile].name} (")
        assert "kernel" in printed
        assert "frnn_visit" in printed
        assert ("typedef double real;" in printed) == ("--float64" in said)


def test_source_for_this_device_is_what_it_compiles(place, session):
    import pyopencl as cl

    status, printed = run("source", "--device", place, "--method", "strips")
    assert status == 0
    options = list(session.profile.build_options)
    assert cl.Program(session.queue.context, printed).build(options).kernel_names


def test_source_for_a_report(tmp_path):
    """What ``clfrnn devices --json`` wrote as it stands, of whichever device is the default there."""
    report = {"default": 1, "devices": [{"profile": RECORDED[name].to_dict()} for name in ("pocl", "h200")]}
    path = tmp_path / "report.json"
    for default, name in ((1, "h200"), (None, "pocl")):
        path.write_text(json.dumps({**report, "default": default}))
        status, printed = run("source", "--profile", path)
        assert status == 0, printed
        assert RECORDED[name].name in printed.splitlines()[0]
    path.write_text(json.dumps({"default": None, "devices": []}))
    assert run("source", "--profile", path)[0] == 1


def test_source_says_what_is_wrong(tmp_path):
    path = tmp_path / "facts.json"
    path.write_text(json.dumps({"name": "a device"}))
    for said, status, message in (
        (("--profile", path), 1, "expected the facts of a device as `clfrnn devices --json` writes them"),
        (("--profile", path, "--device", "0"), 2, "--profile stands for a device; leave out --device"),
        (
            ("--profile", PROFILES / "h200.json", "--method", "strips", "--dim", 5),
            1,
            "strips serves 2 to 3 dimensions, not 5; --method may be one of brute_force, aabb_tree",
        ),
    ):
        done, printed = run("source", *said)
        assert done == status
        assert message in " ".join(printed.split())


def test_parts_go_to_a_folder(session, cloud, tmp_path):
    from clfrnn import parts

    device_under_test = position(session)
    folder = tmp_path / "neighbors"
    options = ["--parts", 4, "--devices", device_under_test, "--sort", "index"]
    status, text = run("search", cloud, "--radius", 0.1, *options, "-o", folder)

    assert (status, "lists" in text) == (0, True)
    expected = reference.neighbors(POINTS, 0.1)
    assert f"pairs    {len(expected.indices):,}, mean" in text
    found = parts.join(parts.read_lists(folder))
    assert np.array_equal(found.offsets, expected.offsets)
    assert np.array_equal(found.indices, expected.indices)
    status, text = run("search", cloud, "--radius", 0.1, "--devices", f"{device_under_test}, {device_under_test}")
    assert (status, text.count("device   ")) == (0, 2)
    assert f"pairs    {len(expected.indices):,}, mean" in text


def test_lists_are_never_in_memory_together(session, tmp_path, monkeypatch):
    """From a file that is mapped to files of lists, on two devices: a few of many lists are there at a time."""
    from clfrnn import parts
    from clfrnn.parts import searches

    cloud, folder, most = tmp_path / "cloud.npy", tmp_path / "neighbors", 0
    np.save(cloud, np.random.default_rng(1).random((2_000, 2), dtype=np.float32))
    there, of_rows = weakref.WeakSet(), searches.of_rows
    two = f"{position(session)}, {position(session)}"

    def counted(*given):
        nonlocal most
        found = of_rows(*given)
        there.add(found)
        most = max(most, len(there))
        return found

    monkeypatch.setattr(searches, "of_rows", counted)
    status, text = run("search", cloud, "--radius", 0.06, "--parts", 12, "--devices", two, "-o", folder)
    assert status == 0, text
    assert 0 < most <= 6
    lists = list(parts.read_lists(folder))
    pairs = sum(found.num_pairs for found in lists)
    assert len(lists) == 12
    assert f"pairs    {pairs:,}, mean {pairs / 2_000:.2f}" in text


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--k", "3"], "--k: expected a search of a whole cloud"),
        (["--radius", "1", "--device", "0"], "--device: expected a search of a whole cloud"),
        (["--radius", "1", "-o", "list.npz"], "--output: expected a folder"),
        (["--radius", "1", "--count", "-o", "lists"], "--count makes no lists"),
        (["--radius", "1", "-o", "full"], "is not empty"),
        ([], "Missing option '--radius'"),
    ],
)
def test_options_that_parts_do_not_take(cloud, tmp_path, monkeypatch, options, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    status, text = run("search", cloud, "--parts", 2, *options)
    assert status == 2
    assert said in text
