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
from ...profile import DeviceProfile

__all__ = ["CellPlan", "many_queries", "plan_cells", "spacing"]


#: From so many points in a run on, a GPU waits for the bytes of candidates rather than for rows to be looked up
#: (measured).
_LONG_RUN = 8.0


#: From so many queries that are no points on, sorting them takes less than going through cells anywhere (measured with
#: random ones, on an H200 and on two cores); and on a CPU where points and their neighbors are so many together that no
#: cache holds what is gone through (measured with 100,000 to 1,000,000 points and 0.4 to 49 neighbors). Where points
#: lie in pairs any number of queries is: those in step then load the same ones (256 random ones with 49 neighbors took
#: an H100 0.083 ms, and 0.115 unsorted by a copy of the points in records).
_MANY_QUERIES = {"cpu": 1 << 14}
_MANY_QUERIES_ELSEWHERE = 1 << 17
_LEAST_TO_SORT_FOR = {"cpu": 3e6}


@dataclasses.dataclass(frozen=True, kw_only=True)
class CellPlan:
    """What is compiled in, the cells, and the way of binning."""

    config: WalkConfig
    #: the same for counts of points at home in a periodic box
    edges: WalkConfig
    grid: CellGrid
    construction: str
    #: how the points come into the cells
    binning: BinningPlan


def _points_of(problem: Problem, sides: tuple[float, ...]) -> float:
    """Points expected in a box of such sides where points are."""
    density = problem.survey.density(problem.radius) if problem.radius > 0 else 0.0
    return density * math.prod(sides)


def many_queries(problem: Problem, profile: DeviceProfile, *, layout: str) -> int | None:
    """From how many queries on that are no points these are sorted into cells first; None where they never are.

    `layout` is that of the sorted copy of the points: see :class:`~clfrnn.planning.configs.WalkConfig`.
    """
    if layout == "pairs":
        return 1
    found = problem.n * (1 + problem.survey.neighbors(problem.radius))
    if found < _LEAST_TO_SORT_FOR.get(profile.kind, 0.0):
        return None
    return _MANY_QUERIES.get(profile.kind, _MANY_QUERIES_ELSEWHERE)


def spacing(problem: Problem) -> float:
    """The side of a cube that holds one point on average, where points are."""
    density = problem.survey.density(problem.radius)
    return float(density ** (-1.0 / problem.dim)) if 0 < density < math.inf else 0.0


def plan_cells(
    problem: Problem, profile: DeviceProfile, sides: tuple[float, ...], *, row: float | None = None
) -> CellPlan:
    """Cells of the given sides or the next that the domain allows; `row` is the length of a run, if not a cell."""
    survey = problem.survey
    grid = fit_cells(low=survey.low, high=survey.high, sides=sides, n=problem.n, real=problem.real, box=problem.box)
    # In a periodic box those who look over an edge have too few registers for what pairs gain (measured).
    crowded = problem.box is None and _points_of(problem, (row or sides[0], *sides[1:])) >= _LONG_RUN
    facts: dict[str, Any] = {"dim": problem.dim, "real": problem.real, "periodic": problem.box is not None}
    config, edges = plan_walk(profile, **facts, crowded=crowded), plan_walk(profile, **facts, edges=True)
    return CellPlan(
        config=config,
        edges=edges,
        grid=grid,
        construction=problem.options["construction"],
        binning=plan_binning(profile, problem=problem, grid=grid),
    )
