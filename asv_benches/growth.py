"""The figures of docs/performance.md for growth: the time of each point in clouds of the same density and more points.

Nanoseconds a point, of the time in kernels and of that from the first launch's start to the last one's end, for an
update with counts and with lists; the median of five steps and more. Behind them, how much longer the slowest of the
large clouds takes for a point than the quickest, in each column.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import click
import numpy as np
import pyopencl.array as cla

import clfrnn
from clfrnn.errors import ClfrnnError

from .benchmarks.common import Seconds, profiled, timed, uniform_radius
from .named import STEPS
from .provenance import say

#: Binary logarithms of numbers of points: on a GPU, and on a CPU.
POWERS, FEW_POWERS = range(16, 27), range(14, 21)

NEIGHBORS = (3, 49)

#: From so many points on, by the binary logarithm, a time for each is compared with that of others.
COMPARED, FEW_COMPARED = 20, 17

#: Longer lists are left out.
MOST_PAIRS = 1 << 30

#: Of steps that took so many seconds together, five are enough.
ENOUGH = 0.5


class Row(NamedTuple):
    """A cloud of two to some power points, and the times of its steps."""

    power: int
    count: Seconds
    lists: Seconds | None

    def share(self, seconds: Seconds) -> tuple[float, float]:
        """Nanoseconds of a point, in kernels and from first to last."""
        return 1e9 * seconds.kernels / 2**self.power, 1e9 * seconds.span / 2**self.power


def measure(session: clfrnn.Session, power: int, neighbors: float) -> Row:
    """An even cloud in the unit cube."""
    n = 1 << power
    points: Any = cla.to_device(session.queue, np.random.default_rng(0).random((n, 3), dtype=np.float32))
    index = clfrnn.build_index(points, uniform_radius(n, neighbors), session=session)
    pairs = int(index.count().get().sum(dtype=np.int64))
    assert pairs > 0, "a benchmark that finds nothing measures nothing"

    def count() -> object:
        index.update(points)
        return index.count()

    def lists() -> object:
        index.update(points)
        return index.query()

    count_seconds = timed(session, count, STEPS, ENOUGH)
    return Row(power, count_seconds, timed(session, lists, STEPS, ENOUGH) if pairs <= MOST_PAIRS else None)


def print_growth(session: clfrnn.Session, powers: range, compared: int, neighbors: float) -> None:
    """A row for each number of points, and how far apart those of large clouds are."""
    large: list[list[float]] = [[] for _ in range(4)]
    for power in powers:
        row = measure(session, power, neighbors)
        shares = [*row.share(row.count), *(row.share(row.lists) if row.lists is not None else ())]
        cells = [f"{each:.3f}" for each in shares] + [""] * (4 - len(shares))
        click.echo(f"| 2^{power} | {neighbors:g} | {' | '.join(cells)} |")
        if power >= compared:
            for column, each in zip(large, shares, strict=False):
                column.append(each)
    ratios = [f"{max(column) / min(column):.2f} x" if column else "" for column in large]
    click.echo(f"| from 2^{compared} on, slowest over quickest | {neighbors:g} | {' | '.join(ratios)} |")


@click.command()
@click.option("--device", help="As for `clfrnn search`.")
@click.option("--small", is_flag=True, help="The clouds for CPUs.")
def main(*, device: str | None, small: bool) -> None:
    """Measure, and print a Markdown table."""
    try:
        session = profiled(device)
        say(session, "nanoseconds a point")
        click.echo("| points | neighbors | count: in kernels | first to last | lists: in kernels | first to last |")
        click.echo(f"|---|{5 * '---:|'}")
        for neighbors in NEIGHBORS:
            print_growth(session, *((FEW_POWERS, FEW_COMPARED) if small else (POWERS, COMPARED)), neighbors)
    except ClfrnnError as error:
        raise click.ClickException(str(error)) from error


if __name__ == "__main__":
    main()
