"""Instructions that small searches execute, beside those of another commit: a comparison without noise.

Oclgrind simulates a device, and prints how many instructions each launch executes, and how many bytes of global memory
it loads and stores. Two runs of a commit give the same numbers to the last one, on any machine. They are no times: a
device has caches, and does several things at once. What they tell is that a commit has changed the work, and of which
search. The other commit is the parent of this one, as a copy in a folder of its own; the searches are today's, and one
that the other commit does not know is said to have failed there.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import click

from ..tools.provenance import ROOT, git, unpack
from ..versions import START

#: Run by its path in a process that finds the clfrnn of another folder.
COUNTED = Path(__file__).with_name("counted.py")

#: What rises by more than this share is told of; and seconds after which Oclgrind hangs.
MUCH, LIMIT = 0.03, 300

#: Lines of the process: what it says itself, of which kernel counts are, and how often an instruction was executed.
SAID = re.compile(r"clfrnn (\w+): (.*)")
LAUNCH = re.compile(r"Instructions executed for kernel '(.*)':")
EXECUTED = re.compile(r" *(\d+) - (?:(?:load|store) global \((\d+) bytes\))?")


class Work(NamedTuple):
    """What a search or one of its kernels has done."""

    launches: int = 0
    instructions: int = 0
    bytes: int = 0

    def plus(self, launches: int, instructions: int, of_memory: int) -> Work:
        """The same with more."""
        return Work(self.launches + launches, self.instructions + instructions, self.bytes + of_memory)


class Search(NamedTuple):
    """The work of each kernel of a search; why it failed, or ""."""

    kernels: dict[str, Work]
    failed: str = ""

    @property
    def work(self) -> Work:
        """Of all kernels."""
        return Work(*map(sum, zip(*self.kernels.values(), strict=True))) if self.kernels else Work()


def read(text: str) -> dict[str, Search]:
    """The searches in what a process has written."""
    found: dict[str, Search] = {}
    search, kernel = "", ""
    for line in text.splitlines():
        if said := SAID.fullmatch(line):
            word, more = said.groups()
            if word == "search" and more:
                search = more
                found[search] = Search({})
            elif word == "failed":
                found[search] = found[search]._replace(failed=more)
        elif search and (launch := LAUNCH.fullmatch(line)):
            kernel = launch[1]
            found[search].kernels[kernel] = found[search].kernels.get(kernel, Work()).plus(1, 0, 0)
        elif search and (executed := EXECUTED.match(line)):
            kernels = found[search].kernels
            kernels[kernel] = kernels[kernel].plus(0, int(executed[1]), int(executed[2] or 0))
    return found


def count(root: Path) -> dict[str, Search]:
    """The work of each search with the clfrnn of a folder."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("OCLGRIND_", "CLFRNN_"))}
    asked = {"OCLGRIND_INST_COUNTS": "1", "OCLGRIND_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "PYOPENCL_NO_CACHE": "1"}
    path = os.pathsep.join([str(root), *filter(None, [os.environ.get("PYTHONPATH")])])
    try:
        done = subprocess.run(  # noqa: S603 — this Python, a file of this package
            [sys.executable, "-c", START, str(COUNTED)],
            cwd=root,
            env=plain | asked | {"PYTHONPATH": path, "CLFRNN_TUNING": "off"},
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise click.ClickException(f"no end after {LIMIT} seconds") from error
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        hint = "; pip install 'pyopencl[oclgrind]'" if "Oclgrind" in last or "NoDevice" in last else ""
        raise click.ClickException(f"the process ended with {done.returncode}: {last}{hint}")
    package = dict(found.groups() for line in done.stdout.splitlines() if (found := SAID.fullmatch(line)))["package"]
    if Path(package).resolve() != (root / "clfrnn").resolve():
        raise click.ClickException(f"the process in {root} found the clfrnn of {package}")
    return read(done.stdout)


def ratio(before: int, now: int) -> str:
    """How many times as much it is now."""
    return f"{now / before:.3f}" if before else "-"


def risen(before: Work, now: Work) -> list[str]:
    """What has risen by more than a little, in words."""
    return [f"{name} {ratio(a, b)}" for name, a, b in zip(Work._fields, before, now, strict=True) if b > a * (1 + MUCH)]


def table(before: dict[str, Search], now: dict[str, Search]) -> list[str]:
    """A Markdown table of searches, with ratios to the other commit."""
    lines = ["| search | launches | ratio | instructions | ratio | bytes | ratio |", "|---|" + "---:|" * 6]
    for name, search in now.items():
        cells = [
            f"{value:,} | {ratio(other, value)}"
            for other, value in zip(before[name].work if name in before else Work(), search.work, strict=True)
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def regressions(before: dict[str, Search], now: dict[str, Search]) -> list[str]:
    """A line for each search of which something has risen, with the kernels where it has."""
    lines = []
    for name, search in now.items():
        if name in before and not before[name].failed and (words := risen(before[name].work, search.work)):
            others = before[name].kernels
            kernels = [
                f"{kernel} ({', '.join(more)})" if kernel in others else f"{kernel} (new)"
                for kernel, work in search.kernels.items()
                if (more := risen(others.get(kernel, Work()), work))
            ]
            lines.append(f"{name}: {', '.join(words)}; in {', '.join(kernels)}")
    return lines


def compare(commit: str, now: dict[str, Search]) -> None:
    """Print what has changed since a commit; what keeps it from running is said, and is no failure of this one."""
    try:
        named = git("-C", ROOT, "rev-parse", "--short", "--verify", f"{commit}^{{commit}}")
    except click.ClickException:
        click.echo(f"\nThere is no commit {commit} in this clone: it may be shallow, or at its first commit.")
        return
    with tempfile.TemporaryDirectory() as folder:
        try:
            before = count(unpack(ROOT, named, Path(folder)))
        except click.ClickException as error:
            click.echo(f"\n{named} cannot run: {error.message}")
            return
    click.echo(f"\nRatios to {named}:\n")
    click.echo("\n".join(table(before, now)) + "\n")
    for name, search in before.items():
        if search.failed:
            click.echo(f"{name}: failed at {named}: {search.failed}")
    told = regressions(before, now)
    click.echo(f"More than {MUCH:.0%} above {named}:" if told else f"Nothing is {MUCH:.0%} above {named}.")
    for line in told:
        click.echo(f"- {line}")


@click.command()
@click.option("--beside", default="HEAD~1", show_default=True, help="The other commit; HEAD: changes without a commit.")
@click.option("--json", "file", type=click.Path(path_type=Path), help="Write the counts of this checkout to a file.")
def main(*, beside: str, file: Path | None) -> None:
    """Count here and at another commit, and tell what rises. Status 1 where a search fails here."""
    now = count(ROOT)
    if file:
        content = {
            name: {kernel: work._asdict() for kernel, work in search.kernels.items()} for name, search in now.items()
        }
        file.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    failed = [f"{name}: {search.failed}" for name, search in now.items() if search.failed]
    if failed or not now:
        raise click.ClickException("; ".join(failed) or "the process told of no search")
    if not any(search.work.instructions for search in now.values()):
        raise click.ClickException("Oclgrind printed no instructions; is it the driver that is named Oclgrind?")
    compare(beside, now)


if __name__ == "__main__":
    main()
