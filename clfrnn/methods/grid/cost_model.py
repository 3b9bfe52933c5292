"""Side costs: what a step over cells of some sides is foreseen to cost, by measured prices, and the cheapest sides.

An update and a count take so many rows of cells looked up, candidates tested and cells kept; each of these has a price.
"""

from __future__ import annotations

import dataclasses
import math
from typing import NamedTuple

from ...domain import count_cells
from ...planning.problem import Problem
from ...profile import DeviceProfile
from .plan import spacing

__all__ = [
    "PRICES",
    "Prices",
    "SideCost",
    "cost_of_sides",
    "describe_sides",
    "prices_for",
    "rank_sides",
    "sides_to_try",
    "work_of_query",
]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Prices:
    """What parts of a step cost, in tests of one candidate: what sides are best does not depend on how long that takes.

    `query` is what a point costs with any cells. A `row` is looked up and its run begun and ended. A `stranger` is a
    candidate from elsewhere that shares an address on a torus. Each `cell` is cleared, summed and read.
    """

    query: float
    row: float
    stranger: float
    cell: float

    def cost(self, *, rows: float, candidates: float, strangers: float, cells: float) -> float:
        """What so many of each cost a query."""
        return self.query + self.row * rows + candidates + self.stranger * strangers + self.cell * cells


#: By the kind of device and the number of coordinates, for floats: least squares over times of `asv_benches.sides`, on
#: an H200 and on a core of a server. On the latter a row is priced above these (21 and 16), and a cell below (13 and
#: 16), just so much that no choice took 5 % longer than the best in an even cloud: tests of whole vectors are no
#: straight line.
PRICES = {
    ("gpu", 2): Prices(query=199.0, row=13.9, stranger=1.2, cell=8.6),
    ("gpu", 3): Prices(query=134.0, row=11.7, stranger=2.6, cell=5.2),
    ("cpu", 2): Prices(query=270.0, row=26.0, stranger=0.8, cell=13.0),
    ("cpu", 3): Prices(query=280.0, row=28.0, stranger=1.3, cell=10.0),
}

#: A test of doubles costs so many of floats, beside what the rest costs more (measured likewise).
_TESTS_OF_DOUBLE = {"cpu": 1.4, "gpu": 1.8}

#: The sides of cells to choose from, along the strip and across it, in radii; of equals the first. Whole parts of the
#: radius, as work-items in step then have as many rows each (measured: 0.6 is slower than 0.5 and 1).
_IN_RADII = ((1.0, 1.0), (1 / 2, 1.0), (1 / 3, 1.0), (1 / 4, 1.0), (1 / 2, 1 / 2), (1 / 4, 1 / 2))

#: Cells of more radii than these have sides of any length: what is added to a window is little beside it.
_WIDEST = 100.0


class SideCost(NamedTuple):
    """What a query is foreseen to meet among cells of such sides, and what that costs, in tests of one candidate."""

    sides: tuple[float, ...]
    rows: float
    #: points in the cells of its window
    candidates: float
    #: points from elsewhere that share an address with one of them
    strangers: float
    #: cells for each point
    cells: float
    #: whether the domain has more cells than addresses
    wrapped: bool
    cost: float


def prices_for(profile: DeviceProfile, *, dim: int, real: str) -> Prices:
    """The prices of a device, in tests of points of that type."""
    kind = "cpu" if profile.kind == "cpu" else "gpu"
    prices, of_double = PRICES[kind, dim], _TESTS_OF_DOUBLE[kind]
    if real == "float":
        return prices
    return dataclasses.replace(
        prices, query=prices.query / of_double, row=prices.row / of_double, cell=prices.cell / of_double
    )


def rank_sides(problem: Problem, profile: DeviceProfile) -> list[SideCost]:
    """What all sides to choose from are foreseen to cost, the cheapest first; those that the domain makes equal once.

    Those that need a torus come last: where points take up little of their box, strangers come in crowds, which costs
    items in step more than is foreseen of so many (measured on a shell: 13 to 28 %).
    """
    prices = prices_for(profile, dim=problem.dim, real=problem.real)
    density = problem.survey.density(problem.radius)  # once, as it takes as long as all else
    costs = [cost_of_sides(problem, prices, sides, density) for sides in sides_to_try(problem, profile)]
    return sorted({each.sides: each for each in costs}.values(), key=lambda each: (each.wrapped, each.cost))


