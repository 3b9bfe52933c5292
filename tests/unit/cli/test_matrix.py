"""``clfrnn verify --matrix``: a tiny one as users run it, and the reports of devices that are on file."""

import dataclasses
import importlib
import json
import re
import types

import numpy as np
import pytest
from conftest import ROOT
from test_cli import run

from clfrnn.errors import NoDeviceError
from clfrnn.verify import Case, edges
from clfrnn.verify.kinds import KINDS
from clfrnn.verify.matrix import DOMAINS, Cell, Row, rows, run_row
from clfrnn.verify.questions import questions

matrix_module, report_module = (
    importlib.import_module(f"clfrnn.cli.exactness.{name}") for name in ("matrix", "report")
)

SWEEPS = sorted((ROOT / "tests" / "sweep").glob("*.json"))
#: One dimension has no cells, and all pairs take the fewest programs.
ROW = Row(method="brute_force", dim=1, dtype="float32")


def only(monkeypatch, *few):
    monkeypatch.setattr(matrix_module, "rows", lambda: list(few))


def passed(row):
    """The cells of a row as if it was compared."""
    return [Cell(domain=domain, kind=kind, outcome="passed", pairs=7) for domain in row.domains for kind in KINDS]


def test_a_matrix_is_printed_and_written(place, session, monkeypatch, tmp_path):
    only(monkeypatch, ROW)
    report = tmp_path / "report.json"

    status, printed = run("verify", "--matrix", "--device", place, "--points", 40, "--seed", 3, "--json", report)

    assert status == 0, printed
    assert "seed 3, clouds of 40 points, --matrix, --quick" in printed
    assert re.search(r"^  brute_force +1  float32  \+{4} +\+{4} +\.{4} +\+{4}$", printed, re.MULTILINE)
    assert "12 passed (+), 0 refused (r), 0 failed (X)" in printed
    assert all(len(line) <= 79 for line in printed.splitlines() if re.match("  [a-z_]+ +[0-9d]", line))
    written = json.loads(report.read_text(encoding="utf-8"))
    assert (written["seed"], written["points"], written["quick"]) == (3, 40, True)
    (device,) = written["devices"]
    assert device["profile"] == json.loads(json.dumps(session.profile.to_dict()))
    (row,) = device["rows"]
    assert {name: row[name] for name in ("method", "dim", "dtype")} == dataclasses.asdict(ROW)
    assert [(cell["domain"], cell["kind"]) for cell in row["cells"]] == [(a, b) for a in ROW.domains for b in KINDS]
    assert all(cell["outcome"] == "passed" and cell["pairs"] > 0 for cell in row["cells"])
    assert len(report.read_text(encoding="utf-8").splitlines()) < 60, "a row has a line of its own"


def test_rows_are_selected_and_a_run_that_was_interrupted_goes_on(place, monkeypatch, tmp_path):
    """The second of two rows is interrupted; the first is in the file, and is not compared again."""
    rows_there = [dataclasses.replace(ROW, dim=dim) for dim in (1, 2, 3)]
    only(monkeypatch, *rows_there, Row(method="strips", dim=2, dtype="float32"))
    monkeypatch.setattr(report_module, "_commit", lambda: "a1")
    report, compared = tmp_path / "report.json", []

    def cells(session, row, **given):
        compared.append((row.dim, given["seed"]))
        if len(compared) == 2:
            raise KeyboardInterrupt
        return passed(row)

    monkeypatch.setattr(matrix_module, "run_row", cells)
    words = ("--device", place, "--points", 40, "--method", "brute_force", "--dim", 1, "--dim", 2, "--json", report)

    assert run("verify", "--matrix", *words, "--seed", 3)[0] != 0
    assert [row["dim"] for row in json.loads(report.read_text())["devices"][0]["rows"]] == [1]
    status, printed = run("verify", "--matrix", *words, "--resume")
    assert status == 0, printed
    assert compared == [(1, 3), (2, 3), (2, 3)]
    assert "28 passed" in printed
    assert [row["dim"] for row in json.loads(report.read_text())["devices"][0]["rows"]] == [1, 2]
    whole = report.read_text()
    assert run("verify", "--matrix", *words[:6], "--dim", 2, "--json", report, "--resume")[0] == 0
    assert report.read_text() == whole, "rows that the run left out"
    compared.clear()
    assert run("verify", "--matrix", *words, "--seed", 3)[0] != 0
    assert compared == [(1, 3), (2, 3)], "compared anew and interrupted"
    assert report.read_text() == whole

    status, printed = run("verify", "--matrix", *words, "--resume", "--seed", 4)
    assert status == 1
    assert "is of another run (seed 3 there, 4 now) and is not mixed" in printed
    for damaged in ("[]", whole.replace('"pairs": 7', '"pairs": "7"'), whole.replace('"dim": 2', '"dim": 20')):
        report.write_text(damaged)
        said = run("verify", "--matrix", *words, "--resume")[1]
        assert f"--resume: {report} is no report of a matrix, or a damaged one" in said


