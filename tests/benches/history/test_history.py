"""Commits of the past, what failed there, and the page of what asv has stored."""

import importlib
import json
import math
import random
import re
import subprocess

import pytest
from click.testing import CliRunner

pytest.importorskip("asv_benches", reason="benchmarks come with a checkout")
pytest.importorskip("asv", reason="asv is an extra")
charts, history, past, stored = (
    importlib.import_module(f"asv_benches.history.{name}") for name in ("charts", "__main__", "past", "stored")
)

COUNT = "public.Count.track_step"


def results(folder, machine, commits, values):
    """What asv stores of a benchmark over devices and methods, of a list of values for each commit."""
    place = folder / machine
    place.mkdir(parents=True)
    (place / "machine.json").write_text(json.dumps({"machine": machine, "cpu": "a <CPU>", "version": 1}))
    params = [["'pocl'", "'nvidia'"], ["'strips'", "'fenns'"]]
    known = {COUNT: {"unit": "seconds", "param_names": ["device", "method"]}, "version": 2}
    (folder / "benchmarks.json").write_text(json.dumps(known))
    for k, (commit, row) in enumerate(zip(commits, values, strict=True)):
        content = {"commit_hash": commit * 5, "env_name": "python3", "date": 1_795_195_236_000 + k, "python": "3"}
        content |= {"params": {"machine": machine}, "requirements": {}, "env_vars": {}, "version": 2}
        content |= {"result_columns": ["result", "params"], "results": {COUNT: [row, params]}}
        (place / f"{commit}-python3.json").write_text(json.dumps(content))


def commits(many):
    return [f"{k:08x}" for k in range(1, many + 1)]


def test_commits_are_spread_evenly():
    assert past.spread(list("abcdefghi"), 3) == ["i", "e", "a"]
    assert past.spread(list("abc"), 20) == ["c", "b", "a"]
    assert past.spread(["a"], 20) == ["a"]


def test_what_asv_says_of_failures_is_read():
    text = """
[14.29%] ··· public.Build.track_step                                2/20 failed
             For parameters: 'pocl', 'fenns'
             Traceback (most recent call last):
               File "public.py", line 55, in build
                 raise InvalidInputError(f"method")
             clfrnn.errors.InvalidInputError: method: expected one of strips, got 'fenns'

[14.29%] ···· For parameters: 'pocl', 'fenns'
              clfrnn.errors.InvalidInputError: method: expected one of strips, got 'fenns'
              asv: benchmark failed (exit status 1)

[28.57%] ··· public.Visit.track_step                                     1/5 failed
[28.57%] ···· For parameters: 'pocl', 'strips'
              asv: benchmark failed (exit status -11)
[100.00%] ··· public.Nearest.track_step                                          ok
"""
    assert list(past.failed_in("0123abcd", text)) == [
        (
            "0123abcd",
            "Build(pocl, fenns)",
            "clfrnn.errors.InvalidInputError: method: expected one of strips, got 'fenns'",
        ),
        ("0123abcd", "Visit(pocl, strips)", "asv: benchmark failed (exit status -11)"),
    ]


def test_failures_of_a_commit_take_the_place_of_older_ones(tmp_path):
    first, second = stored.Failure("a", "Build(pocl)", "a\tword"), stored.Failure("b", "all", "none")
    stored.keep_failures(tmp_path, "a", [first])
    stored.keep_failures(tmp_path, "b", [second])
    assert list(stored.failures(tmp_path)) == [("a", "Build(pocl)", "a word"), second]
    stored.keep_failures(tmp_path, "a", [])
    assert list(stored.failures(tmp_path)) == [second]
    stored.keep_failures(tmp_path, "b", [])
    assert not (tmp_path / stored.FAILED).exists()


def test_a_stored_commit_is_not_measured_again(tmp_path):
    results(tmp_path, "m", commits(1), [[1.0, None, math.nan, math.nan]])
    (run,) = stored.runs(tmp_path)
    assert run.values == {("m", COUNT, ("pocl", "strips")): 1.0, ("m", COUNT, ("pocl", "fenns")): None}

    run.values[stored.Series("m", "public.Visit.track_step", ("pocl", "strips"))] = None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(past, "runs", lambda _: [run])
        assert past.is_done(tmp_path, "m", run.commit, ["pocl"]), "where it failed, it has run"
        assert not past.is_done(tmp_path, "m", run.commit, ["pocl", "nvidia"])
        assert not past.is_done(tmp_path, "m", "f" * 40, ["pocl"])
    stored.keep_failures(tmp_path / "m", "f" * 8, [stored.Failure("f" * 8, past.ALL, "no module")])
    assert past.is_done(tmp_path, "m", "f" * 40, ["pocl"])


def test_results_of_another_processor_are_not_mixed(tmp_path):
    results(tmp_path, "m", [], [])
    past.refuse_another(tmp_path / "new", {"cpu": "another"})
    past.refuse_another(tmp_path / "m", {"cpu": "a <CPU>", "pocl": "new here"})
    with pytest.raises(
        past.click.ClickException, match="m has results of a <CPU>, and here is another; take another name"
    ):
        past.refuse_another(tmp_path / "m", {"cpu": "another"})


