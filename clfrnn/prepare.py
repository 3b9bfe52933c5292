"""Preparation: points on the device are surveyed, a method is chosen and planned, and its search structure is built."""

from __future__ import annotations

import dataclasses
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyopencl.array as cla

from .arrays import REAL_OF, one_radius, raise_non_finite, round_radii
from .domain.box import Domain
from .methods import Method, choose_method, is_worth_binning
from .methods.domain_tables.kinds import make_tables
from .methods.domain_tables.tables import DomainTables
from .methods.grid.clique_cells import with_clique_cells
from .methods.named import refuse_dim
from .methods.structure import NewPoints, SearchStructure
from .points.batches import domain_of_points
from .points.deferred_checks import DeferredChecks, check_near
from .points.periodic_box import survey_left_box
from .points.plane import in_plane
from .points.rounding import largest_of, warn_of_rounding
from .points.transfer import take_searched
from .primitives.readback import PendingBox
from .primitives.reduce import bounding_box, survey_points
from .problem import Problem
from .runtime.session import Session
from .survey import Survey

__all__ = ["Cloud", "build", "choose", "plan_for"]

Found = TypeVar("Found")


class Cloud(NamedTuple):
    """Points on the device, in their domain, before anything is planned for them."""

    session: Session
    points: cla.Array
    #: the domain on the device, with the layout of these points
    tables: DomainTables
    #: what surveys, plans and checks know points by: in a cell their heights
    placed: cla.Array
    #: the bounds of `placed`, which a launch finds; None where no launch has been asked for them
    bounds: PendingBox | None

    @classmethod
    def of(
        cls, session: Session, points: cla.Array, domain: Domain, *, radius: float, bounds: PendingBox | None
    ) -> Cloud:
        """The points in their domain, for windows of that radius; `bounds` are those of the array `points`, if known.

        Where there are many systems, it waits for the bounds of each.
        """
        tables = make_tables(session, domain, points, radius)
        placed = tables.heights(points)
        own = bounds if placed is points else None
        return cls(session=session, points=points, tables=tables, placed=placed, bounds=own)

    @property
    def domain(self) -> Domain:
        """The domain of the points."""
        return self.tables.domain

    @property
    def real(self) -> str:
        """The type of the coordinates in OpenCL C."""
        return REAL_OF[self.points.dtype]

    def bounded(self) -> Cloud:
        """The same points, with a launch that finds their bounds."""
        return self if self.bounds is not None else self._replace(bounds=self.tables.bound(self.placed))

    def reaching(self, radius: float) -> Cloud:
        """The same points for windows of another radius, for which many systems are laid out anew."""
        tables = self.tables.reaching(radius)
        if tables is self.tables:
            return self
        placed = tables.heights(self.points)
        return self._replace(tables=tables, placed=placed, bounds=tables.bound(placed))

    def is_worth_binning(self, queries: int | None) -> bool:
        """Whether "auto" needs a survey of crowding; `queries` is their number, None for an index."""
        n, dim = self.points.shape
        session = self.session
        periodic = bool(self.tables.domain.kind)
        return is_worth_binning(n, session.profile, session.tuning, dim=dim, queries=queries, periodic=periodic)

    def survey(self, radius: float, *, crowding: bool) -> Survey:
        """The bounds of the points if a launch finds them, and their crowding where that is asked for.

        Waits where there is something to survey. Raises where a point is not finite, or too far from the periodic box.
        """
        n, dim = self.points.shape
        if self.bounds is None:
            return Survey(n=n, low=(0.0,) * dim, high=(0.0,) * dim)
        if n:
            survey, bad_row = survey_points(self.session, self.placed, radius if crowding else None, self.bounds)
        else:
            found = self.bounds.read()
            survey, bad_row = Survey(n=n, low=found.low, high=found.high), found.first_bad
        if bad_row is not None:
            raise_non_finite("points", bad_row)
        if not self.tables.domain.kind:
            return survey
        space, corners = self.tables.domain.space, (survey.low, survey.high)
        check_near("points", space, *corners, self.real)
        low, high = space.filled(*corners)
        survey = dataclasses.replace(survey, low=low, high=high, bulk=space.filled(*survey.without_strays))
        return survey if self.tables.holds(*corners) else survey_left_box(survey, radius)

    def problem(self, radius: float, survey: Survey, *, options: Mapping[str, Any], why: str = "") -> Problem:
        """The description of a search among the points, which plans are made from."""
        known: dict[str, Any] = {"survey": survey, "options": options, "why": why}
        return Problem(n=self.points.shape[0], domain=self.tables.domain, real=self.real, radius=radius, **known)

    def build(self, method: Method, problem: Problem) -> SearchStructure:
        """The search structure over the points, with checks of its own."""
        checks = DeferredChecks(
            self.session,
            dtype=self.points.dtype,
            dim=self.points.shape[1],
            radius=problem.radius,
            space=self.domain.space,
            points=self.bounds,
        )
        new = NewPoints(self.points, self.bounds, self.tables)
        return method.build(self.session, problem, checks, plan_for(self.session, problem, method), new=new)