def test_a_resumed_report_tells_twins_apart(session, monkeypatch, tmp_path):
    """Of two devices that look the same, the second was not compared, and rows of the first stay in the file."""
    monkeypatch.setattr(report_module, "_commit", lambda: "a1")
    given = {"seed": 1, "points": 40, "quick": True}
    path = tmp_path / "report.json"
    first, second = (matrix_module.Table(session.profile, [], number=number) for number in (0, 1))
    report = report_module.Report(path, resume=False, **given)
    assert report.begin(first) == {}
    first.lines.append((ROW, passed(ROW)))
    report.save()

    resumed = report_module.Report(path, resume=True, **given)
    assert resumed.begin(second) == {}
    second.lines.append((ROW, passed(ROW)))
    resumed.save()

    devices = json.loads(path.read_text())["devices"]
    assert [(device["number"], len(device["rows"])) for device in devices] == [(0, 1), (1, 1)]


def test_the_number_of_a_device_counts_those_that_look_the_same(monkeypatch):
    facts = {"platform": types.SimpleNamespace(name="a driver"), "version": "3.0", "driver_version": "1"}
    names = ("a card", "another", "a card", "a card")
    found = [types.SimpleNamespace(**facts, name=name, bus=k) for k, name in enumerate(names)]
    monkeypatch.setattr(matrix_module, "list_devices", lambda: found)
    assert [matrix_module._number(each) for each in found] == [0, 0, 1, 2]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--dim 3", "--method, --dim, --dtype: expected --matrix beside it"),
        ("--matrix --resume", "--resume: expected the file that it goes on with; name it by --json"),
        ("--matrix --method strips --dim 7", "no method has all of these; leave out one of them"),
    ],
)
def test_options_that_do_not_go_together(place, words, said):
    status, printed = run("verify", "--device", place, *words.split())
    assert status == 2
    assert said in " ".join(printed.split())


def broken(*arguments, **options):
    raise RuntimeError("the driver gave up")


def refusing(session, case, asked):
    if asked.name.startswith("edges"):
        raise NoDeviceError("loops end early")
    return iter(())


def wrong(session, case, asked):
    yield f"{asked.name}: 1 pairs missing"


def test_outcomes_and_reasons(place, monkeypatch):
    """Differences and errors of drivers fail and come before refusals; the other cells are compared nevertheless."""
    only(monkeypatch, Row(method="strips", dim=2, dtype="float32"))
    for kind, gives in zip(KINDS, (wrong, refusing, broken, lambda *_: iter(())), strict=True):
        monkeypatch.setitem(KINDS, kind, gives)

    status, printed = run("verify", "--matrix", "--device", place, "--points", 40, "--seed", 3)

    assert status == 1, printed
    assert re.search(r"strips +2  float32  XrX\+ +X\+X\+ +X\+X\+ +X\+X\+", printed)
    assert "r strips 2D float32 open counts: 6 of 14 clouds; edges: loops end early" in printed
    assert "X strips 2D float32 open lists: strips 2D float32: edges: 1 pairs missing" in printed
    assert "RuntimeError: the driver gave up" in printed
    assert "8 searches failed; please report them with the first line above" in printed


