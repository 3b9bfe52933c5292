"""SearchStructure: the points of an index in search order, and how a method walks over them."""

from __future__ import annotations

import abc
import math
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyopencl.array as cla

from ..arrays import DTYPE_OF
from ..config import RunConfig, TileConfig, VisitVariant
from ..domain.cells import CellGrid
from ..functions import WalkFunction
from ..points.deferred_checks import DeferredChecks
from ..primitives.readback import Box, PendingBox
from ..problem import Problem
from ..runtime.program import Kernel
from ..runtime.scratch import Scratch
from ..runtime.session import Session
from .domain_tables.tables import DomainTables, Images
from .first_pass.plan import ListFacts
from .request import QueryRequest
from .visit_plan import VisitPlan

__all__ = ["NewPoints", "Readers", "SearchStructure"]


class NewPoints(NamedTuple):
    """Points that a structure is built over, or that take the place of others, (n, dim)."""

    points: cla.Array
    #: their bounding box on the device, in a cell that of their heights; None where nobody needs it
    bounds: PendingBox | None
    #: the domain, and how these points lie in it
    tables: DomainTables

    @property
    def known_bounds(self) -> PendingBox:
        """The bounding box, for methods over points that were surveyed."""
        assert self.bounds is not None, "a survey finds the bounding box of points"
        return self.bounds


class Readers(NamedTuple):
    """The kernels of ``methods/point_layout.mako`` that read sorted points back, their group size, and the points."""

    kernels: Mapping[str, Kernel]
    work_group_size: int
    points: Scratch


