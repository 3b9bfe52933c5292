"""PointUpdates: checks new points of an index, and passes them to its search structure or to a new one."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import pyopencl.array as cla

from .arrays import REAL_OF
from .domain.box import PeriodicBox
from .domain.systems import Systems
from .domain_tables.periodic_images import place_in
from .errors import InvalidInputError
from .host.numbers import shown
from .methods.base import Method
from .methods.structure import SearchStructure
from .methods.traversal import Traversal
from .points.batches import other_systems
from .points.deferred_checks import DeferredChecks, check_near
from .points.periodic_box import check_images, check_new_box
from .points.rounding import warn_of_rounding
from .points.transfer import lies_ready, take_points
from .prepare import Cloud, choose
from .primitives.readback import Box, PendingBox
from .primitives.reduce import bounding_box
from .problem import Problem
from .runtime.session import Session

__all__ = ["PointUpdates"]

#: Largest number of plans that an index remembers; each is of another size than the others.
_MOST_PLANS = 16


class _Planned(NamedTuple):
    """A plan, and the method and the problem that it was made for."""

    method: Method
    problem: Problem
    plan: Any


class PointUpdates:
    """Updates an index with arrays of new points: its search structure, or a new structure with a traversal of its own.

    A structure holds one number of points in one box. Points of another number, or in another box, get a new structure,
    and whoever still uses the old one is not disturbed. Its plan is the old one, fitted to the points: nothing is
    compiled and nothing surveyed. Where points have outgrown the survey that a plan was made from, another plan that
    the index once had is taken, or one is made anew, which waits and may compile.

    Parameters
    ----------
    has_box : whether the index was built with a box, periodic or not
    chosen : whether the method was chosen for the points, and may be chosen again for points that need another plan
    """

    def __init__(self, method: Method, structure: SearchStructure, *, has_box: bool, chosen: bool) -> None:
        self.traversal = Traversal(structure)
        #: what the last update did, as a word
        self.last = "rebuilt"
        self._has_box, self._chosen = has_box, chosen
        #: the plans that the index has had, the current one last
        self._plans = [_Planned(method, structure.problem, structure.plan)]
        #: the session in which new structures are built; an index whose size never changes needs no spare memory
        self._spacious: Session | None = None
        #: the box of the last update that succeeded; the structure need not look at the same box again
        self._placed_by: Box | None = None

    @property
    def method(self) -> Method:
        """The method of the current structure."""
        return self._plans[-1].method

    @property
    def _structure(self) -> SearchStructure:
        return self.traversal.structure

    @property
    def _checks(self) -> DeferredChecks:
        return self.traversal.checks

    def apply(self, points: Any, box: Any = None, cell: Any = None, batch: Any = None) -> None:
        """Place `points` of the dim and dtype of the index, in another `box` or `cell` and of a `batch` if given.

        A host array is checked at once. A device array is checked on the device without waiting.
        """
        period = self._structure.problem.box
        if box is not None or cell is not None or batch is not None:
            period = self._check_box(box, cell, batch)
        current = self._structure.problem.box
        before = current.placing.state() if isinstance(current, Systems) else None
        try:
            array, bounds = self._receive(points, period)
            if self._stays(array, period):
                self.last = self._update(array, bounds)
            else:
                self._replace(array, bounds, period)
                self.last = "rebuilt"
        except BaseException:
            if isinstance(current, Systems):  # they are those of the old points, which stay
                current.placing.restore(before)
            raise

    def _check_box(self, box: Any, cell: Any, batch: Any) -> PeriodicBox | None:
        """The periodic box of new points, or their systems; raises where these have not the axes of the old ones."""
        problem, dtype = self._structure.problem, self._structure.dtype
        given = box is not None or cell is not None
        if batch is not None and not isinstance(problem.box, Systems):
            raise InvalidInputError(
                f"batch: expected none, as the index was built without one, got {shown(batch)}; build a new index with "
                "batch"
            )
        if isinstance(problem.box, Systems) and (problem.box.has_images or self._has_box or not given):
            session, radius = self._structure.session, problem.radius
            return other_systems(session, problem.box, batch, (box, cell), radius=radius, dtype=dtype)
        before = None if isinstance(problem.box, Systems) else problem.box
        return check_new_box(box, cell, before, has_box=self._has_box, dim=problem.dim, dtype=dtype)

    def _stays(self, points: cla.Array, period: PeriodicBox | None) -> bool:
        """Whether the structure is for as many points in the same box."""
        problem = self._structure.problem
        return bool(points.shape[0] == problem.n) and (period is problem.box or period == problem.box)

    def _receive(self, points: Any, period: PeriodicBox | None) -> tuple[cla.Array, PendingBox | None]:
        """Bring new points to the device; the second value is their bounding box for device arrays, else None."""
        structure = self._structure
        if lies_ready(structure.session, points, structure.dtype) and points.shape[1:] == (structure.problem.dim,):
            self._fitting(points, period)
            return points, self._find_bounds(points, period)
        array, bounds, rows, largest = take_points(
            structure.session,
            points,
            "points",
            real=structure.dtype,
            exact=True,
            find_box=lambda taken: self._find_bounds(self._fitting(taken, period), period),
        )
        warn_of_rounding(structure.session, self._fitting(array, period), structure.problem.radius, largest, rows=rows)
        return array, bounds

    def _fitting(self, points: cla.Array, period: PeriodicBox | None) -> cla.Array:
        """Raise unless `points` have as many coordinates as those of the index, and a system each; return them."""
        problem = self._structure.problem
        dim = problem.dim
        if points.shape[1] != dim:
            raise InvalidInputError(
                f"points: expected shape (n, {dim}), as the index has, got {points.shape}; "
                "build a new index for another number of coordinates"
            )
        if isinstance(period, Systems) and points.shape[0] != len(period.ranks):
            raise InvalidInputError(
                f"points: expected {len(period.ranks):,} points, as many as batch has numbers, got "
                f"{points.shape[0]:,}; pass batch with the number of the system of each point"
            )
        return points

    def _find_bounds(self, points: cla.Array, period: PeriodicBox | None) -> PendingBox:
        """The bounding box of new points, which the device finds now or, where the structure stays, as it sorts."""
        if self._stays(points, period):
            return self._structure.find_bounds(points)
        bounds = self._checks.slot()
        bounds.periodic = period
        session = self._structure.session
        return bounding_box(session, place_in(session, period, points), bounds)

    def _read_bounds(self, points: cla.Array, period: PeriodicBox | None) -> tuple[PendingBox, Box]:
        """The bounding box of points that came from the host; raises where they lie too far from the periodic box."""
        bounds, session = self._checks.slot(), self._structure.session
        bounds.periodic = period
        placed = place_in(session, period, points)
        box = bounding_box(session, placed, bounds).read()  # not long, as the copy of the points was waited for
        if period is not None:
            check_near("points", period, box.low, box.high, REAL_OF[self._structure.dtype])
        return bounds, box

    def _update(self, points: cla.Array, bounds: PendingBox | None) -> str:
        """Place as many points in the same box."""
        checks = self._checks
        if bounds is not None:
            update = self._place(points, bounds, checks.newest_box())
            checks.new_points(bounds)
            return update
        bounds, box = self._read_bounds(points, self._structure.problem.box)
        update = self._place(points, bounds, box)
        checks.good_points(bounds)
        return update

    def _place(self, points: cla.Array, bounds: PendingBox, box: Box | None) -> str:
        """Place new points; the checks know no bounding box of the points while that is under way."""
        structure = self._structure
        before, known = structure.arguments(), self._checks.points_change()
        try:
            update = structure.update(points, bounds, None if box is self._placed_by else box)
        except BaseException:
            buffers = ((old, new) for old, new in zip(before, structure.arguments(), strict=True))
            if all(old is new for old, new in buffers if hasattr(old, "int_ptr")):
                self._checks.points_stay(known)
            raise
        self._placed_by = box
        return update

    def _replace(self, points: cla.Array, bounds: PendingBox | None, period: PeriodicBox | None) -> None:
        """Build a structure over points of another number or in another box; until it is done the old one stays."""
        problem, checks, checked = self._structure.problem, self._checks, bounds is None
        if period is not None and not isinstance(period, Systems):
            check_images(period, problem.radius, points.shape[0], problem.real)
        if self._spacious is None:
            self._spacious = self._structure.session.with_spare_memory()
        # Boxes in a cell are those of its heights, which another cell has not.
        box = checks.newest_box() if period is None or period.kind == "box" else None
        if bounds is None:
            bounds, box = self._read_bounds(points, period)
        corners = (problem.low, problem.high) if box is None else (box.low, box.high)
        structure, plans = self._fit(self._spacious, points, bounds, period, corners)
        checks.points_change()  # nothing is known of the points should somebody interrupt this
        self.traversal, self._plans, self._placed_by = Traversal(structure), plans, box
        checks.periodic = period
        if checked:
            checks.good_points(bounds)
        else:
            checks.new_points(bounds)

    def _fit(
        self,
        session: Session,
        points: cla.Array,
        bounds: PendingBox,
        period: PeriodicBox | None,
        corners: tuple[tuple[float, ...], tuple[float, ...]],
    ) -> tuple[SearchStructure, list[_Planned]]:
        """The structure by the newest plan that serves the points, or by one that is made for them; and all plans."""
        checks, n, profile, tuning = self._checks, points.shape[0], session.profile, session.tuning
        for k, (method, planned, plan) in reversed([*enumerate(self._plans)]):
            problem = planned.grown(n, period, *corners)
            if problem.periodic != planned.periodic:  # a cell became a rectangular box, or the other way round
                continue
            if self._chosen and problem.has_outgrown_survey:
                continue
            fitted = method.refit(plan, problem, profile, tuning)
            if fitted is not None:
                structure = method.place(session, problem, checks, fitted, points=points, bounds=bounds)
                structure.inherit(self._structure)
                return structure, [*self._plans[:k], *self._plans[k + 1 :], self._plans[k]]
        method, problem = self._plan_anew(session, points, bounds, period)
        structure = method.build(session, problem, checks, points, bounds)
        return structure, [*self._plans[1 - _MOST_PLANS :], _Planned(method, structure.problem, structure.plan)]

    def _plan_anew(
        self, session: Session, points: cla.Array, bounds: PendingBox, period: PeriodicBox | None
    ) -> tuple[Method, Problem]:
        """Survey the points; the method, chosen again where it was chosen, and the problem to plan for."""
        method, before = self.method, self._structure.problem
        cloud = Cloud(session, points, period, place_in(session, period, points), bounds)
        crowding = cloud.is_worth_binning(None) if self._chosen else method.surveys_occupancy
        survey = cloud.survey(before.radius, crowding=crowding)
        problem = dataclasses.replace(before, n=points.shape[0], box=period, survey=survey, corners=None)
        return choose(session, problem, queries=None) if self._chosen else (method, problem)
