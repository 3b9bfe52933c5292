"""PointUpdates: checks new points of an index, and passes them to its search structure or to a new one."""

from __future__ import annotations

import contextlib
import dataclasses
from typing import Any, NamedTuple

import pyopencl.array as cla

from .arrays import REAL_OF
from .domain.box import Domain
from .errors import DeviceMemoryError, InvalidInputError, KernelBuildError
from .methods.base import Method
from .methods.domain_tables.kinds import make_tables
from .methods.structure import NewPoints, SearchStructure
from .methods.traversal import Traversal
from .points.batches import check_number, other_domain
from .points.deferred_checks import DeferredChecks, check_near
from .points.periodic_box import check_images
from .points.rounding import warn_of_rounding
from .points.transfer import lies_ready, take_points
from .prepare import Cloud, choose, plan_for
from .primitives.readback import Box
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
    the index once had is taken, or one is made anew, which waits and may compile. One is made anew, too, where as many
    points crowd so much that the structure says so: at once for points of the host, and some updates later for others.

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
        #: whether the structure said that its points crowd, so that a plan is made anew
        self._crowded = False
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
        structure, domain = self._structure, self._structure.problem.domain
        if box is not None or cell is not None or batch is not None:
            known: dict[str, Any] = {"has_box": self._has_box, "dtype": structure.dtype}
            domain = other_domain(structure.session, domain, batch, (box, cell), **known)
        self._crowded = structure.is_crowded(at_once=False)
        new, from_host = self._receive(points, domain)
        if not self._serves(new.points, domain):
            self._replace(new, from_host=from_host)
            self.last = "rebuilt"
            return
        self.last = self._update(new, from_host=from_host)
        self._crowded = self._crowded or (from_host and structure.is_crowded())
        if self._crowded:
            with contextlib.suppress(DeviceMemoryError, KernelBuildError):  # the structure serves them, in more time
                self._replace(new, from_host=from_host)

    def _serves(self, points: cla.Array, domain: Domain) -> bool:
        """Whether the structure is for as many points in the same domain."""
        problem = self._structure.problem
        return bool(points.shape[0] == problem.n) and (domain is problem.domain or domain == problem.domain)

    def _receive(self, points: Any, domain: Domain) -> tuple[NewPoints, bool]:
        """Bring new points to the device, where their bounds are found; and whether they came from the host."""
        structure = self._structure
        session, radius = structure.session, structure.problem.radius
        if lies_ready(session, points, structure.dtype) and points.shape[1:] == (structure.problem.dim,):
            check_number(domain, points.shape[0])
            return self._bounded(points, domain), False
        array, _, rows, largest = take_points(
            session, points, "points", real=structure.dtype, exact=True, bounded=False
        )
        self._check_width(array)
        check_number(domain, array.shape[0])
        if rows is None:
            return self._bounded(array, domain), False
        warn_of_rounding(session, array, radius, largest, rows=rows)
        return self._bounded(array, domain, at_once=True), True

    def _check_width(self, points: cla.Array) -> None:
        """Raise unless `points` have as many coordinates as those of the index."""
        dim = self._structure.problem.dim
        if points.shape[1] != dim:
            raise InvalidInputError(
                f"expected shape (n, {dim}), as the points before, got {points.shape}; "
                "build anew for another number of coordinates",
                argument="points",
            )

    def _bounded(self, points: cla.Array, domain: Domain, *, at_once: bool = False) -> NewPoints:
        """New points in their domain, and their bounds, which the device finds now.

        Where the structure stays, it may find them as it sorts, unless they are needed `at_once`.
        """
        structure, checks = self._structure, self._checks
        if self._serves(points, domain) and not self._crowded:
            return structure.bounded(points) if at_once else structure.find_bounds(points)
        tables = make_tables(structure.session, domain, points, structure.problem.radius)
        bounds = checks.slot()
        bounds.space = domain.space
        return NewPoints(points, tables.bound(tables.heights(points), bounds), tables)

    def _read(self, new: NewPoints) -> Box:
        """The bounding box of points that came from the host; raises where they lie too far from the periodic box."""
        box = new.known_bounds.read()  # not long, as the copy of the points was waited for
        check_near("points", new.tables.domain.space, box.low, box.high, REAL_OF[self._structure.dtype])
        return box

    def _update(self, new: NewPoints, *, from_host: bool) -> str:
        """Place as many points in the same domain."""
        checks, bounds = self._checks, new.known_bounds
        if from_host:
            update = self._place(new, self._read(new))
            checks.good_points(bounds)
        else:
            update = self._place(new, bounds.box or checks.newest_box())
            checks.new_points(bounds)
        return update

    def _place(self, new: NewPoints, box: Box | None) -> str:
        """Place new points; the checks know no bounding box of the points while that is under way."""
        structure = self._structure
        before, known = structure.arguments(), self._checks.points_change()
        try:
            update = structure.update(new, None if box is self._placed_by else box)
        except BaseException:
            buffers = ((old, now) for old, now in zip(before, structure.arguments(), strict=True))
            if all(old is now for old, now in buffers if hasattr(old, "int_ptr")):
                self._checks.points_stay(known)
            raise
        self._placed_by = box
        return update

    def _replace(self, new: NewPoints, *, from_host: bool) -> None:
        """Build a structure over points of another number or in another domain; until it is done the old one stays."""
        problem, checks, domain, bounds = self._structure.problem, self._checks, new.tables.domain, new.known_bounds
        check_images(domain, problem.radius, new.points.shape[0], problem.real)
        if self._spacious is None:
            self._spacious = self._structure.session.with_spare_memory()
        if from_host:
            box: Box | None = self._read(new)
        else:
            # Boxes in a cell are those of its heights, which another cell has not.
            box = bounds.box or (checks.newest_box() if domain.kind in ("", "box") else None)
        corners = (problem.low, problem.high) if box is None else (box.low, box.high)
        structure, plans = self._fit(self._spacious, new, corners)
        checks.points_change()  # nothing is known of the points should somebody interrupt this
        self.traversal, self._plans, self._placed_by = Traversal(structure), plans, box
        checks.space = domain.space
        if from_host:
            checks.good_points(bounds)
        else:
            checks.new_points(bounds)

    def _fit(
        self, session: Session, new: NewPoints, corners: tuple[tuple[float, ...], tuple[float, ...]]
    ) -> tuple[SearchStructure, list[_Planned]]:
        """The structure by the newest plan that serves the points, or by one that is made for them; and all plans."""
        checks, n, profile, tuning = self._checks, new.points.shape[0], session.profile, session.tuning
        domain = new.tables.domain
        for k, (method, planned, plan) in () if self._crowded else reversed([*enumerate(self._plans)]):
            if domain.kind != planned.periodic:  # a cell became a rectangular box, or the other way round
                continue
            problem = planned.grown(n, domain, *corners)
            if self._chosen and problem.has_outgrown_survey:
                continue
            fitted = method.refit(plan, problem, profile, tuning)
            if fitted is not None:
                structure = method.arrange(session, problem, checks, fitted, new=new)
                structure.inherit(self._structure)
                return structure, [*self._plans[:k], *self._plans[k + 1 :], self._plans[k]]
        method, problem = self._plan_anew(session, new)
        structure = method.build(session, problem, checks, plan_for(session, problem, method), new=new)
        return structure, [*self._plans[1 - _MOST_PLANS :], _Planned(method, structure.problem, structure.plan)]

    def _plan_anew(self, session: Session, new: NewPoints) -> tuple[Method, Problem]:
        """Survey the points; the method, chosen again where it was chosen, and the problem to plan for."""
        method, before = self.method, self._structure.problem
        placed = new.tables.heights(new.points)
        cloud = Cloud(session=session, points=new.points, tables=new.tables, placed=placed, bounds=new.bounds)
        crowding = cloud.is_worth_binning(None) if self._chosen else method.surveys_occupancy
        survey = cloud.survey(before.radius, crowding=crowding)
        n, domain = new.points.shape[0], cloud.domain
        problem = dataclasses.replace(before, n=n, domain=domain, survey=survey, corners=None)
        return choose(session, problem, queries=None) if self._chosen else (method, problem)