def sides_to_try(problem: Problem, profile: DeviceProfile) -> list[tuple[float, ...]]:
    """Parts of the radius, and where points are sparse also sides that hold about one."""
    radius, across = problem.radius, problem.dim - 1
    tried = [(along * radius,) + (side * radius,) * across for along, side in _IN_RADII]
    return [_sides_of_sparse(problem, profile), *tried] if spacing(problem) > radius else tried


def cost_of_sides(problem: Problem, prices: Prices, sides: tuple[float, ...], density: float | None = None) -> SideCost:
    """What cells of such sides, or of the next that the domain allows, cost a query: its share of all in a step."""
    survey, n = problem.survey, max(1, problem.n)
    counts = count_cells(low=survey.low, high=survey.high, sides=sides, n=n, real=problem.real, box=problem.box)
    images = 1.0 if problem.box is None else problem.box.images(problem.radius)
    reach = 2.0 * problem.radius
    # A window of length 2 r meets the cells that it begins and ends in, and so one more than fit into it.
    windows = [reach / side + 1.0 for side in counts.sides]
    for k, (many, period) in enumerate(zip(counts.shape, counts.periods, strict=True)):
        if not period and windows[k] > many:
            windows[k] = float(many)
    rows, cells = math.prod(windows[1:]), counts.addresses / n
    density = survey.density(problem.radius) if density is None else density
    candidates = min(math.prod([density, *[reach + side for side in counts.sides]]), images * n)
    strangers = min(math.prod(windows) / cells, images * n) if counts.torus else 0.0
    cost = prices.cost(rows=rows, candidates=candidates, strangers=strangers, cells=cells)
    return SideCost(counts.sides, rows, candidates, strangers, cells, counts.torus > 0, cost)


def work_of_query(problem: Problem, profile: DeviceProfile, sides: tuple[float, ...]) -> float:
    """What the window of a query costs among cells of such sides, in tests of one candidate."""
    prices = prices_for(profile, dim=problem.dim, real=problem.real)
    return cost_of_sides(problem, dataclasses.replace(prices, query=0.0, cell=0.0), sides).cost


def describe_sides(problem: Problem, profile: DeviceProfile, asked: tuple[float, ...] | None) -> list[str]:
    """The model's numbers in words: of the sides `asked` for, if any were, and of all that there are to choose from."""
    ranked = rank_sides(problem, profile)
    own = ranked[0]
    why = "foreseen to cost least"
    if min(each.cost for each in ranked) < own.cost:
        why += " of those that need no torus"
    if asked is not None:
        own = cost_of_sides(problem, prices_for(profile, dim=problem.dim, real=problem.real), asked)
        why = "asked for by bin_width"
    told = [own, *(each for each in ranked if each.sides != own.sides)]
    unit = " in radii" if problem.radius else ""
    return [
        f"sides: {_sides_in_words(own, problem.radius)}{unit}, {why}, where testing a candidate costs 1:",
        *(f"    {_sides_in_words(each, problem.radius)}: {_cost_in_words(each)}" for each in told),
    ]


def _cost_in_words(cost: SideCost) -> str:
    tests = cost.candidates + cost.strangers
    torus = ", on a torus" if cost.wrapped else ""
    return f"cost {cost.cost:.0f}, of {cost.rows:.1f} rows, {tests:.1f} candidates, {cost.cells:.2f} cells{torus}"


def _sides_in_words(cost: SideCost, radius: float) -> str:
    return " x ".join(_side_in_words(side, radius) for side in cost.sides)


def _side_in_words(side: float, radius: float) -> str:
    """A side in radii, as a fraction where it is one; as it is where the radius is 0."""
    if not radius:
        return f"{side:.3g}"
    part = radius / side
    return f"1/{part:.0f}" if part > 1.5 and abs(part - round(part)) < 1e-3 * part else f"{side / radius:.3g}"


def _sides_of_sparse(problem: Problem, profile: DeviceProfile) -> tuple[float, ...]:
    """The sides of cells with about one point each.

    On a GPU whole radii across the strips, for then windows of work-items in step have as many rows each (measured).
    """
    radius, side = problem.radius, spacing(problem)
    if profile.kind == "cpu" or side > _WIDEST * radius:
        return (side,) * problem.dim
    width = side / radius
    across = max(1, math.floor(width + 0.5))
    along = min(width, width**problem.dim / across ** (problem.dim - 1))
    return (along * radius,) + (across * radius,) * (problem.dim - 1)
