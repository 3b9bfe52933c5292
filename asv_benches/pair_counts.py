"""Histograms of distances in a periodic box, beside Corrfunc's DD: processor time, and nanoseconds a pair.

Ten bins of equal ratios up to the largest edge, uniform points; the least of some runs, construction included.
Processor time is that of all threads of the process: what one core would take. Corrfunc runs on one core; where it is
not installed, its columns are empty.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import click
import numpy as np

import clfrnn

from .tools.tables import command, head, row, say

#: Numbers of points, and the largest edge in a box of length 1.
CASES = ((100_000, 0.05), (100_000, 0.08), (400_000, 0.05))

#: Runs, of which the quickest counts, after one that compiles.
RUNS = 5


def seconds(count: Callable[[], Any]) -> tuple[float, Any]:
    """The processor time of a count, and what it found."""
    found, least = count(), np.inf
    for _ in range(RUNS):
        started = time.process_time()
        found = count()
        least = min(least, time.process_time() - started)
    return float(least), found


def corrfunc(points: Any, edges: Any) -> Callable[[], Any] | None:
    """The same count by Corrfunc, or None where it is not installed."""
    try:
        from Corrfunc.theory.DD import DD  # noqa: PLC0415 — only where it is installed
    except ImportError:
        return None
    columns = [np.ascontiguousarray(column) for column in points.T]
    return lambda: DD(1, 1, edges, *columns, periodic=True, boxsize=1.0)["npairs"]


@command
@click.option("--float64", is_flag=True, help="Points in float64.")
def main(device: str | None, float64: bool) -> None:
    """Print the table."""
    session = clfrnn.Session(device)
    say(session, "processor time" if session.profile.kind == "cpu" else "processor time of the host")
    head(
        "points, largest edge",
        "pairs:",
        "pair_counts, ms:",
        "ns a pair:",
        "Corrfunc, ms:",
        "times:",
        "counts differ by:",
    )
    for n, largest in CASES:
        points = np.random.default_rng(0).random((n, 3)).astype(np.float64 if float64 else np.float32)
        edges = np.geomspace(largest / 30, largest, 11)
        ours, found = seconds(lambda: clfrnn.pair_counts(points, edges, box=np.ones(3), session=session))  # noqa: B023
        pairs = int(found.counts.sum())
        assert pairs, "a benchmark that finds nothing measures nothing"
        peer: list[str] = ["", "", ""]
        if (theirs := corrfunc(points, edges)) is not None:
            taken, counts = seconds(theirs)
            differ = np.abs(counts.astype(np.int64) - found.counts).max()
            peer = [f"{1e3 * taken:.0f}", f"{taken / ours:.1f}", f"{differ}"]
        row(f"{n:,}, {largest}", f"{pairs:,}", f"{1e3 * ours:.0f}", f"{1e9 * ours / pairs:.2f}", *peer)


if __name__ == "__main__":
    main()