class SearchStructure(abc.ABC):
    """Points in search order, and how walks go through them. Each method has a class of its own.

    A structure serves one index, and one number of points in one box. ``update`` places new points in new buffers;
    requests that were made before still refer to the old buffers. Each method defines the abstract members; the other
    members have defaults that suit a walk over queries in the caller's order.
    """

    #: the stem of the template that holds the walk
    stem: ClassVar[str]
    #: whether walks read sorted foreign queries from their copy alone
    copies_queries: ClassVar[bool] = False
    _plan: Any

    def __init__(self, session: Session, problem: Problem, checks: DeferredChecks) -> None:
        self.session, self.problem, self.checks = session, problem, checks
        self.dtype = DTYPE_OF[problem.real]

    @property
    def plan(self) -> Any:
        """The plan by which the structure was built, see :class:`~clfrnn.methods.base.Method`."""
        return self._plan

    # Points.

    @abc.abstractmethod
    def update(self, new: NewPoints, box: Box | None) -> str:
        """Place new points, and return "refit" or "rebuilt".

        Parameters
        ----------
        new : the points, with their bounds
        box : the newest bounding box of points that has come to the host, of these or of earlier points; None where the
            structure has seen it before
        """

    def is_crowded(self, *, at_once: bool = True) -> bool:  # noqa: ARG002
        """Whether points crowd so much that another plan serves them far better, which :meth:`build` of a method finds.

        Unless that is asked for `at_once` it does not wait, and may say it of earlier points.
        """
        return False

    @property
    def looks_ahead(self) -> bool:
        """Whether walks can meet one point alone of each pair of points: the one that comes later in search order."""
        return False

    def inherit(self, before: SearchStructure) -> None:  # noqa: B027 — most have waited for nothing
        """Take over what the structure `before` has waited for, which holds for these points as well."""

    @abc.abstractmethod
    def arguments(self) -> tuple[Any, ...]:
        """The arguments of the walk that follow those which all walks share; they describe the current points."""

    @property
    @abc.abstractmethod
    def images(self) -> Images:
        """The domain of the current points on the device, and their images."""

    @abc.abstractmethod
    def buffers(self) -> dict[str, cla.Array | Scratch]:
        """The buffers of the structure on the device, by name."""

    @abc.abstractmethod
    def describe(self) -> list[str]:
        """Lines for :meth:`clfrnn.Index.explain` about how points are stored; the short form has the first one."""

    @property
    def cell_grid(self) -> CellGrid | None:
        """The cells that the points lie in, or None where the method has no cells."""
        return None

    def find_bounds(self, points: cla.Array) -> NewPoints:
        """New points with their bounding box: a launch that finds it is enqueued here, or :meth:`update` finds it."""
        return self.bounded(points)

    def bounded(self, points: cla.Array) -> NewPoints:
        """New points with their bounding box, and the launch that finds it."""
        bounds, images = self.checks.slot(), self.images
        # The periodic box most likely begins where it began for the last points.
        return NewPoints(points, bounds, images.tables.find_bounds(points, images.starts, bounds))

    def readers(self) -> Readers | None:
        """The kernels that read sorted points back, or None where the structure does not sort points."""
        return None

    def order(self) -> cla.Array:
        """The index of the point at each place of the search order, (n,) int32."""
        n, purpose = self.problem.n, "the order of points"
        if (readers := self.readers()) is None:
            return self.session.upload(np.arange(n, dtype=np.int32), purpose=purpose)
        return self._read_back(readers, "read_order", self.session.allocate(n, np.int32, purpose=purpose))

    def positions(self) -> cla.Array | None:
        """The current points in the caller's order, (n, dim), not to be changed; None where they are not available."""
        if (readers := self.readers()) is None:
            return None
        shape = self.problem.n, self.problem.dim
        points = self.session.allocate(shape, self.dtype, purpose="the points by their numbers")
        return self._read_back(readers, "read_points", points)

    def _read_back(self, readers: Readers, name: str, into: cla.Array) -> cla.Array:
        n, size = self.problem.n, readers.work_group_size
        event = self.session.launch(
            readers.kernels[name], n, size, np.int32(n), readers.points.base_data, into.base_data
        )
        self.session.publish(event, into)
        return into

    # The walk.

    @property
    @abc.abstractmethod
    def config(self) -> RunConfig | TileConfig:
        """The config that the method's programs are compiled for."""

    @property
    @abc.abstractmethod
    def tests_of_query(self) -> float:
        """The expected number of candidates that a query tests."""

    def config_for(self, function: WalkFunction, variant: VisitVariant) -> RunConfig | TileConfig:  # noqa: ARG002
        """The config of the program that runs `function`, where that is not :attr:`config`."""
        return self.config

    def plan_visit(self, function: WalkFunction, request: QueryRequest) -> VisitPlan:  # noqa: ARG002
        """How `function` visits the neighbors of the queries of a request."""
        return self._plan_launches(request.images, by_number=request.queries is not None or self.config.in_order)

    def _plan_launches(self, images: tuple[str, ...], *, by_number: bool, divided: bool = False) -> VisitPlan:
        """The plan of launches that go through queries in the same way."""
        return VisitPlan(
            images=images,
            by_number=(by_number,) * len(images),
            tests_of_query=self.tests_of_query,
            most_tests_of_query=self.problem.n * (math.inf if self.problem.periodic else 1.0),
            divided=divided,
        )

    def reaches(self, radius: float) -> bool:
        """Whether walks also find every neighbor within `radius`, which may be larger than that of the problem."""
        return radius <= self.problem.radius

    def images_served(self, *, foreign: bool) -> tuple[str, ...]:  # noqa: ARG002
        """The periodic images that launches cover, one after the other, for the points as they are now.

        Where all points lie inside the periodic box, a walk may have a variant that shifts whole runs of candidates
        alike, so that compilers can load and test several candidates at once.
        """
        return ("all",)

    def _is_in_box(self) -> bool:
        """Whether all points are known to lie inside the periodic box; False where no axis is periodic."""
        box, images = self.checks.box_of_points(), self.images
        return box is not None and images.table is not None and images.tables.holds(box.low, box.high, images.starts)

    # Foreign queries.

    def find_bounds_of_queries(self, queries: cla.Array) -> PendingBox:
        """The bounding box of queries: a launch that finds it is enqueued here, or :meth:`order_queries` finds it."""
        return self.images.tables.bound_queries(queries, self.checks.slot())

    def order_queries(self, queries: cla.Array | None, bounds: PendingBox | None, radii: Any) -> tuple[Any, ...]:  # noqa: ARG002
        """The arguments for queries in search order; an empty tuple where walks serve them in the caller's order.

        `bounds` is the bounding box of queries that came as a device array.
        """
        return ()

    def part_of(self, request: QueryRequest, first: int, end: int) -> QueryRequest:
        """The request restricted to the queries from `first` up to, but not including, `end`."""
        return request._replace(part=(first, end))

    # Facts for lists, counts and nearest neighbors.

    def first_bounds(self, k: int, slots: int, *, radius: float, alike: float) -> Scratch | None:  # noqa: ARG002
        """Radii up to `radius`, (n,), within which points certainly have k others, for a walk with `slots` that wait.

        A point whose radius is more than `alike` times that of others beside it has -1, and needs a search of its own.
        None where the structure does not know them, or has no such walk.
        """
        return None

    @property
    def list_facts(self) -> ListFacts:
        """The facts that plans of lists depend on."""
        return ListFacts()

    def disorder(self, request: QueryRequest) -> Scratch | None:  # noqa: ARG002
        """An int32 on the device that is 0 where queries come nearly in search order; None where it is unknown."""
        return None

    @property
    def work_of_query(self) -> float:
        """The expected cost of a query, in tests of candidates, where :meth:`disorder` is known."""
        return math.inf
