"""Uniform grid: cells of side at least the radius, visited cell by cell (Green 2010; Hoetzlein 2014)."""

from __future__ import annotations

from typing import Any, ClassVar

import pyopencl.array as cla

from ...inputs.deferred_checks import DeferredChecks
from ...planning.problem import Problem
from ...primitives.readback import PendingBox
from ...profile import DeviceProfile
from ...runtime.session import Session
from ..options import check_construction
from .plan import CellPlan, plan_cells, spacing
from .structure import GridStructure

__all__ = ["UniformGrid", "UniformGridStructure"]


class UniformGrid:
    """The method: cells of one radius, wider where points are sparse."""

    name = "uniform_grid"
    dims = frozenset({2, 3})
    options = frozenset({"construction"})
    surveys_occupancy = True
    variations: tuple[dict[str, Any], ...] = ({}, {"construction": "sort"})

    def check(self, options: dict[str, Any]) -> dict[str, Any]:
        """The construction, counting unless said otherwise."""
        return {"construction": check_construction(options.get("construction", "counting"))}

    def plan(self, problem: Problem, profile: DeviceProfile) -> CellPlan:
        """Cells of side r, or wider so that one holds about a point."""
        side = max(problem.radius, spacing(problem))
        return plan_cells(problem, profile, (side,) * problem.dim)

    def build(
        self, session: Session, problem: Problem, checks: DeferredChecks, points: cla.Array, bounds: PendingBox | None
    ) -> UniformGridStructure:
        """Bin the points."""
        return UniformGridStructure(
            session, problem, checks, self.plan(problem, session.profile), points=points, bounds=bounds
        )


class UniformGridStructure(GridStructure):
    """See :class:`~clfrnn.methods.grid.structure.GridStructure`."""

    stem: ClassVar[str] = "grid/uniform_grid"
