"""SystemTables: what walks over many systems read to find the slots and the images of each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

from ..arrays import REAL_OF
from ..config import INT
from ..domain.cells import padded_radius
from ..domain.system_layout import SystemHeights, into_slots, lay_out_cells, lay_out_systems, space_of_slots
from ..domain.systems import SystemCells, Systems, first_far
from ..errors import InvalidInputError
from ..primitives.readback import Box, PendingBox
from ..runtime.scratch import Scratch
from ..runtime.session import Session
from .plan import plan_systems

__all__ = ["SystemTables"]

#: Points of one system that a work-group reads.
_OF_GROUP = 4096

_NO_SHAPES = np.zeros((0, 4), np.int32)

#: The largest number of the type of points over the largest coordinate: heights of many systems lie side by side.
_SPARE = 2.0**20

#: Numbers in front of the ranks of points in a table: where the tables of systems begin, and the shapes of cells.
_FRONT = 8


class SystemTables:
    """The systems of one index on the device, with the layout and the image table of its newest points."""

    def __init__(self, session: Session, systems: Systems, radius: float, dtype: np.dtype[Any]) -> None:
        self._session, self._systems, self._dtype = session, systems, dtype
        self._reach = padded_radius(radius, systems.real)
        ranks = systems.ranks if len(systems.ranks) else np.zeros(1, np.int32)
        #: the system of each point, (n,) int32
        self.ranks = session.upload(ranks, purpose="the systems of points")
        self._kernels, self._config = session.planned(
            "domain_tables/periodic_images",
            plan_systems,
            dim=systems.dim,
            real=REAL_OF[dtype],
            periodic=systems.kind,
        )
        self._members = _Members(session, systems.ranks, len(systems.numbers))
        self._normals = session.upload(systems.facts.normals.astype(dtype).ravel(), purpose="the cells of systems")
        #: where the newest points lie, and what follows where methods use it: tables of slots, and grids of systems
        self.heights: SystemHeights
        self._table: cla.Array | None = None
        self.cells: SystemCells
        self._copy: cl.Event | None = None

    def lay_out(self, points: cla.Array) -> cla.Array:
        """Lay out the systems for `points`, and return where these lie: a new array of heights, (n, dim).

        Waits for the bounds of each system. Cost: two passes over the points.
        """
        self._measure(points)
        return self._heights(points)

    def lay_out_again(self, points: cla.Array, radius: float) -> cla.Array:
        """Lay out the systems for the same points and another radius."""
        self._reach, self._table = padded_radius(radius, self._systems.real), None
        return self._heights(points)

    def _measure(self, points: cla.Array) -> int | None:
        """Note where `points` lie; returns the number of the first that is not finite, or None. Waits."""
        bounds, bad = self._find_bounds(points, "points", self._members)
        self.heights, self._table = SystemHeights(self._systems, *bounds), None
        return bad

    def state(self) -> dict[str, Any]:
        """What is known of the newest points, for :meth:`restore`."""
        return dict(vars(self))

    def restore(self, state: dict[str, Any]) -> None:
        """Know again what was known before an update that failed."""
        vars(self).update(state)

    def space(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """The corners of the space in which systems lie side by side."""
        return space_of_slots(self.heights, self._reach)

    @property
    def _slots(self) -> np.ndarray[Any, Any]:
        """The image tables of systems in slots, on the host."""
        return lay_out_systems(self._systems, self.heights, self._reach)

    @property
    def table(self) -> cla.Array:
        """The image tables of systems in slots: numbers of the type of points, see ``domain/lattice.mako``."""
        if self._table is None:
            self._table = self._pack(self._slots)
        return self._table

    def lay_out_cells(self, sides: tuple[float, ...]) -> Scratch:
        """Lay out a grid for each system, for the newest points; returns the tables for walks through these."""
        self.cells = lay_out_cells(self._systems, self.heights, sides, self._reach)
        table = self._pack(self.cells.tables, self.cells.shapes)
        return Scratch(table.base_data, table.size, self._dtype)

    def _heights(self, points: cla.Array) -> cla.Array:
        session, n = self._session, points.shape[0]
        heights = session.allocate(points.shape, self._dtype, purpose="the heights of points in their systems")
        session.launch(
            self._kernels["place_in_systems"],
            n,
            self._config.work_group_size,
            np.int32(n),
            points.base_data,
            self.table.base_data,
            heights.base_data,
        )
        return heights

    def bounds_of_queries(self, queries: cla.Array, ranks: np.ndarray[Any, Any]) -> tuple[Any, Any]:
        """The bounds of queries in each system, (systems, dim); raises where images cannot be distinguished. Waits."""
        members = _Members(self._session, ranks, len(self._systems.numbers))
        return self._find_bounds(queries, "queries", members)[0]

    @property
    def nbytes(self) -> int:
        """Bytes on the device beside the image table: the systems of points, their order, and directions of heights."""
        arrays = self.ranks, self._normals, *self._members.arrays
        return sum(int(each.nbytes) for each in arrays)

    def into_slots(self, positions: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The images of `positions`, (n, dim) on the host, in the slots of their systems."""
        return into_slots(self._systems, self._slots, positions)

    # What structures need of an image table: see :class:`~clfrnn.domain_tables.image_table.ImageTable`.

    def period_at(self, starts: tuple[float, ...]) -> cla.Array:  # noqa: ARG002
        """The tables, each of which begins as a period does."""
        return self.table

    def find_bounds(self, points: cla.Array, starts: tuple[float, ...], bounds: PendingBox) -> None:  # noqa: ARG002
        """Note where new points lie, and write the corners of the space in which their systems lie."""
        bad = self._measure(points)
        bounds.set(Box(*self.space(), bad))

    def place(self, rows: cla.Array, starts: tuple[float, ...]) -> cla.Array:  # noqa: ARG002
        """Rows as they are: their systems are not known here."""
        return rows

    def images(self, starts: tuple[float, ...], bounds: PendingBox | None) -> Scratch:  # noqa: ARG002
        """The tables for the newest points."""
        return Scratch(self.table.base_data, self.table.size, self._dtype)

    def _find_bounds(self, rows: cla.Array, name: str, members: _Members) -> tuple[tuple[Any, Any], int | None]:
        """The lowest and highest heights of `rows` in each system, (systems, dim), and the first row not finite.

        Raises where a row lies too far. Waits.
        """
        session, config, dim, many = self._session, self._config, self._systems.dim, len(self._systems.numbers)
        groups = len(members.systems)
        low, high = np.full((many, dim), np.inf), np.full((many, dim), -np.inf)
        bad = None
        if groups:
            boxes = session.allocate((groups, 2 * dim + 1), self._dtype, purpose="the bounds of systems")
            size = config.work_group_size
            session.launch(
                self._kernels["bound_systems"],
                groups * size,
                size,
                *(each.base_data for each in members.arrays),
                rows.base_data,
                self._normals.base_data,
                boxes.base_data,
            )
            read = session.read(boxes).reshape(groups, 2 * dim + 1)
            first = int(read[:, -1].copy().view(np.int64 if self._dtype.itemsize == 8 else np.int32).min())
            bad = None if first == np.iinfo(np.int32).max else first
            found = read[:, :-1].astype(np.float64)
            there, begins = np.unique(members.systems, return_index=True)
            low[there] = np.minimum.reduceat(found[:, :dim], begins)
            high[there] = np.maximum.reduceat(found[:, dim:], begins)
        if (far := first_far(self._systems, low, high)) is not None:
            system, axis, height = far
            raise InvalidInputError(
                f"{name}: expected positions near the box or cell of their system, got one in system "
                f"{self._systems.numbers[system]} that lies {height!r} from the origin along axis {axis}: so far out, "
                "rounding hides which image is which; move points by whole lattice vectors towards the origin"
            )
        most = float(np.finfo(self._dtype).max) / _SPARE
        if (beyond := np.isfinite(low) & ((low < -most) | (high > most))).any():
            system = int(np.argwhere(beyond)[0, 0])
            raise InvalidInputError(
                f"{name}: expected coordinates of at most {most:.1g} where there are many systems, got larger ones in "
                f"system {self._systems.numbers[system]}; multiply points, radius and lengths by one small number"
            )
        return (low, high), bad

    def _pack(self, tables: np.ndarray[Any, Any], shapes: np.ndarray[Any, Any] = _NO_SHAPES) -> cla.Array:
        """The front, the ranks of points, the shapes of cells and the tables of systems, in one array of numbers."""
        size, ranks = self._dtype.itemsize, self._systems.ranks
        ints = _FRONT + max(1, ranks.size)
        begin = -(-(ints + shapes.size) * INT.itemsize // size)
        whole = np.zeros(begin + tables.size, self._dtype)
        front = whole[:begin].view(np.int32)
        front[:2] = begin, ints
        front[_FRONT : _FRONT + ranks.size] = ranks
        front[ints : ints + shapes.size] = shapes.ravel()
        with np.errstate(over="ignore"):  # what is infinite is no limit
            whole[begin:] = tables.ravel()
        table = self._session.allocate(whole.size, self._dtype, purpose="the tables of systems")
        # Its event holds the host's array, and waits for the copy where it is dropped: one layout later.
        self._copy = cl.enqueue_copy(self._session.queue, table.base_data, whole, is_blocking=False)
        return table


class _Members:
    """Rows in the order of their systems, and the ranges of them that work-groups read."""

    def __init__(self, session: Session, ranks: np.ndarray[Any, Any], many: int) -> None:
        order = np.argsort(ranks, kind="stable").astype(np.int32)
        ends = np.searchsorted(ranks[order], np.arange(many + 1))
        sizes = -(-np.diff(ends) // _OF_GROUP)
        #: (groups,): the system that each work-group bounds
        self.systems = np.repeat(np.arange(many), sizes)
        within = np.arange(len(self.systems)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        begin = ends[self.systems] + within * _OF_GROUP
        stop = np.minimum(begin + _OF_GROUP, ends[self.systems + 1]) if len(begin) else begin
        ranges = np.stack([self.systems, begin, stop], axis=1).astype(np.int32)
        #: the ranges, (groups, 3), and the rows in order; nothing without rows
        self.arrays: list[cla.Array] = []
        if len(ranges):
            self.arrays = [session.upload(array, purpose="the rows of systems") for array in (ranges.ravel(), order)]
