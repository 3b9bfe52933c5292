"""Cells whose points are cliques: so narrow that all points of a cell are neighbors of each other. Pure."""

from __future__ import annotations

import dataclasses
import math

from ...problem import Problem
from ...profile import DeviceProfile
from ...tuning import Tuning
from ..base import Method
from .strips import Strips

__all__ = ["has_clique_cells", "with_clique_cells"]

#: Sides of such cells in radii, by the number of axes: the diagonal is at most the radius. Wider cells have fewer rows,
#: and a window of twice the radius is a whole number of them, so that work-items in lockstep have as many rows.
_SIDES = {2: (2 / 3, 2 / 3), 3: (1 / 3, 2 / 3, 2 / 3)}

#: Kinds of domains whose cells are boxes in the coordinates of points.
_KINDS = ("", "box")


def with_clique_cells(
    problem: Problem, profile: DeviceProfile, tuning: Tuning, named: Method | None
) -> tuple[Method, Problem] | None:
    """A method over such cells, and the problem with its options, where points crowd; None elsewhere.

    `named` is the method that was asked for by name. It is taken where it has cells and nobody chose their sides.
    """
    if problem.dim not in _SIDES or not _may_have_cliques(problem, profile):
        return None
    if problem.survey.others < tuning.linking.least_others[problem.dim == 3]:
        return None
    method, why, options = named, problem.why, problem.options
    if method is None:
        method, options = Strips(), Strips().check({})
        why = "chosen by auto, as points crowd, and those of a narrow cell need no test to be linked"
    if options.get("bin_width", 0) is not None:
        return None
    return method, dataclasses.replace(problem, options={**options, "bin_width": _SIDES[problem.dim]}, why=why)


def has_clique_cells(problem: Problem, profile: DeviceProfile) -> bool:
    """Whether cells of the option ``bin_width`` are so narrow; the diagonal of each clique is computed in any case."""
    width = problem.options.get("bin_width")
    narrow = width is not None and (width == _SIDES.get(problem.dim) or width * math.sqrt(problem.dim) <= 1)
    return narrow and _may_have_cliques(problem, profile)


def _may_have_cliques(problem: Problem, profile: DeviceProfile) -> bool:
    """Whether the kernels that link cliques serve the domain, and the driver does not bound their loops."""
    return problem.periodic in _KINDS and profile.loop_turns is None
