"""Strips: the uniform grid visited row by row, with cells of a chosen proportion of the radius (Chisholm 2020)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pyopencl.array as cla

from ..plan import Problem
from ..profile import DeviceProfile
from ..session import Session
from .cells import CellIndex, CellPlan, check_construction, check_width, plan_cells, points_per_cell, spacing

__all__ = ["Strips", "StripsIndex"]

#: From this many other points in a cell of side r on, cells of half the radius spare more tests than they cost lookups
#: (measured). A CPU tests a run's points a vector at a time and wants longer runs.
_CROWDED = {"cpu": 30.0}
_CROWDED_ELSEWHERE = 8.0

#: Along a strip cells are up to this many times narrower than across, as long as each still holds a point.
_NARROWEST = 4.0


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

    def check(self, options: dict[str, Any], dtype: np.dtype[Any]) -> dict[str, Any]:  # noqa: ARG002
        """The construction, and the bin width when it is given."""
        return {
            "construction": check_construction(options.get("construction", "counting")),
            "bin_width": check_width(options.get("bin_width")),
        }

    def plan(self, problem: Problem, profile: DeviceProfile) -> CellPlan:
        """Cells of the proportion asked for, else as crowding has it, and then narrower along the strip.

        A strip reads whole cells, so its ends overshoot the window by a cell; narrow cells along it cost lookups in
        the same number of strips, and tests of fewer points.
        """
        width = problem.options["bin_width"]
        if width is not None:
            return plan_cells(problem, profile, (width * problem.radius,) * problem.dim)
        if problem.survey.others >= _CROWDED.get(profile.kind, _CROWDED_ELSEWHERE):
            side = 0.5 * problem.radius
        else:
            side = max(problem.radius, spacing(problem))
        along = side / max(1.0, min(_NARROWEST, points_per_cell(problem, side)))
        return plan_cells(problem, profile, (along,) + (side,) * (problem.dim - 1))

    def build(self, session: Session, problem: Problem, points: cla.Array) -> StripsIndex:
        """Bin the points."""
        return StripsIndex(session, problem, self.plan(problem, session.profile), points)


class StripsIndex(CellIndex):
    """See :class:`~clfrnn.methods.cells.CellIndex`."""

    stem: ClassVar[str] = "strips"
