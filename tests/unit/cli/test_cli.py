"""The command line, as a user runs it."""

import dataclasses
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from conftest import PROFILES
from conftest import run_clfrnn as run

import clfrnn
from clfrnn import cli, clouds, reference, verify
from clfrnn.methods import METHODS
from clfrnn.runtime import rendering
from clfrnn.runtime import session as session_module
from clfrnn.runtime.device import find_device, list_devices
from clfrnn.verify import comparison
from clfrnn.verify.questions import questions

POINTS = clouds.uniform(500, 3, seed=1)
EXPECTED = reference.neighbors(POINTS, 0.1)


@pytest.fixture
def cloud(tmp_path):
    path = tmp_path / "cloud.npy"
    np.save(path, POINTS)
    return path


def test_search_writes_the_list(place, cloud, tmp_path):
    output = tmp_path / "neighbors.npz"

    status, printed = run(
        "search", cloud, "--radius", 0.1, "--device", place, "--sort", "index", "--distances", "--vectors", "-o", output
    )

    with np.load(output) as archive:
        written = dict(archive)
    assert status == 0
    assert f"pairs    {len(EXPECTED.indices):,}, mean" in printed
    assert "points   500 in 3D, float32" in printed
    assert set(written) == {"offsets", "indices", "distances", "vectors"}
    assert np.array_equal(written["offsets"], EXPECTED.offsets)
    assert np.array_equal(written["indices"], EXPECTED.indices)
    assert np.array_equal(written["distances"], EXPECTED.distances)


CSV = {
    "plain": lambda rows: rows,
    "headed": lambda rows: ["x,y,z", *rows],
    "headed E, N, a": lambda rows: ["E,N,a", *rows],
    "byte order mark": lambda rows: ["\ufeff" + rows[0], *rows[1:]],
    "comments": lambda rows: ["# from a scanner, 2026", "", *rows],
    "spaces": lambda rows: [row.replace(",", "  ") for row in rows],
}


@pytest.mark.parametrize("form", sorted(CSV))
def test_search_reads_csv(place, tmp_path, form):
    path, counts = tmp_path / "cloud.csv", tmp_path / "counts.npz"
    rows = [",".join(map(repr, row)) for row in POINTS.tolist()]
    path.write_text("\n".join(CSV[form](rows)) + "\n", encoding="utf-8")

    status, printed = run("search", path, "-r", 0.1, "--device", place, "--count", "--float32", "-o", counts)

    assert status == 0, printed
    with np.load(counts) as written:
        assert np.array_equal(written["counts"], np.diff(EXPECTED.offsets))


def test_search_with_queries_and_a_method(place, cloud, tmp_path):
    queries = clouds.uniform(40, 3, seed=2)
    np.save(tmp_path / "queries.npy", queries)

    status, printed = run(
        "search", cloud, "-r", 0.1, "--queries", tmp_path / "queries.npy", "--method", "uniform_grid", "--device", place
    )

    assert status == 0
    assert "queries  40" in printed
    assert f"pairs    {reference.neighbors(POINTS, 0.1, queries=queries).offsets[-1]:,}," in printed
    assert "method   uniform_grid" in printed


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["search", "{cloud}", "-r", "-1"], 1, "clfrnn: radius: expected a finite number of at least 0"),
        (["search", "{cloud}"], 2, "Missing option '--radius'"),
        (["search", "missing.npy", "-r", "1"], 2, "does not exist"),
        (
            ["search", "{other}", "-r", "1"],
            1,
            "expected a name that ends in .asc, .cif, .csv, .dat, .dump, .ent, .extxyz",
        ),
        (["search", "{broken}", "-r", "1"], 1, "expected an array as numpy.save writes it"),
        (["search", "{words}", "-r", "1"], 1, "expected rows of numbers"),
        (["search", "{empty}", "-r", "1"], 1, "expected rows of numbers, got none"),
        (["search", "{nothing}", "-r", "1"], 1, "expected an array as numpy.save writes it"),
        (["search", "{cloud}", "-r", "1", "-o", "x.txt"], 2, "expected a name that ends in .npz"),
        (["search", "{cloud}", "-r", "1", "--count", "--half"], 2, "--count makes no list; leave out --half"),
        (["search", "{cloud}", "-r", "1", "--method", "kdtree"], 2, "'kdtree' is not one of"),
        (["search", "{cloud}", "-r", "1", "--device", "abacus"], 1, "clfrnn: device='abacus'"),
        (["verify", "--points", "3"], 2, "3 is not in the range"),
    ],
)
def test_wrong_usage(cloud, tmp_path, arguments, status, message):
    files = {"cloud": cloud}
    for name, suffix, text in (
        ("other", ".e57", "1 2"),
        ("broken", ".npy", "1 2"),
        ("words", ".csv", "1,2\na,b\n"),
        ("empty", ".csv", "x,y\n"),
        ("nothing", ".npy", ""),
    ):
        files[name] = tmp_path / (name + suffix)
        files[name].write_text(text)

    found, printed = run(*(argument.format(**files) for argument in arguments))

    assert (found, message in printed) == (status, True), printed
    assert "Traceback" not in printed


