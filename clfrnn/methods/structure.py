"""SearchStructure: the points of an index in the order in which a method searches them."""

from __future__ import annotations

import abc
import math
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyopencl.array as cla

from ..arrays import DTYPE_OF
from ..domain import CellGrid
from ..first_pass.base import ListFacts
from ..functions import WalkFunction
from ..inputs.deferred_checks import DeferredChecks
from ..inputs.request import QueryRequest
from ..planning.configs import RunConfig, TileConfig, VisitVariant
from ..planning.problem import Problem
from ..primitives.readback import Box, PendingBox
from ..primitives.reduce import bounding_box
from ..runtime.program import Kernel
from ..runtime.scratch import Scratch
from ..runtime.session import Session
from .image_table import ImageTable

__all__ = ["Readers", "SearchStructure"]


class Readers(NamedTuple):
    """The kernels of ``common/point_layout.mako`` that read sorted points back, their group size, and these points."""

    kernels: Mapping[str, Kernel]
    work_group_size: int
    points: Scratch


class SearchStructure(abc.ABC):
    """Points in search order, and how walks go through them. Each method has a class of its own.

    A structure serves one index: ``update`` places new points, and requests that were made before still hold the
    buffers of the old ones. What a method must say is abstract; the rest has defaults that suit a walk over queries by
    their own numbers.
    """

    #: the stem of the template that holds the walk
    stem: ClassVar[str]
    #: queries that are sorted first are copied, and walks read nothing but the copy
    copies_queries: ClassVar[bool] = False

    def __init__(self, session: Session, problem: Problem, checks: DeferredChecks) -> None:
        self.session, self.problem, self.checks = session, problem, checks
        self.dtype = DTYPE_OF[problem.real]
        self.image_table = None if problem.box is None else ImageTable(session, problem.box, self.dtype)

    # Points.

    @abc.abstractmethod
    def update(self, points: cla.Array, bounds: PendingBox, box: Box | None) -> str:
        """Place new points between `bounds`: "refit" or "rebuilt", whichever it took.

        `box` is the same on the host, or that of an earlier step, or None where there is no newer one.
        """

    @abc.abstractmethod
    def arguments(self) -> tuple[Any, ...]:
        """What the walk takes behind the arguments that all walks share: the points as they are now."""

    @abc.abstractmethod
    def box_starts(self) -> tuple[float, ...]:
        """Where a periodic box begins for the points as they are now."""

    @abc.abstractmethod
    def buffers(self) -> dict[str, cla.Array | Scratch]:
        """What the structure holds on the device, by name."""

    @abc.abstractmethod
    def describe(self) -> list[str]:
        """Lines for :meth:`clfrnn.Index.explain` about how points are kept."""

    @property
    def cell_grid(self) -> CellGrid | None:
        """The cells that the points lie in, where the method has cells."""
        return None

    def find_bounds(self, points: cla.Array) -> PendingBox:
        """The bounds of new points on the device: being found, or left for :meth:`update` to find."""
        bounds = self.checks.slot()
        if self.image_table is None:
            return bounding_box(self.session, points, bounds)
        # Most likely the points will be placed in the box as it begins now.
        self.image_table.find_bounds(points, self.box_starts(), bounds)
        return bounds

    def images(self, starts: tuple[float, ...], bounds: PendingBox | None) -> tuple[Scratch, ...]:
        """What periodic kernels read, as one array; none where no axis is periodic."""
        return () if self.image_table is None else (self.image_table.images(starts, bounds),)

    def readers(self) -> Readers | None:
        """What reads sorted points back; None where the structure does not sort them."""
        return None

    def order(self) -> cla.Array:
        """The number of the point at each place of the search order, (n,) int32."""
        n, purpose = self.problem.n, "the order of points"
        if (readers := self.readers()) is None:
            return self.session.upload(np.arange(n, dtype=np.int32), purpose=purpose)
        return self._read_back(readers, "read_order", self.session.allocate(n, np.int32, purpose=purpose))

    def positions(self) -> cla.Array | None:
        """The points as they are now, by their own numbers, (n, dim), not to be changed; None where they are lost."""
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
        """What the method's programs are specialised by."""

    @property
    @abc.abstractmethod
    def tests_of_query(self) -> float:
        """About how many pairs a query tests."""

    def config_for(self, function: WalkFunction, variant: VisitVariant) -> RunConfig | TileConfig:  # noqa: ARG002
        """What the program that runs `function` is specialised by, where that is not :attr:`config`."""
        return self.config

    def passes(self, function: WalkFunction, request: QueryRequest) -> tuple[str, ...]:  # noqa: ARG002
        """The images that each launch of a visit serves: see :class:`~clfrnn.planning.configs.VisitVariant`."""
        return request.images

    def by_number(self, function: WalkFunction, request: QueryRequest, images: str) -> bool:  # noqa: ARG002
        """Whether work-items serve queries by their own numbers, so that a range of queries is a launch of its own."""
        return request.queries is not None or self.config.in_order

    def units(self, request: QueryRequest, config: Any) -> int:  # noqa: ARG002
        """Work-items of a launch for all queries."""
        return request.m

    def divides(self, function: WalkFunction, m: int) -> bool:  # noqa: ARG002
        """Whether several work-items share the neighbors of each of `m` queries and add up what they find."""
        return False

    def images_served(self, *, foreign: bool) -> tuple[str, ...]:
        """The images that launches serve, where that does not depend on the function."""
        in_box = self.images_in_box(foreign=foreign)
        if in_box is None:
            return ("all",)
        return (in_box,) if self._is_in_box() else (in_box, "out_of_box")

    def images_in_box(self, *, foreign: bool) -> str | None:  # noqa: ARG002
        """The images that points inside a periodic box see, where the method has a walk for those alone.

        Where each candidate may be shifted in its own way, compilers neither load nor test several at once.
        """
        return None

    def _is_in_box(self) -> bool:
        """Whether all points are known to lie in the periodic box as they are; False where there is none."""
        box, periodic = self.checks.box_of_points(), self.problem.box
        return box is not None and periodic is not None and periodic.holds(box.low, box.high, self.box_starts())

    @property
    def most_tests_of_query(self) -> float:
        """As many pairs as a query tests at most, wherever points have gone."""
        return self.problem.n * (1.0 if self.problem.box is None else math.inf)

    # Queries that are not the points.

    def find_bounds_of_queries(self, queries: cla.Array) -> PendingBox:
        """The bounds of queries on the device: being found, or left for :meth:`order_queries` to find."""
        return bounding_box(self.session, queries, self.checks.slot())

    def order_queries(self, queries: cla.Array | None, bounds: PendingBox | None, radii: Any) -> tuple[Any, ...]:  # noqa: ARG002
        """What walks take of queries that they serve in an order of their own; `bounds` are those of device arrays."""
        return ()

    def part_of(self, request: QueryRequest, first: int, end: int) -> QueryRequest:
        """The same request for the queries from `first` up to `end`, which is not served."""
        return request._replace(part=(first, end))

    # What lists, counts and nearest neighbors ask.

    @property
    def list_facts(self) -> ListFacts:
        """What plans of lists depend on."""
        return ListFacts()

    def disorder(self, request: QueryRequest) -> Scratch | None:  # noqa: ARG002
        """An int32 on the device, 0 where queries come nearly in the order of search; None where nobody knows."""
        return None

    @property
    def work_of_query(self) -> float:
        """What a query is foreseen to cost, in tests of candidates, where :meth:`disorder` is known."""
        return math.inf
