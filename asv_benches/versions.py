"""Steps of another checkout and of this one in turns, each in a process of its own, as a Markdown table.

Other work on a host moves times by more than most commits do, and meets both alike. The other checkout is a folder:
``git worktree add ../before main~1`` makes one. Milliseconds: medians over rounds of 20 steps, and of the ratio within
each round. Wall times are means within one, of steps that are waited for one by one, and in a loop of which the last
alone is. A GPU takes some time to go from one process to the other, which each turn pays for.
"""

from __future__ import annotations

import contextlib
import os
import random
import statistics
import subprocess
import sys
from pathlib import Path

import click

from .tools.provenance import ROOT, commit
from .tools.tables import head, row

#: Run by its path in a process that finds the clfrnn of the folder where it was started.
SERVED = Path(__file__).parent / "tools" / "served.py"
START = "import runpy, sys; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"


class Checkout:
    """A process with the clfrnn of a folder, that does the steps it is asked for."""

    def __init__(self, root: Path, device: str, scale: int, served: Path = SERVED) -> None:
        self._process = subprocess.Popen(  # noqa: S603 — this Python, a file of this package
            [sys.executable, "-c", START, str(served), device, str(scale)],
            cwd=root,
            env=os.environ | {"PYTHONPATH": os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.root = root
        try:
            self.device, self.steps = self._introduce()
        except BaseException:
            self._process.kill()
            self._process.communicate()
            raise

    def _introduce(self) -> tuple[str, list[str]]:
        """The device and the steps of a process that has found the clfrnn of its folder."""
        package, device = self._answer().split("\t")
        if Path(package).resolve() != (self.root / "clfrnn").resolve():
            raise click.ClickException(f"the process in {self.root} found the clfrnn of {package}")
        return device, self._answer().split("\t")

    def _answer(self) -> str:
        assert self._process.stdout is not None
        if not (line := self._process.stdout.readline()):
            raise click.ClickException(f"the process of {self._process.args[-3:]} ended; its own words stand above")
        return line.rstrip("\n")

    def milliseconds(self, step: str) -> float:
        """The time of a step, which it is waited for."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # a process that has ended does not answer either
            self._process.stdin.write(step + "\n")
            self._process.stdin.flush()
        return float(self._answer())

    def end(self) -> None:
        """Let the process end."""
        self._process.communicate()
        if self._process.returncode:
            raise click.ClickException(f"the process in {self.root} ended with {self._process.returncode}")


@click.command()
@click.argument("other", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--device", default="", help="As for `clfrnn search`.")
@click.option("--rounds", default=30, show_default=True, help="How often each step is timed.")
@click.option("--scale", default=1, show_default=True, help="Clouds of one point in so many, for slow devices.")
def main(*, other: Path, device: str, rounds: int, scale: int) -> None:
    """Measure, and print a Markdown table."""
    if not (other / "clfrnn" / "__init__.py").is_file():
        raise click.BadParameter(f"expected a checkout with a folder clfrnn, got {other}", param_hint="OTHER")
    both = [Checkout(root.resolve(), device, scale) for root in (other, ROOT)]
    taken: dict[str, list[tuple[float, float]]] = {step: [] for step in both[1].steps}
    orders = random.Random(0)  # noqa: S311 — nothing is kept secret by it
    for _ in range(rounds):
        for step, times in taken.items():
            found = {k: both[k].milliseconds(step) for k in orders.sample((0, 1), 2)}
            times.append((found[0], found[1]))
    for each in both:
        each.end()
    click.echo(f"{both[1].device}, {rounds} rounds\n")
    names = [commit(root.resolve()) or word for word, root in (("the other", other), ("this", ROOT))]
    head("cloud", "step", "time", *(f"{name}:" for name in names), "ratio:")
    for step, times in taken.items():
        before, now = (statistics.median(column) for column in zip(*times, strict=True))
        ratio = statistics.median(b / a for a, b in times)
        row(step, f"{before:.3f}", f"{now:.3f}", f"{ratio:.2f}")


if __name__ == "__main__":
    main()
