"""Figures of docs/measured/tables for the sides of cells of `strips`: each that the model has to choose from, beside
what it takes; and the prices that would fit these times, by least squares. Nothing loads what is printed: the prices in
force stand in ``clfrnn/tuning``.

Time in kernels of an update and a count, milliseconds, the least of 20, all sides in turn, so that what else a machine
does meets all alike. Prices are in tests of one candidate, fitted to the uniform clouds of a number of coordinates and
a type, by relative errors.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, NamedTuple

import click
import numpy as np
import pyopencl.array as cla
from scipy.optimize import nnls

import clfrnn
from clfrnn import clouds
from clfrnn.index import Index
from clfrnn.methods import METHODS
from clfrnn.methods.domain_tables.kinds import make_tables
from clfrnn.methods.grid.cost_model import SideCost, cost_of_sides, prices_for, rank_sides, sides_to_try
from clfrnn.methods.grid.plan import CellPlan
from clfrnn.methods.grid.strips import StripsStructure, plan_strips
from clfrnn.methods.structure import NewPoints
from clfrnn.points.deferred_checks import DeferredChecks
from clfrnn.problem import Problem
from clfrnn.tuning import Prices

from ..benchmarks.common import profiled, structure_of, timed_once, uniform_radius
from .tables import command, head, row, say

POINTS, FEW_POINTS = 1 << 20, 1 << 17
STEPS = 20

#: Seconds of a test, at least: with few points on a quick device no time tells it from nothing.
LEAST = 1e-15

#: Neighbors in uniform clouds, by the number of coordinates and the type.
UNIFORM: dict[tuple[int, str], tuple[float, ...]] = {
    (3, "float32"): (0.2, 0.7, 1.5, 3, 6, 12, 24, 49, 100, 145, 300),
    (2, "float32"): (0.2, 0.7, 2, 6, 12, 24, 49, 100, 145, 300),
    (3, "float64"): (1.5, 12, 49, 145),
    (2, "float64"): (2, 24, 145),
}
COLUMNS = ("about a point", "1, 1", "1/2, 1", "1/3, 1", "1/4, 1", "1/2, 1/2", "1/4, 1/2")


class Cloud(NamedTuple):
    """Points, the radius they are searched by, and whether they are uniform."""

    name: str
    points: Any
    radius: float
    uniform: bool = True


class Measured(NamedTuple):
    """What cells of some sides took, in seconds for each point, and what the model foresees of them."""

    cloud: Cloud
    update: float
    count: float
    foreseen: SideCost

    @property
    def step(self) -> float:
        """An update and a count of all points, in milliseconds."""
        return 1e3 * len(self.cloud.points) * (self.update + self.count)


def all_clouds(n: int, *, doubles: bool) -> Iterator[Cloud]:
    """Uniform ones by their neighbors, a thin shell and small clusters."""
    for (dim, dtype), many in UNIFORM.items():
        for neighbors in many if doubles or dtype == "float32" else ():
            points = np.random.default_rng(0).random((n, dim), dtype=dtype)
            radius = uniform_radius(n, neighbors, dim)
            found = f"{neighbors:g} neighbors" + (", doubles" if dtype == "float64" else "")
            yield Cloud(f"{dim}D, {found}", points, radius)
    yield Cloud("shell, 50 neighbors", clouds.shell(n), 0.00552 * (POINTS / n) ** 0.5, uniform=False)
    yield Cloud("clusters, 8 neighbors", clouds.clustered(n), 0.0005 * (POINTS / n) ** (1 / 3), uniform=False)


def measure(session: clfrnn.Session, cloud: Cloud) -> tuple[list[Measured | None], int]:
    """The times of all sides, None where sparse ones do not come into question, and the place of those taken."""
    points = cla.to_device(session.queue, cloud.points)
    taken = clfrnn.build_index(points, cloud.radius, method="strips", session=session)
    assert taken.count().get().any(), "a benchmark that finds nothing measures nothing"
    problem, profile, tuning = structure_of(taken).problem, session.profile, session.tuning
    prices = prices_for(tuning, dim=problem.dim, real=problem.real)
    tried = sides_to_try(problem, profile, tuning)
    indexes = [_index_of(session, problem, plan_strips(problem, profile, tuning, sides), points) for sides in tried]
    times = [
        (
            timed_once(session, lambda index=index: index.update(points)).kernels,
            timed_once(session, index.count).kernels,
        )
        for _ in range(STEPS)
        for index in indexes
    ]
    rows = [
        Measured(
            cloud,
            *(min(each) / problem.n for each in zip(*times[k :: len(tried)], strict=True)),
            foreseen=cost_of_sides(problem, prices, sides),
        )
        for k, sides in enumerate(tried)
    ]
    best = rank_sides(problem, profile, tuning)[0].sides
    chosen = next(k for k, row in enumerate(rows) if row.foreseen.sides == best)
    sparse = len(COLUMNS) - len(rows)
    return [None] * sparse + rows, chosen + sparse


def _index_of(session: clfrnn.Session, problem: Problem, plan: CellPlan, points: cla.Array) -> Index:
    """The index by strips of a plan."""
    checks = DeferredChecks(session, dtype=points.dtype, dim=problem.dim, radius=problem.radius, space=problem.space)
    new = NewPoints(points, None, make_tables(session, problem.domain, points, problem.radius))
    structure = StripsStructure(session, problem, checks, plan, new=new)
    return Index(METHODS["strips"], structure, has_box=False, chosen=False)


def print_times(session: clfrnn.Session, n: int) -> list[Measured]:
    """A row for each cloud; the sides that the model takes in bold."""
    head("cloud", *(f"{each}:" for each in COLUMNS), "taken over best:")
    found = []
    for cloud in all_clouds(n, doubles=session.profile.fp64):
        rows, taken = measure(session, cloud)
        times = ["" if each is None else f"{each.step:.3f}" for each in rows]
        times[taken] = f"**{times[taken]}**"
        present = [each for each in rows if each is not None]
        chosen = rows[taken]
        assert chosen is not None, "what is taken was measured"
        row(cloud.name, *times, f"{chosen.step / min(each.step for each in present):.2f}")
        found += present
    return found


def fit_prices(rows: list[Measured]) -> tuple[Prices, float, float]:
    """The prices by which the model is nearest to times, the seconds of a test, and the mean square error's root."""
    place, cell = _least_squares([(1.0, row.foreseen.cells) for row in rows], [row.update for row in rows])
    query, lookup, test, stranger = _least_squares(
        [(1.0, row.foreseen.rows, row.foreseen.candidates, row.foreseen.strangers) for row in rows],
        [row.count for row in rows],
    )
    test = max(test, LEAST)
    prices = Prices(query=(place + query) / test, row=lookup / test, stranger=stranger / test, cell=cell / test)
    errors = [test * _cost(prices, row.foreseen) / (row.update + row.count) - 1 for row in rows]
    return prices, test, float(np.sqrt(np.mean(np.square(errors))))


