"""Strips: the uniform grid visited row by row, with cells whose sides are chosen by cost (Chisholm 2020)."""

from __future__ import annotations

from typing import Any, ClassVar

from ...points.argument_types import MethodName
from ...problem import Problem
from ...profile import DeviceProfile
from ...tuning import Tuning
from .binning.config import fewer_cells
from .cost_model import describe_sides, rank_sides
from .plan import CellPlan, plan_cells, requested_sides
from .structure import GridMethod, GridStructure

__all__ = ["Strips", "StripsStructure", "plan_strips"]


class StripsStructure(GridStructure):
    """See :class:`~clfrnn.methods.grid.structure.GridStructure`."""

    stem: ClassVar[str] = "methods/grid/strips"

    def describe(self) -> list[str]:
        session, problem = self.session, self.problem
        sides = describe_sides(problem, session.profile, session.tuning, requested_sides(problem))
        return super().describe() + sides


class Strips(GridMethod):
    """The method: the points of a row of cells are one run of candidates."""

    name: MethodName = "strips"
    stem = StripsStructure.stem
    structure = StripsStructure
    variations: tuple[dict[str, Any], ...] = (
        {},
        {"construction": "sort"},
        {"bin_width": 0.4},
        {"bin_width": 2.5},
    )

    def plan(self, problem: Problem, profile: DeviceProfile, tuning: Tuning) -> CellPlan:
        """Plan cells of the sides of ``bin_width``, or of the sides that are expected to cost least."""
        sides = requested_sides(problem)
        return plan_strips(problem, profile, tuning, sides) if sides else _plan_cheapest(problem, profile, tuning)


def plan_strips(problem: Problem, profile: DeviceProfile, tuning: Tuning, sides: tuple[float, ...]) -> CellPlan:
    """Plan cells of such sides; a run of candidates is as long as a query's window."""
    return plan_cells(problem, profile, tuning, sides, row=2 * problem.radius + sides[0])


def _plan_cheapest(problem: Problem, profile: DeviceProfile, tuning: Tuning) -> CellPlan:
    """Plan cells of the cheapest sides, or of others for which fewer cells make points faster to sort.

    A count of 2^27 points took as long with cells of twice the length, and an update half as long (measured).
    """
    cheapest, *others = rank_sides(problem, profile, tuning)
    plans = [plan_strips(problem, profile, tuning, cheapest.sides)]
    if not plans[0].binning.overfull:
        return plans[0]
    along, *across = cheapest.sides
    candidates = [each.sides for each in others if each.cost <= tuning.grid.as_cheap * cheapest.cost]
    longer = fewer_cells(profile, tuning, plans[0].grid.cells, tuning.grid.longest_stretch)
    for sides in [*candidates, *((times * along, *across) for times in longer)]:
        plans.append(plan_strips(problem, profile, tuning, sides))
        if not plans[-1].binning.overfull:
            return plans[-1]
    by_buckets = [plan for plan in plans if plan.binning.by_buckets]
    return (by_buckets or plans)[0]
