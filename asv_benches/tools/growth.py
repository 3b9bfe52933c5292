"""Figures of docs/measured/tables for growth: the time of each point in clouds of the same density and more points.

Nanoseconds a point, of the time in kernels and of that from the first launch's start to the last one's end, for an
update with counts and with lists; the median of five steps and more. Behind them, how much longer the slowest of the
large clouds takes for a point than the quickest, in each column.
"""

from __future__ import annotations

from typing import NamedTuple

import click

import clfrnn

from ..benchmarks.common import Seconds, profiled, uniform_radius
from .clocks import milliseconds
from .clouds import cube
from .steps import steps_of
from .tables import command, head, row, say

#: Binary logarithms of numbers of points: on a GPU, and on a CPU.
POWERS, FEW_POWERS = range(16, 27), range(14, 21)

NEIGHBORS = (3, 49)

#: From so many points on, by the binary logarithm, a time for each is compared with that of others.
COMPARED, FEW_COMPARED = 20, 17

#: Of steps that took so many seconds together, five are enough.
ENOUGH = 0.5


class Row(NamedTuple):
    """A cloud of two to some power points, and the milliseconds of its steps."""

    power: int
    count: Seconds
    lists: Seconds | None

    def share(self, seconds: Seconds) -> tuple[float, float]:
        """Nanoseconds of a point, in kernels and from first to last."""
        return 1e6 * seconds.kernels / 2**self.power, 1e6 * seconds.span / 2**self.power


def measure(session: clfrnn.Session, power: int, neighbors: float) -> Row:
    """An even cloud in the unit cube; lists that are too long to be made whole are left out."""
    n = 1 << power
    of = steps_of(session, cube(n), uniform_radius(n, neighbors))
    count = milliseconds(session, of.count, ENOUGH)
    return Row(power, count, None if of.by_blocks else milliseconds(session, of.lists, ENOUGH))


def print_growth(session: clfrnn.Session, powers: range, compared: int, neighbors: float) -> None:
    """A row for each number of points, and how far apart those of large clouds are."""
    large: list[list[float]] = [[] for _ in range(4)]
    for power in powers:
        found = measure(session, power, neighbors)
        shares = [*found.share(found.count), *(found.share(found.lists) if found.lists is not None else ())]
        row(f"2^{power}", f"{neighbors:g}", *(f"{each:.3f}" for each in shares), *[""] * (4 - len(shares)))
        if power >= compared:
            for column, each in zip(large, shares, strict=False):
                column.append(each)
    ratios = [f"{max(column) / min(column):.2f} x" if column else "" for column in large]
    row(f"from 2^{compared} on, slowest over quickest", f"{neighbors:g}", *ratios)


@command
@click.option("--small", is_flag=True, help="The clouds for CPUs.")
def main(*, device: str | None, small: bool) -> None:
    """Measure, and print a Markdown table."""
    session = profiled(device)
    say(session, "nanoseconds a point")
    head("points", "neighbors:", "count: in kernels:", "first to last:", "lists: in kernels:", "first to last:")
    for neighbors in NEIGHBORS:
        print_growth(session, *((FEW_POWERS, FEW_COMPARED) if small else (POWERS, COMPARED)), neighbors)


if __name__ == "__main__":
    main()