def test_devices_lists_every_device():
    status, printed = run("devices")

    rows = dict(re.findall(r"^  (\d+)[* ] (.*)  (?:usable|NOT USABLE)$", printed, re.MULTILINE))
    assert rows == {str(k): profile.name for k, profile in enumerate(clfrnn.devices())}
    assert re.search(rf"^  {list_devices().index(find_device())}\* .*  usable$", printed, re.MULTILINE)
    assert "chosen    work-groups of" in printed
    assert printed.splitlines()[-1].startswith("Ready: ")
    assert status == 0


def test_version_and_help():
    assert run("--version") == (0, f"clfrnn, version {clfrnn.__version__}\n")
    assert "search" in run("-h")[1]


@pytest.fixture
def few_cases(monkeypatch):
    """Of all that is verified, what takes no minutes to compile: each method once."""
    every = verify.cases
    plain = {name: method.variations[0] for name, method in METHODS.items()}

    def some(*arguments, **options):
        cases = every(*arguments, **{**options, "quick": False})
        return [each for each in cases if (each.dim, each.dtype.itemsize, each.options) == (3, 4, plain[each.method])]

    monkeypatch.setattr(verify, "cases", some)


def test_every_way_is_verified(profile):
    found = {(case.method, case.dim, str(case.dtype)) for case in verify.cases(profile, seed=1, points=50)}

    assert {method for method, *_ in found} == set(METHODS)
    for method in METHODS.values():
        assert {dim for name, dim, _ in found if name == method.name} == set(method.dims)
    assert ("strips", 3, "float64") in found or not profile.fp64


@pytest.mark.parametrize("seed", range(4))
def test_quick_cases_are_few_of_every_method(profile, seed):
    found = list(verify.cases(profile, seed=seed, points=50, quick=True))

    assert len(found) <= 14
    assert all(case.quick for case in found)
    for method in METHODS.values():
        own = [case for case in found if case.method == method.name]
        assert [case for case in own if case.options in method.variations] == own
        assert all(options in [case.options for case in own] for options in method.variations)
        assert {case.dim for case in own} == {2, 3}
        assert len({case.dtype for case in own}) == (2 if profile.fp64 else 1)


def test_questions_of_a_case(session):
    """A quick case draws one of each kind; cells are not rectangular; the reference is computed once."""
    facts = {"method": "brute_force", "options": {}, "dim": 3, "dtype": np.dtype(np.float32), "points": 40}
    drawn, whole = set(), {each.name: each for each in questions(session, verify.Case(**facts, seed=3))}
    for seed in range(30):
        quick = {each.name for each in questions(session, verify.Case(**facts, seed=seed, quick=True))}
        assert quick < whole.keys()
        assert sum("box" in name or "cell" in name or name == "many systems" for name in quick) in (1, 2)
        drawn |= quick

    assert drawn == whole.keys()
    cell = whole["a cell"].domain["cell"]
    assert np.count_nonzero(cell) == 9
    assert whole["a cell"].expected is whole["a cell"].expected
    assert len(whole["a condition in a cell"].expected.indices) < len(whole["a cell"].expected.indices)
    assert all(len(each.expected.indices) for each in whole.values())


def test_verify_prints_a_method_when_it_is_through(monkeypatch):
    events = []

    def compare(session, case):
        events.append(case.method)
        return verify.Outcome(case=case, pairs=1, differences=[])

    monkeypatch.setattr(verify, "run_case", compare)
    monkeypatch.setattr(cli.click, "echo", lambda text, **_: events.append(text))
    status, _ = run("verify", "--device", "0", "--seed", 7)

    assert status == 0
    assert events[0] == "seed 7, clouds of 600 points, --quick"
    lines = [re.sub(r"\s+", " ", line) for line in events[2:]]
    assert lines[:4] == ["brute_force"] * 2 + [" brute_force 2 cases, 2 pairs exact", "uniform_grid"]
    many = sum(event in METHODS for event in events)
    assert events[-1] == f"\npassed: {many} pairs are those of numpy, in {many} cases on 1 device"


