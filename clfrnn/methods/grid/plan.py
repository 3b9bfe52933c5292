"""The plan of points in cells: options, cells, the way of binning, and what is compiled in."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from ...domain import CellGrid, fit_cells
from ...planning.binning import BinningPlan, plan_binning
from ...planning.configs import WalkConfig
from ...planning.problem import Problem
from ...planning.traversal import plan_walk
from ...planning.tuning import Tuning
from ...profile import DeviceProfile

__all__ = ["CellPlan", "many_queries", "plan_cells", "spacing"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class CellPlan:
    """What is compiled in, the cells, and the way of binning."""

    config: WalkConfig
    #: the same for counts of points that lie in a periodic box
    edges: WalkConfig
    grid: CellGrid
    construction: str
    #: how the points come into the cells
    binning: BinningPlan


def _points_of(problem: Problem, sides: tuple[float, ...]) -> float:
    """Points expected in a box of such sides where points are."""
    density = problem.survey.density(problem.radius) if problem.radius > 0 else 0.0
    return density * math.prod(sides)


def many_queries(problem: Problem, tuning: Tuning, *, layout: str) -> int | None:
    """From how many queries on that are no points these are sorted into cells first; None where they never are.

    `layout` is that of the sorted copy of the points: see :class:`~clfrnn.planning.configs.WalkConfig`. By a copy in
    pairs any number of queries is sorted, as those in step then load the same points: 256 random ones with 49 neighbors
    took an H100 0.083 ms, and 0.115 unsorted by a copy in records.
    """
    if layout == "pairs":
        return 1
    found = problem.n * (1 + problem.survey.neighbors(problem.radius))
    return None if found < tuning.grid.least_to_sort_for else tuning.grid.many_queries


def spacing(problem: Problem) -> float:
    """The side of a cube that holds one point on average, where points are."""
    density = problem.survey.density(problem.radius)
    return float(density ** (-1.0 / problem.dim)) if 0 < density < math.inf else 0.0


def plan_cells(
    problem: Problem, profile: DeviceProfile, tuning: Tuning, sides: tuple[float, ...], *, row: float | None = None
) -> CellPlan:
    """Cells of these sides, or of the nearest that the domain allows; `row` is the length of a run, if not a cell."""
    survey = problem.survey
    grid = fit_cells(low=survey.low, high=survey.high, sides=sides, n=problem.n, real=problem.real, box=problem.box)
    # In a periodic box those who look over an edge have too few registers for what pairs gain (measured).
    run = (row or sides[0], *sides[1:])
    crowded = problem.box is None and _points_of(problem, run) >= tuning.grid.long_run
    facts: dict[str, Any] = {"dim": problem.dim, "real": problem.real, "periodic": problem.box is not None}
    return CellPlan(
        config=plan_walk(profile, tuning, **facts, crowded=crowded),
        edges=plan_walk(profile, tuning, **facts, edges=True),
        grid=grid,
        construction=problem.options["construction"],
        binning=plan_binning(profile, tuning, problem=problem, grid=grid),
    )
