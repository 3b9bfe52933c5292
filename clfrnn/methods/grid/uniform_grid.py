"""Uniform grid: cells of side at least the radius, visited cell by cell (Green 2010; Hoetzlein 2014)."""

from __future__ import annotations

from typing import Any, ClassVar

import pyopencl.array as cla

from ...inputs.deferred_checks import DeferredChecks
from ...planning.problem import Problem
from ...planning.tuning import Tuning
from ...primitives.readback import PendingBox
from ...profile import DeviceProfile
from ...runtime.session import Session
from ..options import check_construction
from .plan import CellPlan, plan_cells, spacing
from .structure import GridStructure

__all__ = ["UniformGrid", "UniformGridStructure"]


class UniformGrid:
    """The method: cells of side r, or wider ones where points are sparse."""

    name = "uniform_grid"
    stem = "grid/uniform_grid"
    dims = frozenset({2, 3})
    options = frozenset({"construction"})
    surveys_occupancy = True
    variations: tuple[dict[str, Any], ...] = ({}, {"construction": "sort"})

    def check(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return the options; the default construction is "counting"."""
        return {"construction": check_construction(options.get("construction", "counting"))}

    def plan(self, problem: Problem, profile: DeviceProfile, tuning: Tuning) -> CellPlan:
        """Plan cells of side r, or wider ones so that a cell holds about one point."""
        side = max(problem.radius, spacing(problem))
        return plan_cells(problem, profile, tuning, (side,) * problem.dim)

    def build(
        self, session: Session, problem: Problem, checks: DeferredChecks, points: cla.Array, bounds: PendingBox | None
    ) -> UniformGridStructure:
        """Bin the points."""
        plan = self.plan(problem, session.profile, session.tuning)
        return UniformGridStructure(session, problem, checks, plan, points=points, bounds=bounds)


class UniformGridStructure(GridStructure):
    """See :class:`~clfrnn.methods.grid.structure.GridStructure`."""

    stem: ClassVar[str] = UniformGrid.stem
