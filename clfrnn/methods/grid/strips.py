"""Strips: the uniform grid visited row by row, with cells of a chosen proportion of the radius (Chisholm 2020)."""

from __future__ import annotations

from typing import Any, ClassVar

import pyopencl.array as cla

from ...inputs.deferred_checks import DeferredChecks
from ...planning.bucket_sort import fewer_cells
from ...planning.problem import Problem
from ...primitives.readback import PendingBox
from ...profile import DeviceProfile
from ...runtime.session import Session
from ..options import check_construction, check_width
from .cost_model import describe_sides, rank_sides
from .plan import CellPlan, plan_cells
from .structure import GridStructure

__all__ = ["Strips", "StripsStructure", "plan_strips"]

#: Of very many points, sides that cost so many times as much as the cheapest are as good, and cells up to so many times
#: as long.
_AS_CHEAP, _LONGER = 1.05, 8


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
        return plan_strips(problem, profile, asked) if asked else _plan_cheapest(problem, profile)

    def build(
        self, session: Session, problem: Problem, checks: DeferredChecks, points: cla.Array, bounds: PendingBox | None
    ) -> StripsStructure:
        """Bin the points."""
        return StripsStructure(
            session, problem, checks, self.plan(problem, session.profile), points=points, bounds=bounds
        )


def plan_strips(problem: Problem, profile: DeviceProfile, sides: tuple[float, ...]) -> CellPlan:
    """Cells of such sides, whose rows reach over a query's window."""
    return plan_cells(problem, profile, sides, row=2 * problem.radius + sides[0])


def _plan_cheapest(problem: Problem, profile: DeviceProfile) -> CellPlan:
    """Cells of the cheapest sides; of very many points others, or longer ones, where these are sooner filled.

    To count 2^27 points took no longer by cells twice as long, and an update half as long (measured).
    """
    cheapest, *others = rank_sides(problem, profile)
    plans = [plan_strips(problem, profile, cheapest.sides)]
    if not plans[0].binning.overfull:
        return plans[0]
    along, *across = cheapest.sides
    tried = [each.sides for each in others if each.cost <= _AS_CHEAP * cheapest.cost]
    longer = fewer_cells(profile, plans[0].grid.cells, _LONGER)
    for sides in [*tried, *((times * along, *across) for times in longer)]:
        plans.append(plan_strips(problem, profile, sides))
        if not plans[-1].binning.overfull:
            return plans[-1]
    by_buckets = [plan for plan in plans if plan.binning.by_buckets]
    return (by_buckets or plans)[0]


def _sides_asked_for(problem: Problem) -> tuple[float, ...] | None:
    width = problem.options["bin_width"]
    return None if width is None else (width * problem.radius,) * problem.dim


class StripsStructure(GridStructure):
    """See :class:`~clfrnn.methods.grid.structure.GridStructure`."""

    stem: ClassVar[str] = "grid/strips"

    def describe(self) -> list[str]:
        """See :class:`~clfrnn.methods.structure.SearchStructure`."""
        profile, problem = self.session.profile, self.problem
        return super().describe() + describe_sides(problem, profile, _sides_asked_for(problem))