def _least_squares(parts: list[tuple[float, ...]], seconds: list[float]) -> list[float]:
    """What each part costs, nothing at least, so that relative errors are small."""
    return [float(price) for price in nnls(np.array(parts) / np.array(seconds)[:, None], np.ones(len(seconds)))[0]]


def _cost(prices: Prices, met: SideCost) -> float:
    places = prices.row * met.rows + prices.cell * met.cells
    return prices.query + places + met.candidates + prices.stranger * met.strangers


def print_prices(rows: list[Measured]) -> None:
    """A row for each number of coordinates and type."""
    names = [field.name for field in dataclasses.fields(Prices)]
    click.echo("")
    head("prices, in tests", *(f"{name}:" for name in names), "a test, ps:", "error:")
    for dim, dtype in UNIFORM:
        own = [each for each in rows if each.cloud.uniform and each.cloud.points.shape[1] == dim]
        own = [each for each in own if each.cloud.points.dtype == dtype]
        if own:
            prices, test, error = fit_prices(own)
            told = [f"{getattr(prices, name):.1f}" for name in names]
            row(f"{dim}D, {dtype}", *told, f"{1e12 * test:.3g}", f"{100 * error:.1f} %")


@command
@click.option("--small", is_flag=True, help="As many points as suit CPUs.")
def main(*, device: str | None, small: bool) -> None:
    """Measure, and print two Markdown tables."""
    session = profiled(device)
    say(session)
    print_prices(print_times(session, FEW_POINTS if small else POINTS))


if __name__ == "__main__":
    main()