def test_a_commit_that_cannot_be_imported_says_why(tmp_path):
    (tmp_path / "clfrnn").mkdir()
    (tmp_path / "clfrnn" / "__init__.py").write_text("import nothing_of_this_name")
    assert past.not_importable(tmp_path, tmp_path) == "ModuleNotFoundError: No module named 'nothing_of_this_name'"
    (tmp_path / "clfrnn" / "__init__.py").write_text("Session = None")
    assert past.not_importable(tmp_path, tmp_path) == ""


def test_commits_of_the_main_line_that_changed_what_is_measured(tmp_path):
    root = tmp_path / "root"

    def git(*words):
        who = ("-c", "user.name=x", "-c", "user.email=x@example.org")
        done = subprocess.run(["git", "-C", root, *who, *words], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    (root / "clfrnn").mkdir(parents=True)
    (root / "docs").mkdir()
    git("init", "-q")
    made = []
    for name in ("clfrnn/a.py", "docs/a.md", "clfrnn/b.py", "docs/b.md"):
        (root / name).write_text(name)
        git("add", ".")
        git("commit", "-qm", name)
        made.append(git("rev-parse", "HEAD"))
    (tmp_path / "scratch").mkdir()
    of = past.Past(tmp_path / "scratch", root, tmp_path / "results", "m")
    assert of.commits(20) == [made[3], made[2], made[0]]
    assert of.hash(made[1][:7]) == made[1]


@pytest.mark.parametrize("seed", range(3))
def test_steps_are_told_from_noise(seed):
    noise = random.Random(seed)

    def around(level, many):
        return [level * noise.uniform(0.96, 1.04) for _ in range(many)]

    assert list(history.steps_of("s", around(1.0, 20))) == []
    (step,) = history.steps_of("s", [*around(1.0, 8), None, *around(0.6, 11)])
    assert (step.before, step.behind) == (7, 9)
    assert step.now / step.was == pytest.approx(0.6, rel=0.05)
    assert 0 < step.noise < 0.05
    assert [step.noise for step in history.steps_of("s", [1.0, 0.5])] == [None]
    assert list(history.steps_of("s", [None, None])) == []


def test_the_page_stands_alone(tmp_path):
    values = [[0.002, 0.004 if k else None, math.nan, math.nan] for k in range(6)]
    values += [[0.001, 0.0041, math.nan, math.nan] for _ in range(6)]
    results(tmp_path, "m", commits(12), values)
    stored.keep_failures(
        tmp_path / "m", "0" * 7 + "1", [stored.Failure("00000001", "Count(pocl, fenns)", "no <fenns>")]
    )
    output = tmp_path / "page.html"
    done = CliRunner().invoke(history.main, ["--results", str(tmp_path), "--output", str(output)])
    assert done.exit_code == 0, done.output
    text = output.read_text(encoding="utf-8")

    assert not re.search(r"<script|<link|src=|href=|url\(|@import", text), "nothing is loaded"
    assert text.count("<figure>") == 1, "a chart with a line for each method; none for a device that is not there"
    assert "public.Count.track_step, pocl</h3>" in text
    assert text.count("<polyline") == 2
    assert text.count("<circle") == 12 + 11
    assert "strips: 2 ms at 0000000, 2026-11-20" in text
    assert "0000000</code> → <code>0000000</code>" in text
    assert "2 ms</td>" in text
    assert '<span class="down">0.50</span>' in text
    assert "no &lt;fenns&gt;" in text
    assert "a &lt;CPU&gt;" in text


def test_a_folder_without_results_is_refused(tmp_path):
    done = CliRunner().invoke(history.main, ["--results", str(tmp_path), "--output", str(tmp_path / "page.html")])
    assert done.exit_code == 1
    assert "expected results of asv, got none" in done.output


def test_the_published_page_has_all_stored_commits():
    parts = history.PAGE.read_text(encoding="utf-8").split("<h2>")
    of = {part.split("</h2>")[0]: part for part in parts}
    for run in stored.runs(history.ROOT / "asv_benches" / "results"):
        assert run.commit[: history.DIGITS] in of[run.machine], "python -m asv_benches.history writes the page anew"


@pytest.mark.parametrize(("low", "high"), [(0.001, 0.002), (0.0019, 0.0041), (1e-6, 3.0), (700, 900), (0.93, 2.0)])
def test_scales_have_some_round_numbers(low, high):
    ticks = charts.ticks(low, high)
    assert 2 <= len(ticks) <= 6
    assert all(low <= tick <= high for tick in ticks)


def test_values_are_shown_with_units():
    assert [charts.shown(value, "seconds") for value in (2.5, 0.00123, 4e-7)] == ["2.5 s", "1.23 ms", "0.4 µs"]
    assert charts.shown(3 * 2**20, "bytes") == "3 MiB"
    assert charts.shown(7, "") == "7"
