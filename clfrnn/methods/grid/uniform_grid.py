"""Uniform grid: cells of one side, visited cell by cell (Green 2010; Hoetzlein 2014; Chisholm 2020, algorithm 3)."""

from __future__ import annotations

from typing import Any, ClassVar

from ...points.argument_types import MethodName
from ...problem import Problem
from ...profile import DeviceProfile
from ...tuning import Tuning
from .plan import CellPlan, plan_cells, requested_sides, spacing
from .structure import GridMethod, GridStructure

__all__ = ["UniformGrid", "UniformGridStructure"]


class UniformGridStructure(GridStructure):
    """See :class:`~clfrnn.methods.grid.structure.GridStructure`."""

    stem: ClassVar[str] = "methods/grid/uniform_grid"
    rows_are_runs: ClassVar[bool] = False

    def describe(self) -> list[str]:
        problem, width = self.problem, self.problem.options.get("bin_width")
        if width is not None:
            why = f"{width:.3g} in radii, asked for by bin_width"
        elif problem.radius >= spacing(problem):
            why = "the radius"
        else:
            why = "wider than the radius, so that a cell holds about one point"
        return [*super().describe(), f"sides: {why}"]


class UniformGrid(GridMethod):
    """The method: cells of side r, or wider ones where points are sparse, or of the side that is asked for."""

    name: MethodName = "uniform_grid"
    stem = UniformGridStructure.stem
    structure = UniformGridStructure
    variations: tuple[dict[str, Any], ...] = ({}, {"construction": "sort"}, {"bin_width": 0.4})

    def plan(self, problem: Problem, profile: DeviceProfile, tuning: Tuning) -> CellPlan:
        """Plan cells of the sides of ``bin_width``, or of side r, or wider ones that hold about one point each."""
        default = (max(problem.radius, spacing(problem)),) * problem.dim
        return plan_cells(problem, profile, tuning, requested_sides(problem) or default)
