"""Strips: the uniform grid visited row by row, with cells of a chosen proportion of the radius (Chisholm 2020)."""

from __future__ import annotations

from typing import Any, ClassVar

import pyopencl.array as cla

from ..plan import Problem
from ..primitives.reduce import PendingBox
from ..profile import DeviceProfile
from ..session import Session
from .cell_plan import CellPlan, check_construction, check_width, plan_cells
from .cells import CellIndex
from .side_costs import describe_sides, rank_sides

__all__ = ["Strips", "StripsIndex", "plan_strips"]


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
        """Cells of the sides asked for, else of those that are foreseen to cost least."""
        asked = _sides_asked_for(problem)
        return plan_strips(problem, profile, asked or rank_sides(problem, profile)[0].sides)

    def build(self, session: Session, problem: Problem, points: cla.Array, bounds: PendingBox | None) -> StripsIndex:
        """Bin the points."""
        return StripsIndex(session, problem, self.plan(problem, session.profile), points, bounds)


def plan_strips(problem: Problem, profile: DeviceProfile, sides: tuple[float, ...]) -> CellPlan:
    """Cells of such sides, whose rows reach over a query's window."""
    return plan_cells(problem, profile, sides, row=2 * problem.radius + sides[0])


def _sides_asked_for(problem: Problem) -> tuple[float, ...] | None:
    width = problem.options["bin_width"]
    return None if width is None else (width * problem.radius,) * problem.dim


class StripsIndex(CellIndex):
    """See :class:`~clfrnn.methods.cells.CellIndex`."""

    stem: ClassVar[str] = "strips"

    def describe(self) -> list[str]:
        """See :class:`~clfrnn.methods.walker.Walker`."""
        profile, problem = self.session.profile, self.problem
        return super().describe() + describe_sides(problem, profile, _sides_asked_for(problem))
