"""Strips: the uniform grid visited row by row, with cells of a chosen proportion of the radius (Chisholm 2020)."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import pyopencl.array as cla

from ..plan import Problem
from ..primitives.reduce import PendingBox
from ..profile import DeviceProfile
from ..session import Session
from .cells import CellIndex, CellPlan, check_construction, check_width, plan_cells, spacing

__all__ = ["Strips", "StripsIndex"]

#: From this many other points in a cell of side r on, cells of half the radius spare more tests than they cost lookups
#: (measured). A CPU tests a run's points a vector at a time and wants longer runs.
_CROWDED = {"cpu": 100.0}
_CROWDED_ELSEWHERE = 8.0

#: From this many on, cells half as long along the strip let it end nearer to the window, in as many strips; measured to
#: pay on a CPU, not on a GPU.
_HALVED_ALONG = {"cpu": 8.0}


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
        """Cells of the proportion asked for, else half a radius in crowds, a radius, or about a point's own space."""
        if problem.options["bin_width"] is not None:
            return plan_cells(problem, profile, (problem.options["bin_width"] * problem.radius,) * problem.dim)
        crowd = problem.survey.others
        if crowd >= _CROWDED.get(profile.kind, _CROWDED_ELSEWHERE):
            side = 0.5 * problem.radius
        else:
            side = max(problem.radius, spacing(problem))
        along = side / 2 if crowd >= _HALVED_ALONG.get(profile.kind, math.inf) else side
        return plan_cells(problem, profile, (along,) + (side,) * (problem.dim - 1))

    def build(self, session: Session, problem: Problem, points: cla.Array, bounds: PendingBox | None) -> StripsIndex:
        """Bin the points."""
        return StripsIndex(session, problem, self.plan(problem, session.profile), points, bounds)


class StripsIndex(CellIndex):
    """See :class:`~clfrnn.methods.cells.CellIndex`."""

    stem: ClassVar[str] = "strips"
