"""Runs a few benchmarks of today at commits spread over the history, back to the first that has a clfrnn.

The benchmarks are those of ``benchmarks/public.py`` or, for ``--suite applications``, of
``benchmarks/applications.py``, which use what users may rely on and nothing else. The clfrnn of a commit is unpacked
into a folder, and asv runs them with it. What a commit lacks fails there: that is printed, and written beside the
results. A commit is stored when it is through, so a run that was stopped goes on where it was.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click

from ..benchmarks.platforms import PLATFORMS
from ..tools.provenance import MEASURED, ROOT, git, unpack
from .record import asv_run, check_history, configure, describe, devices, environment, rename, rename_back
from .stored import Failure, Series, keep_failures, runs
from .stored import failures as failures_of

BENCHMARKS = ("__init__.py", "platforms.py", "public.py", "applications.py")

#: Suites, each with the last benchmark of it: where that is stored for a commit, the suite is.
SUITES = {"public": "public.Visit.track_step", "applications": "applications.Water.track_step"}

#: Lines of asv: which benchmark is next, which parameters failed, and the words of an error.
NAMED = re.compile(r"\[[ \d.]+%\] ··· ((?:public|applications)\.\w+)\.\w+ +.*")
OF = re.compile(r" *(?:\[[ \d.]+%\] ····)? *For parameters: (.*)")
WHY = re.compile(r" *((?:[\w.]+\.)?\w*(?:Error|Exception|Interrupt)\b.*|asv: benchmark .*)")

#: Where a commit is not measured at all.
ALL = "all"


def spread(commits: list[str], many: int) -> list[str]:
    """Some of the commits, the first and the last among them, as far apart as one may have it."""
    last = len(commits) - 1
    return list(dict.fromkeys(commits[round(k * last / max(many - 1, 1))] for k in reversed(range(many))))


def failed_in(commit: str, text: str) -> Iterator[Failure]:
    """What failed in a run of asv, with the last words of each."""
    found: dict[str, str] = {}
    benchmark, of = "", ""
    for line in text.splitlines():
        if named := NAMED.match(line):
            benchmark, of = named[1].removeprefix("public."), ""
        elif parameters := OF.match(line):
            of = f"{benchmark}({parameters[1]})".replace("'", "")
        elif of and (why := WHY.match(line)) and not why[1].startswith("asv: benchmark failed (exit status 1)"):
            found[of] = why[1]
    return (Failure(commit, what, why) for what, why in found.items())


def not_importable(package: Path, scratch: Path) -> str:
    """Why Python does not load the clfrnn of a folder, or ""."""
    program = "import clfrnn, pathlib; clfrnn.Session; print(pathlib.Path(clfrnn.__file__).resolve().parent)"
    done = subprocess.run(  # noqa: S603 — this Python
        [sys.executable, "-c", program],
        cwd=scratch,
        env=environment(package),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return (done.stderr.strip().splitlines() or [f"Python ended with {done.returncode}"])[-1]
    where = Path(done.stdout.strip())
    return "" if where == (package / "clfrnn").resolve() else f"Python found the clfrnn of {where}"


def refuse_another(folder: Path, facts: dict[str, str]) -> None:
    """Raise where the results of a folder are of another processor or device: these are no series with what comes."""
    path = folder / "machine.json"
    known = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    for fact in ("cpu", *PLATFORMS):
        if fact in known and known[fact] != facts.get(fact):
            raise click.ClickException(
                f"--machine: {folder.name} has results of {known[fact]}, and here is {facts.get(fact, f'no {fact}')}; "
                "take another name"
            )


def is_done(output: Path, name: str, commit: str, asked: list[str], suite: str = "public") -> bool:
    """Whether a commit is stored with all of these devices, or is known not to run."""
    if any(each.commit == commit[:8] and each.what == ALL for each in failures_of(output / name)):
        return True
    values = {series for run in runs(output) if (run.machine, run.commit) == (name, commit) for series in run.values}
    return all(Series(name, SUITES[suite], (device, "strips")) in values for device in asked)


class Past:
    """Where benchmarks are run from: their files, and what asv takes for the repository."""

    def __init__(self, scratch: Path, history: Path, output: Path, name: str, *, suite: str = "public") -> None:
        self.scratch, self.output, self.name, self.suite = scratch, output, name, suite
        self.repository = scratch / "history.git"
        git("clone", "-q", "--bare", history, self.repository)
        benchmarks = scratch / "benchmarks"
        benchmarks.mkdir()
        for file in BENCHMARKS:
            shutil.copy(ROOT / "asv_benches" / "benchmarks" / file, benchmarks)
        self.results = scratch / "results"
        self.settings = configure(self.repository, self.results, scratch, benchmarks)

    def commits(self, many: int) -> list[str]:
        """Commits of the main line, the newest first."""
        words = ("rev-list", "--first-parent", "--reverse", "HEAD", "--", *MEASURED)
        line = git(f"--git-dir={self.repository}", *words)
        head = git(f"--git-dir={self.repository}", "rev-parse", "HEAD")
        return spread([*(each for each in line.split() if each != head), head], many)

    def hash(self, commit: str) -> str:
        """The whole name of a commit."""
        return git(f"--git-dir={self.repository}", "rev-parse", "--verify", f"{commit}^{{commit}}")

    def measure(self, commit: str, asked: list[str]) -> list[Failure]:
        """Run the benchmarks at a commit and store what they give; what failed."""
        with tempfile.TemporaryDirectory(dir=self.scratch) as folder:
            package = unpack(self.repository, commit, Path(folder))
            if why := not_importable(package, self.scratch):
                failed = [Failure(commit[:8], ALL, why)]
                (self.output / self.name).mkdir(parents=True, exist_ok=True)
            else:
                failed = self._run(commit, package, asked)
        before = [each for each in failures_of(self.output / self.name) if each.commit == commit[:8]]
        others = [each for each in before if each.what.startswith("applications.") != (self.suite == "applications")]
        keep_failures(self.output / self.name, commit[:8], [*others, *failed])
        return failed

    def _run(self, commit: str, package: Path, asked: list[str]) -> list[Failure]:
        """With asv, in a folder of its own, from which what is whole is copied."""
        shutil.rmtree(self.results, ignore_errors=True)
        mine, theirs = self.results / self.name, self.output / self.name
        mine.mkdir(parents=True)
        for path in theirs.glob(f"{commit[:8]}-*.json"):
            shutil.copy(path, mine)
        rename_back(mine, commit)
        done = subprocess.run(  # noqa: S603
            [*asv_run(self.settings, commit, self.name), *(rf"--bench=^{self.suite}\..*{device}" for device in asked)],
            cwd=self.scratch,
            env=environment(package),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        rename(mine)
        if not list(mine.glob(f"{commit[:8]}-*.json")):
            raise click.ClickException(f"asv stored nothing at {commit[:8]}; its words were:\n{done.stdout[-4000:]}")
        theirs.mkdir(parents=True, exist_ok=True)
        for path in mine.glob("*.json"):
            shutil.copy(path, theirs)
        known, found = (path / "benchmarks.json" for path in (self.output, self.results))
        before = json.loads(known.read_text(encoding="utf-8")) if known.is_file() else {}
        known.write_text(json.dumps(before | json.loads(found.read_text(encoding="utf-8")), indent=4, sort_keys=True))
        return list(failed_in(commit[:8], done.stdout))


@click.command()
@click.option("--machine", "name", required=True, help="The name that the results are kept under.")
@click.option("--device", "asked", multiple=True, help="One of the devices of benchmarks, pocl for one; else all here.")
@click.option("--suite", type=click.Choice(list(SUITES)), default="public", show_default=True, help="What is measured.")
@click.option("--commits", "many", default=20, show_default=True, help="How many, spread over the history.")
@click.option("--history", type=click.Path(exists=True, path_type=Path), help="A git bundle, where there is no clone.")
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=ROOT / "asv_benches" / "results",
    help="The folder of results.",
)
@click.argument("commits", nargs=-1)
def main(
    name: str, asked: tuple[str, ...], suite: str, many: int, history: Path | None, output: Path, commits: list[str]
) -> None:
    """Measure at COMMITS, or at some that are spread over the history; store what they give beside other results."""
    from asv.machine import MachineCollection  # noqa: PLC0415 — `bench` is an extra

    here = devices()
    if missing := [device for device in asked or here or ("any",) if device not in here]:
        raise click.BadParameter(f"expected devices among {list(here)}, got {missing}", param_hint="--device")
    check_history(history)
    with tempfile.TemporaryDirectory() as folder:
        past = Past(Path(folder), history or ROOT, output.resolve(), name, suite=suite)
        facts = describe(name)
        refuse_another(output / name, facts)
        MachineCollection.save(name, facts)
        for commit in map(past.hash, commits) if commits else past.commits(many):
            if is_done(output, name, commit, list(asked or here), suite):
                click.echo(f"{commit[:8]}: stored before")
                continue
            failed = past.measure(commit, list(asked or here))
            click.echo(f"{commit[:8]}: {f'{len(failed)} failed' if failed else 'all ran'}")
            for each in failed:
                click.echo(f"    {each.what}: {each.why}")


if __name__ == "__main__":
    main()