def test_a_device_without_doubles_refuses_them(session):
    class Single:
        profile = dataclasses.replace(session.profile, fp64=False)

    cells = run_row(Single(), Row(method="strips", dim=3, dtype="float64"), seed=1, points=40)

    assert len(cells) == len(DOMAINS) * len(KINDS)
    assert {(cell.outcome, cell.reason) for cell in cells} == {("refused", "the device has no float64")}


def test_a_driver_that_compiles_nothing_fails_a_row_and_no_more(session, monkeypatch):
    """Clouds on edges are made with structures, before anything is compared."""
    monkeypatch.setattr(edges, "build", broken)

    cells = run_row(session, ROW, seed=1, points=40)

    assert {(cell.outcome, cell.reason) for cell in cells} == {("failed", "RuntimeError: the driver gave up")}


def test_a_report_on_standard_output_is_json_alone(place, monkeypatch):
    from click.testing import CliRunner

    from clfrnn import cli

    only(monkeypatch)

    done = CliRunner().invoke(cli.main, ["verify", "--matrix", "--device", place, "--json", "-"])

    assert json.loads(done.stdout)["devices"][0]["rows"] == []
    assert "0 passed" in done.stderr


def test_every_kind_notices_a_pair_too_many(session):
    """Compared with a reference in which the first query has its first neighbor twice."""
    case = Case(method="brute_force", options={}, dim=1, dtype=np.dtype(np.float32), seed=1, points=40)
    asked = next(each for each in questions(session, case) if each.name == "uniform")
    expected = asked.expected
    twice = np.insert(np.arange(len(expected.indices)), 0, 0)
    assert expected.offsets[1] > 0
    columns = {name: part[twice] for name, part in expected._asdict().items() if name != "offsets"}
    offsets = expected.offsets + (np.arange(len(expected.offsets)) > 0)
    changed = dataclasses.replace(asked)
    changed.__dict__["expected"] = expected._replace(offsets=offsets, **columns)
    changed.__dict__["nearest"] = [each._replace(indices=each.indices[::-1]) for each in asked.nearest]

    for kind, compare in KINDS.items():
        assert len(list(compare(session, case, changed))) == 1, kind
        assert not list(compare(session, case, asked)), kind


def test_questions_of_every_domain(session):
    """Each domain has plain questions with pairs, in each dimension; boxes of many repeat along some axes."""
    for dim in (1, 2, 3, 5, 12):
        case = Case(method="brute_force", options={}, dim=dim, dtype=np.dtype(np.float32), seed=2, points=60)
        plain = [each for each in questions(session, case) if each.plain]
        row = Row(method="brute_force", dim=dim, dtype="float32")
        assert {each.kind_of_domain for each in plain} == set(row.domains)
        for domain in row.domains:
            assert sum(len(each.expected.indices) for each in plain if each.kind_of_domain == domain), (dim, domain)
        assert all(each.where is None and "queries" not in each.domain for each in plain)


@pytest.mark.parametrize("path", SWEEPS, ids=lambda path: path.stem)
def test_reports_on_file_are_whole_and_have_no_failure(path):
    """Every method, dimension and dtype of the package, by each domain and kind: a new one makes them due again."""
    report = json.loads(path.read_text(encoding="utf-8"))
    assert re.fullmatch(r"[0-9a-f]{7,40}\+?", report["commit"] or "0" * 7)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", report["date"])
    assert report["devices"]
    for device in report["devices"]:
        assert {"name", "platform", "version", "driver", "kind"} <= device["profile"].keys()
        found = {Row(**{name: row[name] for name in ("method", "dim", "dtype")}): row for row in device["rows"]}
        assert list(found) == rows(), "made with other methods: nox -s sweep"
        for row, written in found.items():
            cells = {(cell["domain"], cell["kind"]): cell for cell in written["cells"]}
            assert set(cells) == {(domain, kind) for domain in row.domains for kind in KINDS}, row
            for cell in cells.values():
                assert cell["outcome"] in ("passed", "refused"), (row, cell)
                assert cell["pairs"] > 0 if cell["outcome"] == "passed" else cell["reason"], (row, cell)


def test_reports_of_several_drivers_are_on_file():
    platforms = {device["profile"]["platform"] for path in SWEEPS for device in json.loads(path.read_text())["devices"]}
    assert len(platforms) >= 4
