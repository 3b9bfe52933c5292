"""SystemTables: what walks over many systems read to find the slots and the images of each."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

from ...arrays import REAL_OF
from ...config import INT
from ...domain.cells import padded_radius
from ...domain.system_layout import (
    SystemBounds,
    SystemHeights,
    into_slots,
    lay_out_cells,
    lay_out_systems,
    space_of_slots,
    spanning_reaches,
    widened,
)
from ...domain.systems import Systems, first_far
from ...errors import InvalidInputError
from ...primitives.readback import Box, PendingBox, Readback
from ...primitives.reduce import bounding_box
from ...runtime.scratch import Scratch
from ...runtime.session import Session
from .plan import plan_systems
from .tables import DomainTables, Images, SystemGrids

__all__ = ["SystemTables", "lay_out"]

#: Points of one system that a work-group reads.
_OF_GROUP = 4096

_NO_SHAPES = np.zeros((0, 4), np.int32)

#: The largest number of the type of points over the largest coordinate: heights of many systems lie side by side.
_SPARE = 2.0**20

#: Numbers in front of the ranks of points in a table: where the tables of systems begin, where the shapes of cells
#: begin, and how many systems there are.
_FRONT = 8


def lay_out(session: Session, systems: Systems, points: cla.Array, radius: float) -> SystemTables:
    """The tables of `systems` for `points`, and for windows of `radius`; waits for the bounds of each system."""
    arrays = _SystemArrays(session, systems, points.dtype)
    return SystemTables(arrays, padded_radius(radius, systems.real), *arrays.measure(points))


class SystemTables(DomainTables):
    """Many systems, and the layout of their points: a slot for each in one space, or a grid for each.

    Cost of new points: two passes over these, and a wait for a number that tells whether they lie within the bounds of
    the layout, which then stays. Where points lie outside of their boxes, or a system has more than one range, the wait
    is for the bounds of each system. Another layout takes the host about a microsecond for each system.
    """

    def __init__(self, arrays: _SystemArrays, reach: float, heights: SystemHeights, first_bad: int | None) -> None:
        self._arrays, self._reach, self._heights, self._first_bad = arrays, reach, heights, first_bad
        self.domain, self.ranks = arrays.systems, arrays.ranks
        self._packed: tuple[cla.Array, cl.Event] | None = None
        #: the event of the copy of the newest grids, see :meth:`_SystemArrays.pack`
        self._copy: cl.Event | None = None

    @property
    def _slots(self) -> np.ndarray[Any, Any]:
        """The image tables of systems in slots, on the host."""
        return lay_out_systems(self._arrays.systems, self._heights, self._reach)

    @property
    def _table(self) -> cla.Array:
        """The image tables of systems in slots: numbers of the type of points, see ``domain/lattice.mako``."""
        if self._packed is None:
            self._packed = self._arrays.pack(self._slots)
        return self._packed[0]

    def heights(self, points: cla.Array) -> cla.Array:
        """See :class:`~.tables.DomainTables`; heights in the slots of systems."""
        return self._arrays.heights(points, self._table)

    def bound(self, placed: cla.Array, bounds: PendingBox | None = None) -> PendingBox:
        """The corners of the space that slots fill, without a launch: the bounds of each system are known."""
        dim, session = placed.shape[1], self._arrays.session
        found = bounds or PendingBox(Readback(session, dim=dim, dtype=placed.dtype), dim)
        found.set(Box(*self._space, self._first_bad))
        return found

    @functools.cached_property
    def _space(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        return space_of_slots(self._heights, self._reach)

    def find_bounds(self, points: cla.Array, starts: tuple[float, ...], bounds: PendingBox) -> SystemTables:  # noqa: ARG002
        """See :class:`~.tables.DomainTables`; waits, for the bounds of each system where the layout does not stay."""
        arrays = self._arrays
        boxes, tables = arrays.bound(points, arrays.members), self
        if boxes is not None and (self._served is None or not arrays.serve(boxes, self._served)):
            found, first_bad = arrays.read_bounds(boxes, "points", arrays.members)
            if first_bad != self._first_bad or not self._heights.serve(found, self._reach):
                heights = SystemHeights(arrays.systems, widened(arrays.systems, found, self._reach))
                tables = SystemTables(arrays, self._reach, heights, first_bad)
        tables.bound(points, bounds)
        return tables

    @functools.cached_property
    def _served(self) -> cla.Array | None:
        """The bounds that the layout serves, on the device; None where the host has to look at those of points."""
        arrays = self._arrays
        if self._first_bad is not None or not arrays.members.has_one_range:
            return None
        served = self._heights.served(self._reach, arrays.most)
        return None if served is None else arrays.upload_served(served)

    def bound_queries(self, queries: cla.Array, bounds: PendingBox) -> PendingBox:
        """See :class:`~.tables.DomainTables`; of the queries as they are, since their systems are not known here."""
        return bounding_box(self._arrays.session, queries, bounds)

    def reaching(self, radius: float) -> SystemTables:
        """See :class:`~.tables.DomainTables`."""
        reach = padded_radius(radius, self._arrays.systems.real)
        return SystemTables(self._arrays, reach, self._heights, self._first_bad)

    def period_at(self, starts: tuple[float, ...]) -> cla.Array:  # noqa: ARG002
        """The tables, each of which begins as a period does."""
        return self._table

    def images(self, starts: tuple[float, ...], bounds: PendingBox | None) -> Images:  # noqa: ARG002
        """See :class:`~.tables.DomainTables`."""
        return self._images(self._table, starts)

    def _images(self, table: cla.Array, starts: tuple[float, ...]) -> Images:
        return Images(self, starts, Scratch(table.base_data, table.size, table.dtype), (table.base_data,))

    def holds(self, low: tuple[float, ...], high: tuple[float, ...], starts: tuple[float, ...] | None = None) -> bool:  # noqa: ARG002
        """Whether all points lie inside the spaces of their systems, whose bounds are known."""
        return self._heights.in_box

    def into_box(self, positions: np.ndarray[Any, Any], starts: tuple[float, ...]) -> np.ndarray[Any, Any]:  # noqa: ARG002
        """The images of `positions`, those of the points on the host, in the slots of their systems."""
        return into_slots(self._arrays.systems, self._slots, positions)

    @property
    def nbytes(self) -> dict[str, int]:
        """The bytes of the systems of points, of their order, of the directions of heights, and of what is served."""
        served: cla.Array | None = vars(self).get("_served")  # made by the first update
        return {"systems": self._arrays.nbytes + (0 if served is None else served.nbytes)}

    def grids(self, sides: tuple[float, ...]) -> SystemGrids:
        """See :class:`~.tables.DomainTables`."""
        found = lay_out_cells(self._arrays.systems, self._heights, sides, self._reach)
        table, self._copy = self._arrays.pack(found.tables, found.shapes)
        return SystemGrids(found.cells, found.wraps_once, self._images(table, (0.0,) * len(sides)))

    def bound_systems(self, queries: cla.Array, ranks: np.ndarray[Any, Any]) -> SystemBounds:
        """See :class:`~.tables.DomainTables`; raises where images cannot be distinguished. Waits."""
        members = _Members(self._arrays.session, ranks, len(self._arrays.systems.numbers))
        boxes = self._arrays.bound(queries, members)
        return self._arrays.read_bounds(boxes, "queries", members)[0]

    def spanning_reaches(self, k: int, queries: SystemBounds | None = None) -> np.ndarray[Any, Any]:
        """See :class:`~.tables.DomainTables`."""
        return spanning_reaches(self._arrays.systems, self._heights, k, queries)

    def radii(
        self, k: int, radius: float, ranks: np.ndarray[Any, Any] | None, queries: SystemBounds | None
    ) -> np.ndarray[Any, Any] | None:
        """See :class:`~.tables.DomainTables`."""
        systems = self._arrays.systems
        reaches = self.spanning_reaches(k, queries)
        if not systems.has_images or (reaches >= radius).all():
            return None
        # Queries of no system come last.
        return np.minimum(np.append(reaches, 0.0), radius)[systems.ranks if ranks is None else ranks]


class _SystemArrays:
    """Systems on the device, whatever the positions of their points."""

    def __init__(self, session: Session, systems: Systems, dtype: np.dtype[Any]) -> None:
        self.session, self.systems, self._dtype = session, systems, dtype
        ranks = systems.ranks if len(systems.ranks) else np.zeros(1, np.int32)
        #: the system of each point, (n,) int32
        self.ranks = session.upload(ranks, purpose="the systems of points")
        self._kernels, self._config = session.planned(
            "methods/domain_tables/periodic_images",
            plan_systems,
            dim=systems.dim,
            real=REAL_OF[dtype],
            periodic=systems.kind,
        )
        self.members = _Members(session, systems.ranks, len(systems.numbers))
        self._normals = session.upload(systems.facts.normals.astype(dtype).ravel(), purpose="the cells of systems")
        #: the largest coordinate
        self.most = float(np.finfo(dtype).max) / _SPARE

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""
        return sum(int(each.nbytes) for each in (self.ranks, self._normals, *self.members.arrays))

    def measure(self, points: cla.Array) -> tuple[SystemHeights, int | None]:
        """Where `points` lie, and the number of the first that is not finite, or None. Waits."""
        bounds, first_bad = self.read_bounds(self.bound(points, self.members), "points", self.members)
        return SystemHeights(self.systems, bounds), first_bad

    def heights(self, points: cla.Array, table: cla.Array) -> cla.Array:
        """Enqueue the computation of the heights of `points` in the slots of their systems, (n, dim)."""
        session, n = self.session, points.shape[0]
        heights = session.allocate(points.shape, self._dtype, purpose="the heights of points in their systems")
        session.launch(
            self._kernels["place_in_systems"],
            n,
            self._config.work_group_size,
            np.int32(n),
            points.base_data,
            table.base_data,
            heights.base_data,
        )
        return heights

    def bound(self, rows: cla.Array, members: _Members) -> cla.Array | None:
        """Enqueue the search for the bounds of heights of `rows` in each range of `members`; None where there is none.

        (groups, 2 dim + 1): the low and the high corner, and the number of the first row that is not finite.
        """
        session, size, groups = self.session, self._config.work_group_size, len(members.systems)
        if not groups:
            return None
        boxes = session.allocate((groups, 2 * self.systems.dim + 1), self._dtype, purpose="the bounds of systems")
        given = *members.arrays, rows, self._normals, boxes
        session.launch(self._kernels["bound_systems"], groups * size, size, *(each.base_data for each in given))
        return boxes

    def upload_served(self, served: np.ndarray[Any, Any]) -> cla.Array:
        """Bounds as :meth:`~.SystemHeights.served` has them, for kernels, rounded towards those that serve less."""
        signs = np.array([1, -1, 1], self._dtype)[:, None]
        exact = served * signs
        rounded = exact.astype(self._dtype)
        rounded = signs * np.where(rounded < exact, np.nextafter(rounded, np.inf), rounded)
        return self.session.upload(rounded, purpose="the bounds that a layout of systems serves")

    def serve(self, boxes: cla.Array, served: cla.Array) -> bool:
        """Whether all rows are finite, and their `boxes`, one for each system, within what is `served`. Waits."""
        session, groups = self.session, boxes.shape[0]
        failed, serial = session.scratch(1, INT, purpose="whether a layout of systems serves"), session.draw_serial()
        given = self.members.arrays[0], boxes, served, failed
        kernel, size = self._kernels["compare_bounds"], self._config.work_group_size
        session.launch(kernel, groups, size, groups, serial, *(each.base_data for each in given))
        return bool(session.read(failed)[0] != serial)

    def read_bounds(self, boxes: cla.Array | None, name: str, members: _Members) -> tuple[SystemBounds, int | None]:
        """The lowest and highest heights of rows in each system, (systems, dim), and the first row not finite.

        `boxes` are those of the ranges of `members`. Raises where a row lies too far. Waits.
        """
        session, dim, many = self.session, self.systems.dim, len(self.systems.numbers)
        low, high = np.full((many, dim), np.inf), np.full((many, dim), -np.inf)
        bad = None
        if boxes is not None:
            read = session.read(boxes).reshape(boxes.shape)
            first = int(read[:, -1].copy().view(np.int64 if self._dtype.itemsize == 8 else np.int32).min())
            bad = None if first == np.iinfo(np.int32).max else first
            found = read[:, :-1].astype(np.float64)
            low[members.there] = np.minimum.reduceat(found[:, :dim], members.begins)
            high[members.there] = np.maximum.reduceat(found[:, dim:], members.begins)
        if (far := first_far(self.systems, low, high)) is not None:
            system, axis, height = far
            raise InvalidInputError(
                f"expected positions near the box or cell of their system, got one in system "
                f"{self.systems.numbers[system]} that lies {height!r} from the origin along axis {axis}: so far out, "
                "rounding hides which image is which; move points by whole lattice vectors towards the origin",
                argument=name,
            )
        if (beyond := np.isfinite(low) & ((low < -self.most) | (high > self.most))).any():
            system = int(np.argwhere(beyond)[0, 0])
            raise InvalidInputError(
                f"expected coordinates of at most {self.most:.1g} where there are many systems, got larger ones in "
                f"system {self.systems.numbers[system]}; multiply points, radius and lengths by one small number",
                argument=name,
            )
        return SystemBounds(low, high), bad

    def pack(
        self, tables: np.ndarray[Any, Any], shapes: np.ndarray[Any, Any] = _NO_SHAPES
    ) -> tuple[cla.Array, cl.Event]:
        """The front, the ranks of points, the shapes of cells and the tables of systems, in one array of numbers.

        Returns the event of the copy with it, which holds the numbers on the host, and waits where it is dropped: one
        layout later.
        """
        size, ranks = self._dtype.itemsize, self.systems.ranks
        ints = _FRONT + max(1, ranks.size)
        begin = -(-(ints + shapes.size) * INT.itemsize // size)
        whole = np.zeros(begin + tables.size, self._dtype)
        front = whole[:begin].view(np.int32)
        front[:3] = begin, ints, len(self.systems.numbers)
        front[_FRONT : _FRONT + ranks.size] = ranks
        front[ints : ints + shapes.size] = shapes.ravel()
        with np.errstate(over="ignore"):  # what is infinite is no limit
            whole[begin:] = tables.ravel()
        table = self.session.allocate(whole.size, self._dtype, purpose="the tables of systems")
        return table, cl.enqueue_copy(self.session.queue, table.base_data, whole, is_blocking=False)


class _Members:
    """Rows in the order of their systems, and the ranges of them that work-groups read."""

    def __init__(self, session: Session, ranks: np.ndarray[Any, Any], many: int) -> None:
        order = np.argsort(ranks, kind="stable").astype(np.int32)
        ends = np.searchsorted(ranks[order], np.arange(many + 1))
        sizes = -(-np.diff(ends) // _OF_GROUP)
        #: (groups,): the system that each work-group bounds
        self.systems = np.repeat(np.arange(many), sizes)
        #: the systems that have rows, and the first work-group of each
        self.there, self.begins = np.unique(self.systems, return_index=True)
        within = np.arange(len(self.systems)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        begin = ends[self.systems] + within * _OF_GROUP
        stop = np.minimum(begin + _OF_GROUP, ends[self.systems + 1]) if len(begin) else begin
        ranges = np.stack([self.systems, begin, stop], axis=1).astype(np.int32)
        #: whether each system with rows has one range
        self.has_one_range = len(self.there) == len(self.systems)
        #: the ranges, (groups, 3), and the rows in order; nothing without rows
        self.arrays: list[cla.Array] = []
        if len(ranges):
            self.arrays = [session.upload(array, purpose="the rows of systems") for array in (ranges.ravel(), order)]
