"""Figures for floors, in docs/measured/tables: what a step's bytes and tests would take alone, beside what it takes.

Bytes go at the rate of a copy on the device. An update reads the points twice (to count them, and to place them), and
writes, reads and writes a record of each; queries that are no points and are sorted first as much; a query reads each
record once and writes its count, a list its numbers and, twice, its offsets. Tests go at the rate of all pairs, whose
candidates lie in local memory: those of the neighbors alone, without which no method can do, and all that the walk of
strips is foreseen to make. The floor of an update is its bytes, that of queries what takes longer of their bytes and
their neighbors, behind the bytes of their own sort.
"""

from __future__ import annotations

import functools
import statistics
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import click
import numpy as np
import pyopencl as cl
import pyopencl.array as cla

import clfrnn
from clfrnn.methods.grid.cost_model import rank_sides

from ..benchmarks.common import WARM_UP, has_event_times, profiled, structure_of, timed_once, uniform_radius
from .clocks import STEPS, milliseconds
from .tables import command, head, row, say

POINTS, FEW_POINTS = 1 << 20, 1 << 17

#: Points of which all pairs are tested, to tell a rate.
ALL_PAIRS, FEW_PAIRS = 1 << 16, 1 << 13

COLUMNS = (
    "update",
    "its floor",
    "over it",
    "queries",
    "bytes",
    "tests of neighbors",
    "of candidates",
    "their floor",
    "over it",
    "step over its floor",
)


class Kind(NamedTuple):
    """Points in the unit cube or square, and what is asked about them."""

    n: int
    neighbors: float
    dim: int = 3
    dtype: str = "float32"
    periodic: bool = False
    foreign: bool = False

    def __str__(self) -> str:
        told = [f"{self.n:,}", f"{self.dim}D", f"{self.neighbors:g} neighbors"]
        told += ["doubles"] * (self.dtype == "float64") + ["periodic"] * self.periodic
        return ", ".join(told + ["random queries"] * self.foreign)

    @property
    def domain(self) -> dict[str, Any]:
        """What is said of the box."""
        return {"box": (1.0,) * self.dim, "periodic": True} if self.periodic else {}

    def points(self, seed: int = 0, n: int | None = None) -> np.ndarray[Any, Any]:
        """So many of them, uniform."""
        return np.random.default_rng(seed).random((n or self.n, self.dim), dtype=self.dtype)


class Rates(NamedTuple):
    """Bytes in a second of a copy, read and written, and tests in a second of all pairs, by dimension and type."""

    bytes: float
    tests: dict[tuple[int, str], float]


def kinds(n: int, *, doubles: bool) -> Iterator[Kind]:
    """Few and many neighbors, and what else may be asked of them."""
    for neighbors in (3, 49, 145):
        yield Kind(n, neighbors)
    yield Kind(n // 16, 3)
    yield Kind(n // 16, 49)
    for neighbors in (3, 49):
        yield Kind(n, neighbors, dim=2)
        if doubles:
            yield Kind(n, neighbors, dtype="float64")
        yield Kind(n, neighbors, periodic=True)
        yield Kind(n, neighbors, foreign=True)


def copy_rate(session: clfrnn.Session, size: int) -> float:
    """Bytes that are read and written in a second."""
    source, target = (cla.zeros(session.queue, size, np.uint8) for _ in range(2))
    seconds = []
    for _ in range(WARM_UP + STEPS):
        copied = cl.enqueue_copy(session.queue, target.data, source.data)
        copied.wait()
        seconds.append(1e-9 * (copied.profile.end - copied.profile.start))
    return 2 * size / statistics.median(seconds[WARM_UP:])


def test_rate(session: clfrnn.Session, kind: Kind, n: int) -> float:
    """Pairs that are tested in a second where every point is tested against all."""
    points = cla.to_device(session.queue, kind.points(n=n))
    index = clfrnn.build_index(points, 1e-3, method="brute_force", session=session)
    return 1e3 * n * n / milliseconds(session, index.count, 1.0).kernels


def find_rates(session: clfrnn.Session, *, small: bool) -> Rates:
    """Those of a device."""
    pairs = FEW_PAIRS if small else ALL_PAIRS
    types = ["float32", "float64"][: 1 + session.profile.fp64]
    tests = {(dim, dtype): test_rate(session, Kind(0, 0, dim, dtype), pairs) for dim in (2, 3) for dtype in types}
    return Rates(copy_rate(session, 1 << (26 if small else 30)), tests)


def phases(session: clfrnn.Session, update: Callable[[], object], ask: Callable[[], object]) -> tuple[float, float]:
    """Seconds in the kernels of an update, and of what is asked behind it, in steps of both."""
    steps = [[timed_once(session, each).kernels for each in (update, ask)] for _ in range(WARM_UP + STEPS)]
    updates, asked = zip(*steps[WARM_UP:], strict=True)
    return statistics.median(updates), statistics.median(asked)


def print_floors(session: clfrnn.Session, kind: Kind, rates: Rates) -> None:
    """A row for counts and one for lists."""
    points = cla.to_device(session.queue, kind.points())
    radius = uniform_radius(kind.n, kind.neighbors, kind.dim)
    index = clfrnn.build_index(points, radius, method="strips", session=session, **kind.domain)
    queries = cla.to_device(session.queue, kind.points(1)) if kind.foreign else None
    pairs = int(index.count(queries).get().sum(dtype=np.int64))
    assert pairs > 0, "a benchmark that finds nothing measures nothing"
    candidates = rank_sides(structure_of(index).problem, session.profile, session.tuning)[0].candidates
    record, point = index.nbytes["sorted_points"] / kind.n, points.nbytes / kind.n
    sort = (2 * point + 3 * record) * kind.n / rates.bytes
    tests = rates.tests[kind.dim, kind.dtype]
    for what, ask, written in (("count", index.count, 4 * kind.n), ("lists", index.query, 8 * kind.n + 4 * pairs)):
        update, asked = phases(session, lambda: index.update(points), functools.partial(ask, queries))
        moved = (record * kind.n * (2 if kind.foreign else 1) + written) / rates.bytes + (sort if kind.foreign else 0)
        near, all_tests = pairs / tests, candidates * kind.n / tests
        floor = max(moved, near + (sort if kind.foreign else 0))
        cells = [*_gap(update, sort), f"{1e6 * asked:.1f}", *(f"{1e6 * each:.1f}" for each in (moved, near, all_tests))]
        cells += [*_gap(asked, floor)[1:], f"{(update + asked) / (sort + floor):.1f}"]
        row(kind, what, *cells)


def _gap(took: float, floor: float) -> list[str]:
    """Microseconds of both, and how many times as long the first is."""
    return [f"{1e6 * took:.1f}", f"{1e6 * floor:.1f}", f"{took / floor:.1f}"]


@command
@click.option("--small", is_flag=True, help="As many points as suit CPUs.")
def main(*, device: str | None, small: bool) -> None:
    """Measure, and print a Markdown table."""
    session = profiled(device)
    if not has_event_times(session):
        raise click.ClickException(f"{session.profile} does not tell how long kernels take")
    rates = find_rates(session, small=small)
    told = [f"{1e-12 * rate:.3g} tests/ps in {dim}D of {dtype}" for (dim, dtype), rate in rates.tests.items()]
    say(session, "microseconds", f"a copy {1e-12 * rates.bytes:.3g} TB/s", *told)
    head("points", "step", *(f"{each}:" for each in COLUMNS))
    for kind in kinds(FEW_POINTS if small else POINTS, doubles=session.profile.fp64):
        print_floors(session, kind, rates)


if __name__ == "__main__":
    main()
