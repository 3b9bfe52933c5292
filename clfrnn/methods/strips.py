"""Strips: the uniform grid visited row by row, with cells of a chosen proportion of the radius (Chisholm 2020)."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import pyopencl.array as cla

from ..plan import Problem
from ..primitives.reduce import PendingBox
from ..profile import DeviceProfile
from ..session import Session
from .cell_plan import CellPlan, check_construction, check_width, plan_cells, spacing
from .cells import CellIndex

__all__ = ["Strips", "StripsIndex"]

#: From so many other points in a cell of side r on: the sides of cells along the strip and across it, in radii. Narrow
#: ones spare tests, wide ones lookups (measured on an H200 and on CPUs). A CPU tests the points of a run a vector at a
#: time and wants longer runs; on a GPU, sides that are whole parts of the radius keep work-items in step.
_PROPORTIONS = {"cpu": ((100.0, 1 / 4, 1 / 2), (8.0, 1 / 2, 1.0))}
_PROPORTIONS_ELSEWHERE = ((24.0, 1 / 4, 1 / 2), (1.5, 1 / 3, 1.0))

#: Cells of more radii than these have sides of any length: what is added to a window is little beside it.
_WIDEST = 100.0


class Strips:
    """The method: a row of cells is one run of points."""

    name = "strips"
    dims = frozenset({2, 3})
    options = frozenset({"bin_width", "construction"})
    surveys_occupancy = True
    variations: tuple[dict[str, Any], ...] = (
        {},
        {"construction": "sort"},
        {"bin_width": 0.4},
        {"bin_width": 2.5},
    )

    def check(self, options: dict[str, Any]) -> dict[str, Any]:
        """The construction, and the bin width when it is given."""
        return {
            "construction": check_construction(options.get("construction", "counting")),
            "bin_width": check_width(options.get("bin_width")),
        }

    def plan(self, problem: Problem, profile: DeviceProfile) -> CellPlan:
        """Cells of the proportion asked for, else of the one for the crowd, else about a point's own space."""
        radius, across = problem.radius, problem.dim - 1
        if problem.options["bin_width"] is not None:
            return _plan(problem, profile, (problem.options["bin_width"] * radius,) * problem.dim)
        for crowd, along, side in _PROPORTIONS.get(profile.kind, _PROPORTIONS_ELSEWHERE):
            if problem.survey.others >= crowd:
                plan = _plan(problem, profile, (along * radius,) + (side * radius,) * across)
                if plan.grid.wrapped and side == 1:
                    # Points that take up little of their box: a torus holds points far apart in one cell (measured).
                    cubes = _plan(problem, profile, (radius,) * problem.dim)
                    return plan if cubes.grid.wrapped else cubes
                return plan
        return _plan(problem, profile, _sides_of_sparse(problem, profile))

    def build(self, session: Session, problem: Problem, points: cla.Array, bounds: PendingBox | None) -> StripsIndex:
        """Bin the points."""
        return StripsIndex(session, problem, self.plan(problem, session.profile), points, bounds)


def _sides_of_sparse(problem: Problem, profile: DeviceProfile) -> tuple[float, ...]:
    """The sides of cells with about one point each.

    On a GPU whole radii across the strips, for then windows of work-items in step have as many rows each (measured).
    """
    radius, side = problem.radius, max(problem.radius, spacing(problem))
    if profile.kind == "cpu" or side > _WIDEST * radius:
        return (side,) * problem.dim
    width = side / radius if radius else 1.0
    across = max(1, math.floor(width + 0.5))
    along = min(width, width**problem.dim / across ** (problem.dim - 1))
    return (along * radius,) + (across * radius,) * (problem.dim - 1)


def _plan(problem: Problem, profile: DeviceProfile, sides: tuple[float, ...]) -> CellPlan:
    """Cells whose rows reach over a query's window."""
    return plan_cells(problem, profile, sides, row=2 * problem.radius + sides[0])


class StripsIndex(CellIndex):
    """See :class:`~clfrnn.methods.cells.CellIndex`."""

    stem: ClassVar[str] = "strips"
