"""The cost model of cell sides: the expected cost of an update and a count, by measured prices.

A step looks up rows of cells, tests candidates and fills cells; each of these has a price.
"""

from __future__ import annotations

import dataclasses
import math
import operator
from typing import NamedTuple

from ...domain.cells import count_cells
from ...problem import Problem
from ...profile import DeviceProfile
from ...tuning import Prices, Tuning
from .plan import spacing

__all__ = [
    "SideCost",
    "cost_of_sides",
    "describe_sides",
    "prices_for",
    "rank_sides",
    "sides_to_try",
    "work_of_query",
]


class SideCost(NamedTuple):
    """What a query is expected to meet among cells of some sides, and its cost in tests of one candidate."""

    sides: tuple[float, ...]
    rows: float
    #: points in the cells of its window
    candidates: float
    #: points outside the window that share an address with one of its cells
    strangers: float
    #: cells for each point
    cells: float
    #: whether the domain has more cells than addresses
    wrapped: bool
    cost: float


def prices_for(tuning: Tuning, *, dim: int, real: str) -> Prices:
    """The prices of a device, in tests of one candidate of the type `real`."""
    numbers = tuning.grid
    prices, of_double = numbers.prices_2d if dim == 2 else numbers.prices_3d, numbers.tests_of_double
    if real == "float":
        return prices
    return dataclasses.replace(
        prices, query=prices.query / of_double, row=prices.row / of_double, cell=prices.cell / of_double
    )


def rank_sides(problem: Problem, profile: DeviceProfile, tuning: Tuning) -> list[SideCost]:
    """The expected costs of all sides to choose from, the cheapest first, without duplicates.

    Sides that need a torus come last: where points fill little of their box, points that share addresses come in
    groups, which costs work-items in lockstep more than the model says (measured on a shell: 13 to 28 %).
    """
    prices = prices_for(tuning, dim=problem.dim, real=problem.real)
    density = problem.survey.density(problem.radius)  # computed once, as it takes as long as all else
    different: dict[tuple[float, ...], SideCost] = {}
    for sides in sides_to_try(problem, profile, tuning):
        cost = cost_of_sides(problem, prices, sides, density)
        different[cost.sides] = cost
    return sorted(different.values(), key=operator.attrgetter("wrapped", "cost"))


def sides_to_try(problem: Problem, profile: DeviceProfile, tuning: Tuning) -> list[tuple[float, ...]]:
    """Sides that are parts of the radius, and where points are sparse also sides of cells that hold about one point."""
    radius, across = problem.radius, problem.dim - 1
    tried = [(along * radius,) + (side * radius,) * across for along, side in tuning.grid.sides_in_radii]
    return [_sides_of_sparse(problem, profile, tuning), *tried] if spacing(problem) > radius else tried


def cost_of_sides(problem: Problem, prices: Prices, sides: tuple[float, ...], density: float | None = None) -> SideCost:
    """The cost of a query with cells of such sides, or of the next larger ones that the domain allows."""
    survey, n = problem.survey, max(1, problem.n)
    lengths, images = problem.space.lengths, problem.images
    low, high = survey.without_strays
    counts = count_cells(low=low, high=high, sides=sides, n=n, real=problem.real, lengths=lengths)
    reach = 2.0 * problem.radius
    # A window of length 2 r meets one cell more than fit into it.
    windows, candidates = [], survey.density(problem.radius) if density is None else density
    for side, many, period in zip(counts.sides, counts.shape, counts.periods, strict=True):
        window = reach / side + 1.0
        windows.append(window if period else min(window, float(many)))
        candidates *= reach + side
    rows, cells = math.prod(windows[1:]), (counts.torus or math.prod(counts.shape)) / n
    candidates = min(candidates, images * n)
    strangers = min(math.prod(windows) / cells, images * n) if counts.torus else 0.0
    cost = prices.query + prices.row * rows + candidates + prices.stranger * strangers + prices.cell * cells
    return SideCost(
        sides=counts.sides,
        rows=rows,
        candidates=candidates,
        strangers=strangers,
        cells=cells,
        wrapped=counts.torus > 0,
        cost=cost,
    )


def work_of_query(problem: Problem, tuning: Tuning, sides: tuple[float, ...]) -> float:
    """The cost of a query's window with cells of such sides, in tests of one candidate."""
    prices = prices_for(tuning, dim=problem.dim, real=problem.real)
    return cost_of_sides(problem, dataclasses.replace(prices, query=0.0, cell=0.0), sides).cost


def describe_sides(
    problem: Problem, profile: DeviceProfile, tuning: Tuning, requested: tuple[float, ...] | None
) -> list[str]:
    """The numbers of the model in words, for the `requested` sides if any and for all sides to choose from."""
    ranked = rank_sides(problem, profile, tuning)
    own = ranked[0]
    why = "foreseen to cost least"
    if min(each.cost for each in ranked) < own.cost:
        why += " of those that need no torus"
    if requested is not None:
        own = cost_of_sides(problem, prices_for(tuning, dim=problem.dim, real=problem.real), requested)
        why = "asked for by bin_width"
    listed = [own, *(each for each in ranked if each.sides != own.sides)]
    unit = " in radii" if problem.radius else ""
    return [
        f"sides: {_sides_in_words(own, problem.radius)}{unit}, {why}, where testing a candidate costs 1:",
        *(f"    {_sides_in_words(each, problem.radius)}: {_cost_in_words(each)}" for each in listed),
    ]


def _cost_in_words(cost: SideCost) -> str:
    tests = cost.candidates + cost.strangers
    torus = ", on a torus" if cost.wrapped else ""
    return f"cost {cost.cost:.0f}, of {cost.rows:.1f} rows, {tests:.1f} candidates, {cost.cells:.2f} cells{torus}"


def _sides_in_words(cost: SideCost, radius: float) -> str:
    return " x ".join(_side_in_words(side, radius) for side in cost.sides)


def _side_in_words(side: float, radius: float) -> str:
    """A side in radii, as a fraction where it is one, or the side itself where the radius is 0."""
    if not radius:
        return f"{side:.3g}"
    part = radius / side
    return f"1/{part:.0f}" if part > 1.5 and abs(part - round(part)) < 1e-3 * part else f"{side / radius:.3g}"


def _sides_of_sparse(problem: Problem, profile: DeviceProfile, tuning: Tuning) -> tuple[float, ...]:
    """The sides of cells with about one point each.

    On a GPU the sides across the strips are whole radii, so that the windows of work-items in lockstep have the same
    number of rows (measured).
    """
    radius, side = problem.radius, spacing(problem)
    if profile.kind == "cpu" or side > tuning.grid.widest_in_radii * radius:
        return (side,) * problem.dim
    width = side / radius
    across = max(1, math.floor(width + 0.5))
    along = min(width, width**problem.dim / across ** (problem.dim - 1))
    return (along * radius,) + (across * radius,) * (problem.dim - 1)