@pytest.mark.usefixtures("few_cases")
def test_verify_finds_this_device_exact(place, monkeypatch):
    few, every = {"brute_force", "strips"}, verify.cases  # other methods compile for long
    monkeypatch.setattr(verify, "cases", lambda *a, **k: [each for each in every(*a, **k) if each.method in few])

    status, printed = run("verify", "--device", place, "--points", 60, "--seed", 1)

    assert status == 0, printed
    verdicts = {line.split()[0]: line.split()[-1] for line in printed.splitlines() if " cases, " in line}
    assert verdicts == dict.fromkeys(few, "exact")
    assert re.fullmatch(r"passed: [\d,]+ pairs are those of numpy, in 2 cases on 1 device", printed.splitlines()[-1])


@pytest.mark.usefixtures("few_cases")
def test_verify_tells_of_searches_that_a_device_refuses(place, monkeypatch):
    """A driver that ends loops early would lose pairs, and the search refuses it: no difference, and not silent."""
    read = session_module.read_profile
    ends_early = {"loop_turns": 900}
    monkeypatch.setattr(session_module, "read_profile", lambda device: dataclasses.replace(read(device), **ends_early))
    every = verify.cases
    monkeypatch.setattr(
        verify, "cases", lambda *a, **k: [each for each in every(*a, **k) if each.method == "brute_force"]
    )

    status, printed = run("verify", "--device", place, "--points", 60, "--seed", 1)

    assert status == 0, printed
    assert re.search(
        r"brute_force +1 cases, .* pairs   exact, \d+ searches refused\n    brute_force 3D float32: ", printed
    )
    assert "its driver ends the loops of a work-item after 900 turns" in printed
    assert re.search(r"^passed: .* in 1 cases on 1 device, and \d+ searches refused$", printed, re.MULTILINE)


@pytest.fixture
def narrowed(monkeypatch, tmp_path):
    """Templates in which the window of a query is too narrow by one rounding."""
    root = Path(shutil.copytree(rendering.template_root(), tmp_path / "templates"))
    cells = root / "methods/grid/cells.mako"
    text = cells.read_text()
    assert text.count(', frnn_reach"') == 1
    cells.write_text(text.replace(', frnn_reach"', ', frnn_radius"'))
    monkeypatch.setattr(rendering, "template_root", lambda: root)


@pytest.mark.usefixtures("few_cases")
@pytest.mark.parametrize("subnormals", [True, False])
def test_verify_notices_a_window_that_is_too_narrow(place, narrowed, subnormals, monkeypatch):
    """Also on a device that flushes subnormals, which excuses pairs at subnormal distances and no others."""
    read = session_module.read_profile
    monkeypatch.setattr(
        session_module, "read_profile", lambda device: dataclasses.replace(read(device), subnormals=subnormals)
    )
    broken, every = {"brute_force", "uniform_grid", "strips"}, verify.cases  # others have templates of their own
    monkeypatch.setattr(verify, "cases", lambda *a, **k: [each for each in every(*a, **k) if each.method in broken])
    # Such windows show on edges of cells; that all else is asked, too, the test of exact devices sees.
    monkeypatch.setattr(
        comparison, "questions", lambda *a: (each for each in questions(*a) if each.name.startswith("edges"))
    )

    status, printed = run("verify", "--device", place, "--points", 250, "--seed", 0)

    assert status == 1, printed
    assert "pairs missing, 0 too many; query" in printed
    assert "cases differ from the reference; please report them" in printed
    assert re.search(r"^failed: (\d+) of \d+ cases on 1 device$", printed, re.MULTILINE)
    verdicts = {line.split()[0]: line.split()[-1] for line in printed.splitlines() if " cases, " in line}
    assert verdicts["brute_force"] == "exact", "it has no window"
    assert verdicts["uniform_grid"] == verdicts["strips"] == "DIFFER"
    assert "edges" in printed
    assert "edges of a torus" in printed


def test_profiles_on_file_are_those_of_real_devices():
    """A recorded profile has the fields of today."""
    for path in PROFILES.glob("*.json"):
        clfrnn.DeviceProfile.from_dict(json.loads(path.read_text()))
