"""The plan of points in cells: the configs of the walk, the grid, and the way of binning."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from ...config import WalkConfig
from ...domain.box import SYSTEMS
from ...domain.cells import CellGrid, fit_cells, torus_like
from ...problem import Problem
from ...profile import DeviceProfile
from ...tuning import Tuning
from ..walk_plan import plan_walk
from .binning.plan import BinningPlan, plan_binning

__all__ = ["CellPlan", "many_queries", "plan_cells", "refit_cells", "requested_sides", "spacing"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class CellPlan:
    """The configs of the walk, the grid, and the way of binning."""

    config: WalkConfig
    #: the config of counts whose windows cross one edge of a periodic box
    edges: WalkConfig
    #: the sides to which those of other grids are fitted: on periodic axes those that were asked for, as a whole number
    #: of cells fills each box
    sides: tuple[float, ...]
    grid: CellGrid
    construction: str
    #: the way in which points are sorted into cells
    binning: BinningPlan


def _points_of(problem: Problem, sides: tuple[float, ...]) -> float:
    """The expected number of points in a box of such sides around a point."""
    density = problem.survey.density(problem.radius) if problem.radius > 0 else 0.0
    return density * math.prod(sides)


def many_queries(problem: Problem, tuning: Tuning, *, layout: str) -> int | None:
    """The number of foreign queries from which on these are sorted into cells first; None where they never are.

    `layout` is that of the sorted copy of the points: see :func:`~clfrnn.config.numbers_per_point`. With the
    layout "pairs" any number of queries is sorted, so that work-items in lockstep load the same points: 256 random
    queries with 49 neighbors took an H100 0.083 ms, and 0.115 ms unsorted with the layout "records".
    """
    if problem.periodic in SYSTEMS:
        return None
    if layout == "pairs":
        return 1
    found = problem.n * (1 + problem.survey.neighbors(problem.radius))
    return None if found < tuning.grid.least_to_sort_for else tuning.grid.many_queries


def requested_sides(problem: Problem) -> tuple[float, ...] | None:
    """The sides of cells of the option ``bin_width``, or None without it; see also :mod:`.clique_cells`."""
    width = problem.options.get("bin_width")
    if width is None:
        return None
    widths = width if isinstance(width, tuple) else (width,) * problem.dim
    return tuple([each * problem.radius for each in widths])


def spacing(problem: Problem) -> float:
    """The side of a cube that holds one point in the mean over points; 0 where the density is not known."""
    density = problem.survey.density(problem.radius)
    return float(density ** (-1.0 / problem.dim)) if 0 < density < math.inf else 0.0


def grid_for(problem: Problem, sides: tuple[float, ...]) -> CellGrid:
    """The cells of the given sides, or of the next larger ones that the domain allows."""
    (low, high), lengths = problem.without_strays, problem.space.lengths
    grid = fit_cells(low=low, high=high, sides=sides, n=problem.n, real=problem.real, lengths=lengths)
    # On a torus strays spread over all cells; elsewhere the border cells would collect them.
    return torus_like(grid, problem.n) if problem.has_strays else grid


def refit_cells(plan: CellPlan, problem: Problem, profile: DeviceProfile, tuning: Tuning) -> CellPlan:
    """The plan for other points or another box: cells of the same sides, which the same walk goes through."""
    grid = grid_for(problem, plan.sides)
    return dataclasses.replace(plan, grid=grid, binning=plan_binning(profile, tuning, problem=problem, grid=grid))


def plan_cells(
    problem: Problem, profile: DeviceProfile, tuning: Tuning, sides: tuple[float, ...], *, row: float | None = None
) -> CellPlan:
    """Plan cells of the given sides, or of the next larger ones that the domain allows.

    `row` is the length of a run of candidates along the first axis, where that is not the side of a cell.
    """
    grid = grid_for(problem, sides)
    # Not in a periodic box: queries whose windows cross an edge have too few registers for it (measured).
    run = (row or sides[0], *sides[1:])
    crowded = not problem.periodic and _points_of(problem, run) >= tuning.grid.long_run
    facts: dict[str, Any] = {"dim": problem.dim, "real": problem.real, "periodic": problem.periodic}
    return CellPlan(
        config=plan_walk(profile, tuning, **facts, crowded=crowded),
        edges=plan_walk(profile, tuning, **facts, edges=True),
        sides=tuple(
            [side if period else own for side, own, period in zip(sides, grid.sides, grid.periods, strict=True)]
        ),
        grid=grid,
        construction=problem.options["construction"],
        binning=plan_binning(profile, tuning, problem=problem, grid=grid),
    )