def choose(session: Session, problem: Problem, *, queries: int | None, varied: bool = False) -> tuple[Method, Problem]:
    """The method of "auto" for a problem, and the problem with its options and the reason for it.

    `queries` is their number, None for an index; `varied` says whether their radii differ.
    """
    return _once(session, _choose, problem, queries, varied)


def _choose(session: Session, problem: Problem, queries: int | None, varied: bool) -> tuple[Method, Problem]:
    method, why = choose_method(problem, session.profile, session.tuning, queries=queries, varied=varied)
    return method, dataclasses.replace(problem, options=method.check({}), why=why)


def plan_for(session: Session, problem: Problem, method: Method) -> Any:
    """The plan of a method, see :class:`~clfrnn.methods.base.Method`; the same one for equal problems."""
    return _once(session, _plan, problem, method)


def _plan(session: Session, problem: Problem, method: Method) -> Any:
    return method.plan(problem, session.profile, session.tuning)


def _once(session: Session, find: Callable[..., Found], problem: Problem, *facts: Any) -> Found:
    """What follows from a problem and a device alone, found once for the same points; a batch equals no other."""
    alone = problem.domain.num_points is not None
    return find(session, problem, *facts) if alone else session.once(find, problem, *facts)


def build(
    session: Session,
    points: Any,
    radius: Any,
    *,
    named: Method | None,
    options: Mapping[str, Any],
    domain: tuple[Any, Any, Any],
    per_query: bool = False,
    queried_once: Any = None,
    batch: Any = None,
    query_batch: Any = None,
    linked: bool = False,
) -> tuple[SearchStructure, Method]:
    """Build the structure over what a caller passed, and return it with its method: `named`, or the one that is chosen.

    `domain` are box, cell and periodic axes. `queried_once` are the queries of a single search, or None for an index;
    `query_batch` are their systems. With `linked`, the structure serves to link points, see :mod:`.answers.linking`.
    """
    array, raw, rows, largest_coordinate = take_searched(session, points, queried_once)
    is_open = all(each is None for each in (*domain, batch))
    if linked and named is None and is_open and array.shape[1] == 1 and array.size:
        array = in_plane(session, array)
        raw = raw and bounding_box(session, array)
    n, dim = array.shape
    radii = round_radii(radius, math.prod(np.shape(radius)), array.dtype) if per_query else None
    largest = one_radius(radius, array.dtype) if radii is None else float(radii.max(initial=0))
    refuse_dim(named, dim)
    checked = {} if named is None else named.check(dict(options))
    lies_in = domain_of_points(session, domain, batch, query_batch, n=n, dim=dim, dtype=array.dtype, radius=largest)
    cloud = Cloud.of(session, array, lies_in, radius=largest, bounds=raw)
    # Queries are checked after the structure is built. Until then, queries without a length count as `n`.
    m = None if queried_once is None else operator.length_hint(queried_once, n)
    crowding = cloud.is_worth_binning(m) if named is None else named.surveys_occupancy
    if lies_in.kind or crowding:
        cloud = cloud.bounded()
    survey = cloud.survey(largest, crowding=crowding)
    warn_of_rounding(session, array, largest, largest_coordinate or largest_of(raw), rows=rows)
    problem = cloud.problem(largest, survey, options=checked, why="asked for by name")
    if linked and (narrow := with_clique_cells(problem, session.profile, session.tuning, named)):
        named, problem = narrow
    if named is not None:
        return cloud.build(named, problem), named
    varied = radii is not None and bool((radii < largest).any())
    chosen, problem = choose(session, problem, queries=m, varied=varied)
    return cloud.build(chosen, problem), chosen
