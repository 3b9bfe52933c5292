"""Uniform grid: cells of one side, visited cell by cell (Green 2010; Hoetzlein 2014; Chisholm 2020, algorithm 3)."""

from __future__ import annotations

from typing import Any, ClassVar

import pyopencl.array as cla

from ...inputs.argument_types import MethodName
from ...inputs.deferred_checks import DeferredChecks
from ...planning.problem import Problem
from ...planning.tuning import Tuning
from ...primitives.readback import PendingBox
from ...profile import DeviceProfile
from ...runtime.session import Session
from ..options import check_construction, check_width
from .plan import CellPlan, plan_cells, refit_cells, requested_sides, spacing
from .structure import GridStructure

__all__ = ["UniformGrid", "UniformGridStructure"]


class UniformGrid:
    """The method: cells of side r, or wider ones where points are sparse, or of the side that is asked for."""

    name: MethodName = "uniform_grid"
    stem = "grid/uniform_grid"
    dims = frozenset({2, 3})
    options = frozenset({"bin_width", "construction"})
    surveys_occupancy = True
    variations: tuple[dict[str, Any], ...] = ({}, {"construction": "sort"}, {"bin_width": 0.4})

    def check(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return the options; the bin width is None unless it is given."""
        return {
            "construction": check_construction(options.get("construction", "counting")),
            "bin_width": check_width(options.get("bin_width")),
        }

    def plan(self, problem: Problem, profile: DeviceProfile, tuning: Tuning) -> CellPlan:
        """Plan cells of the sides of ``bin_width``, or of side r, or wider ones that hold about one point each."""
        default = (max(problem.radius, spacing(problem)),) * problem.dim
        return plan_cells(problem, profile, tuning, requested_sides(problem) or default)

    def refit(self, plan: CellPlan, problem: Problem, profile: DeviceProfile, tuning: Tuning) -> CellPlan | None:
        """Fit cells of the same sides to the points."""
        return None if problem.has_outgrown_survey else refit_cells(plan, problem, profile, tuning)

    def place(
        self,
        session: Session,
        problem: Problem,
        checks: DeferredChecks,
        plan: CellPlan,
        *,
        points: cla.Array,
        bounds: PendingBox | None,
    ) -> UniformGridStructure:
        """Bin the points."""
        return UniformGridStructure(session, problem, checks, plan, points=points, bounds=bounds)

    def build(
        self, session: Session, problem: Problem, checks: DeferredChecks, points: cla.Array, bounds: PendingBox | None
    ) -> UniformGridStructure:
        """Bin the points."""
        plan = self.plan(problem, session.profile, session.tuning)
        return self.place(session, problem, checks, plan, points=points, bounds=bounds)


class UniformGridStructure(GridStructure):
    """See :class:`~clfrnn.methods.grid.structure.GridStructure`."""

    stem: ClassVar[str] = UniformGrid.stem
    rows_are_runs: ClassVar[bool] = False

    def describe(self) -> list[str]:
        """See :class:`~clfrnn.methods.structure.SearchStructure`."""
        problem, width = self.problem, self.problem.options.get("bin_width")
        if width is not None:
            why = f"{width:.3g} in radii, asked for by bin_width"
        elif problem.radius >= spacing(problem):
            why = "the radius"
        else:
            why = "wider than the radius, so that a cell holds about one point"
        return [*super().describe(), f"sides: {why}"]
