"""Walker: how a function runs for every neighbor of every query: by which kernels, over which units of launch."""

from __future__ import annotations

import abc
import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

from ..domain import CellGrid, padded_radius
from ..first_pass.base import FirstPass
from ..functions import NeighborFunction
from ..inputs.request import QueryRequest
from ..planning.configs import RunConfig, TileConfig, VisitVariant
from ..planning.problem import Problem
from ..primitives.readback import PendingBox
from ..primitives.reduce import bounding_box
from ..runtime.program import Kernel
from ..runtime.scratch import Scratch
from ..runtime.session import Session
from .structure import SearchStructure

__all__ = ["Traversal"]


class Traversal(SearchStructure):
    """What a method says about its walk, and the one way to run it."""

    #: whether queries that come in an order of the walk's own do so as a copy like that of the points
    copies_queries: ClassVar[bool] = False

    def __init__(self, session: Session, problem: Problem) -> None:
        super().__init__(session, problem)
        #: what a query costs in the cells that it was asked for
        self._price: tuple[CellGrid | None, float] | None = None
        #: what runs a function for a kind of query, by all that one query differs in from another; what is compiled in
        #: of the index itself never changes
        self._programs: dict[tuple[Any, ...], tuple[Kernel, Any]] = {}

    @property
    @abc.abstractmethod
    def config(self) -> RunConfig | TileConfig:
        """What the method's programs are specialised by."""

    def config_for(self, function: NeighborFunction, variant: VisitVariant) -> RunConfig | TileConfig:  # noqa: ARG002
        """What the program that runs `function` is specialised by, where that is not :attr:`config`."""
        return self.config

    @abc.abstractmethod
    def describe(self) -> list[str]:
        """Lines for :meth:`explain` about how the points are kept."""

    @abc.abstractmethod
    def _tests_of_query(self) -> float:
        """About how many pairs a query tests, with the cells there are."""

    def _tests(self, m: int) -> float:
        """About how many pairs a visit of m queries tests."""
        if self._price is None or self._price[0] is not self.cell_grid:
            self._price = self.cell_grid, self._tests_of_query()
        return m * self._price[1]

    def _most_of_query(self) -> float:
        """As many pairs as a query tests at most, wherever points have gone to."""
        box = self.problem.box
        return self.num_points * (1.0 if box is None else math.inf)

    def run(
        self,
        function: NeighborFunction,
        ask: QueryRequest,
        values: Sequence[Any],
        *,
        every_candidate: bool = False,
        marks: FirstPass | None = None,
    ) -> cl.Event | None:
        """Run `function` for every query of `ask`. The only way in which neighbors are ever found.

        With `every_candidate` it runs for all that the walk tests, whatever their distance. A light function makes
        `marks`, others read them.
        """
        if ask.radii is not None:
            reach = (ask.radii.base_data, self.dtype.type(self.radius))
        else:
            reach = _reach(ask.radius, self.problem.real, self.dtype, every_candidate)
        shared = (*reach, *(() if ask.queries is None else (ask.queries.base_data,)), *ask.walk)
        own = [value.base_data if isinstance(value, (cla.Array, Scratch)) else value for value in values]
        event = None
        for images in self.passes(function, ask):
            by_number = self.goes_by_number(function, ask, images)
            part = () if ask.part is None or by_number else ask.part
            kernel, config = self._program(function, ask, images, part=bool(part), marks=marks)
            first, many = _counted(ask.part) if ask.part and by_number else (0, self.units(ask, config))
            event = self.session.launch_sliced(
                kernel,
                many,
                config.work_group_size,
                ask.include_self,
                *part,
                *shared,
                *(() if by_number else ask.placed),
                *(() if marks is None else marks.arguments),
                *own,
                pairs=self._tests(many if by_number else ask.m),
                most=float(ask.m) * self._most_of_query() if function.own else math.inf,
                begin=first,
            )
        return event

    def prepare(self, function: NeighborFunction, ask: QueryRequest, marks: FirstPass) -> None:
        """Compile what runs `function` for every query of `ask`, for a loop that will come to need it."""
        for images in self.passes(function, ask):
            part = ask.part is not None and not self.goes_by_number(function, ask, images)
            self._program(function, ask, images, part=part, marks=marks)

    def _program(
        self, function: NeighborFunction, ask: QueryRequest, images: str, *, part: bool, marks: FirstPass | None
    ) -> tuple[Kernel, Any]:
        """The kernel that runs `function` for such a query, and the config it was compiled for."""
        passed_on = {"shared": self.divides(function, ask.m)} if marks is None else marks.variant(light=function.light)
        kind = (
            function,
            ask.queries is None,
            ask.copied,
            ask.radii is None,
            ask.half,
            images,
            part,
            *passed_on.values(),
        )
        found = self._programs.get(kind)
        if found is None:
            variant = dataclasses.replace(ask.variant(images, part=part), placed=ask.copied, **passed_on)
            config = self.config_for(function, variant)
            kernels, config = self.session.kernels(self.stem, config, function, variant)
            found = self._programs[kind] = kernels["frnn_visit"], config
        return found

    def divides(self, function: NeighborFunction, m: int) -> bool:  # noqa: ARG002
        """Whether several work-items look for the neighbors of each of m queries, and put their sums together.

        :meth:`config_for` then has a variant that is ``shared``.
        """
        return False

    def passes(self, function: NeighborFunction, ask: QueryRequest) -> tuple[str, ...]:  # noqa: ARG002
        """The kernels that serve all queries of `ask` between them: see :class:`~clfrnn.planning.configs.VisitVariant`."""
        return ask.images

    def goes_by_number(self, function: NeighborFunction, ask: QueryRequest, images: str) -> bool:  # noqa: ARG002
        """Whether the units of a launch are queries by their own numbers, so that some of them are a launch too."""
        return ask.queries is not None or self.config.in_order

    def writes_at_once(self) -> bool:
        """Whether lists of numbers alone are written some of them at once, as few take the device as long as many."""
        return False

    def disorder(self, ask: QueryRequest) -> Scratch | None:  # noqa: ARG002
        """An int32 of the device, 0 where queries of `ask` come nearly in the order of answers, if there is one."""
        return None

    @property
    def work_of_query(self) -> float:
        """What a query is foreseen to cost, in tests of candidates, where there is such an int32."""
        return math.inf

    def make_hit_mask(self, ask: QueryRequest, *, numbers: bool) -> FirstPass | None:
        """Room for what a count may pass on to a list of `ask`, of neighbors' `numbers` alone or more, to be sooner."""
        return None

    def units(self, ask: QueryRequest, config: Any) -> int:  # noqa: ARG002
        """Work-items of a launch for all queries of `ask`."""
        return ask.m

    def find_box_of_queries(self, queries: cla.Array) -> PendingBox:
        """The box of queries from the device: being found, or to be found by :meth:`place_queries`."""
        return bounding_box(self.session, queries, self.watch.room())

    def place_queries(self, queries: cla.Array | None, box: PendingBox | None, radii: Any) -> tuple[Any, ...]:  # noqa: ARG002
        """What walks take of queries that they go through in an order of their own; `box` is that of device arrays."""
        return ()

    def part_of(self, ask: QueryRequest, first: int, end: int) -> QueryRequest:
        """The same query of those from `first` on to `end` alone."""
        return ask._replace(part=(first, end))

    def images_served(self, *, foreign: bool) -> tuple[str, ...]:
        """The kernels that serve all queries between them: see :class:`~clfrnn.planning.configs.VisitVariant`."""
        home = self.served_at_home(foreign=foreign)
        if home is None:
            return ("all",)
        return (home,) if self.at_home() else (home, "away")

    def served_at_home(self, *, foreign: bool) -> str | None:  # noqa: ARG002
        """The kernel for points at home in a periodic box, where the method has one for them.

        Where candidates may each be shifted in their own way, compilers neither load nor test several at once.
        """
        return None


def _counted(part: tuple[int, int]) -> tuple[int, int]:
    """The first of a part, and how many there are."""
    first, end = part
    return first, end - first


@functools.lru_cache(maxsize=256)
def _reach(radius: float, real: str, dtype: np.dtype[Any], every_candidate: bool) -> tuple[Any, Any]:
    """The radius that squared distances are compared with, and that of windows, as kernels take them."""
    return dtype.type(np.inf if every_candidate else radius), dtype.type(padded_radius(radius, real))
