"""KeptPoints: the points of an index on the device: taken in, taken in anew, counted in bytes, and their order."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, NoReturn

import numpy as np
import pyopencl.array as cla

from ..arrays import is_device_array
from ..domain import CellGrid
from ..errors import InvalidInputError
from ..inputs.arrays import check_context, lies_ready, own_copy, take_points
from ..inputs.deferred_checks import DeferredChecks
from ..planning.problem import Problem
from ..primitives.gather import take_rows
from ..primitives.periodic_images import measure_images, period_numbers
from ..primitives.readback import Box, PendingBox
from ..primitives.reduce import bounding_box, box_and_images
from ..runtime.program import Kernel
from ..runtime.scratch import Scratch
from ..runtime.session import Session

__all__ = ["Readers", "SearchStructure"]


class Readers(NamedTuple):
    """The kernels of ``common/point_layout.mako`` that read sorted points back, their groups, and these points."""

    kernels: Mapping[str, Kernel]
    work_group_size: int
    places: Scratch


class SearchStructure(abc.ABC):
    """What an index is before it is asked anything. A method says how it places points, and where."""

    #: the stem of the method's template
    stem: ClassVar[str]

    def __init__(self, session: Session, problem: Problem) -> None:
        self.session = session
        self.method = self.stem.rpartition("/")[2]
        self.problem = problem
        self.radius = problem.radius
        self.num_points = problem.n
        self.dim = problem.dim
        self.dtype = np.dtype(np.float32 if problem.real == "float" else np.float64)
        self.last_update = "rebuilt"
        #: where the periodic box began the last time, and its numbers on the device
        self._period: tuple[tuple[float, ...], cla.Array] | None = None
        #: where it began for points between such bounds, and what periodic kernels read then, until it is asked for
        self._measured: tuple[tuple[float, ...], PendingBox, Scratch] | None = None
        #: the box that points were placed by the last time: it is no news the next time, unless that failed
        self._served: Box | None = None
        self.watch = DeferredChecks(
            session, n=problem.n, dtype=self.dtype, dim=self.dim, radius=self.radius, box=problem.box
        )

    def __repr__(self) -> str:
        return (
            f"<{self.method} index: {self.num_points:,} points in {self.dim}D, {self.dtype}, "
            f"radius {self.radius:g}, on {self.session.profile.name}>"
        )

    def __reduce__(self) -> NoReturn:
        raise TypeError("an index lies on a device and cannot be pickled; pickle the points and build it again")

    @property
    def cell_grid(self) -> CellGrid | None:
        """The cells that the points lie in, where the method has cells."""
        return None

    def images(self, starts: tuple[float, ...], bounds: PendingBox | None) -> Scratch:
        """What periodic kernels read, for points between `bounds` in a box that begins at `starts`."""
        assert bounds is not None
        measured, self._measured = self._measured, None
        if measured is not None and measured[0] == starts and measured[1] is bounds:
            return measured[2]
        del measured  # back to the pool, for the next
        return measure_images(self.session, self._period_at(starts), bounds)

    def _period_at(self, starts: tuple[float, ...]) -> cla.Array:
        """The periodic box as it begins there, on the device."""
        assert self.problem.box is not None
        if self._period is None or self._period[0] != starts:
            self._period = None  # back to the pool, for the next
            self._period = starts, period_numbers(self.session, self.problem.box, starts, self.dtype)
        return self._period[1]

    def period(self) -> cla.Array | None:
        """The lengths of the periodic box and their inverses, on the device; None where there is none."""
        return None if self.problem.box is None else self._period_at(self._box_starts())

    def at_home(self) -> bool:
        """Whether all points are known to lie in the periodic box as they are; False where there is none."""
        box, periodic = self.watch.box_of_points(), self.problem.box
        return box is not None and periodic is not None and periodic.holds(box.low, box.high, self._box_starts())

    @abc.abstractmethod
    def walk_arguments(self) -> tuple[Any, ...]:
        """The arguments of the walk behind the shared ones."""

    @abc.abstractmethod
    def _box_starts(self) -> tuple[float, ...]:
        """Where a periodic box begins for the points that are kept now."""

    def _find_box(self, points: cla.Array) -> PendingBox:
        """The box of new points from the device: being found, or to be found by :meth:`_place`."""
        bounds = self.watch.room()
        if self.problem.box is None:
            return bounding_box(self.session, points, bounds)
        # Most likely they will be placed in the box as it begins now.
        starts = self._box_starts()
        self._measured = starts, bounds, box_and_images(self.session, points, self._period_at(starts), bounds)
        return bounds

    @abc.abstractmethod
    def _place(self, points: cla.Array, bounds: PendingBox, box: Box | None) -> None:
        """Take new points in, between `bounds`; `box` is theirs, or that of an earlier step, or None for no news."""

    @abc.abstractmethod
    def _buffers(self) -> dict[str, cla.Array | Scratch]:
        """What the index keeps on the device, by name."""

    def _readers(self) -> Readers | None:
        """What reads sorted points back, where the method keeps them as ``common/point_layout.mako`` does."""
        return None

    def _order(self) -> cla.Array:
        """See :attr:`order`."""
        purpose = "the order of points"
        if (readers := self._readers()) is None:
            return self.session.upload(np.arange(self.num_points, dtype=np.int32), purpose=purpose)
        return self._read_back(readers, "read_order", self.session.allocate(self.num_points, np.int32, purpose=purpose))

    def positions(self) -> cla.Array | None:
        """The points as they are now by their own numbers, (n, dim), not to be changed; None where nobody knows."""
        if (readers := self._readers()) is None:
            return None
        points = self.session.allocate((self.num_points, self.dim), self.dtype, purpose="the points by their numbers")
        return self._read_back(readers, "read_points", points)

    def _read_back(self, readers: Readers, name: str, into: cla.Array) -> cla.Array:
        n, size = self.num_points, readers.work_group_size
        event = self.session.launch(
            readers.kernels[name], n, size, np.int32(n), readers.places.base_data, into.base_data
        )
        self.session.publish(event, into)
        return into

    def update(self, points: Any) -> None:
        """Take new positions of the same points in.

        Parameters
        ----------
        points : same shape and dtype as before — a host array is checked at once, a device array by :meth:`check`

        Raises
        ------
        InvalidInputError
            Another shape or dtype, or a host array that is not finite; the index then still answers for the old points.
        DeviceMemoryError
            There is no room for the new cells; the index then still answers for the old points.

        Notes
        -----
        Cost: that of building, without its survey. Nothing is compiled. A device array is not waited for, save that a
        caller who never waits comes to wait for what is more than eight checks behind; ``aabb_tree`` waits for a number
        of the step before, and where points jump for one of its own.
        """
        self.session.check_process()
        array, pending = self._receive(points)
        if pending is not None:
            self._replace(array, pending, self.watch.known_box())
            self.watch.new_points(pending)
            return
        bounds = bounding_box(self.session, array)
        box = bounds.read()  # a host array: copying it has waited already
        self.watch.check_near("points", box)
        self._replace(array, bounds, box)
        self.watch.good_points(box)

    def _receive(self, points: Any) -> tuple[cla.Array, PendingBox | None]:
        """New points on the device, and their box, unless they came over the host."""
        if lies_ready(self.session, points, self.dtype) and points.shape == (self.num_points, self.dim):
            return points, self._find_box(points)
        array, pending, _ = take_points(
            self.session,
            points,
            "points",
            real=self.dtype,
            exact=True,
            find_box=lambda taken: self._find_box(self._of_this_shape(taken)),
        )
        return self._of_this_shape(array), pending

    def _of_this_shape(self, points: cla.Array) -> cla.Array:
        """New points, when they are as many as before, in as many dimensions."""
        if points.shape != (self.num_points, self.dim):
            raise InvalidInputError(
                f"points: expected the shape of the index, ({self.num_points}, {self.dim}), got {points.shape}; "
                "build a new index for another number of points or of coordinates"
            )
        return points

    def _replace(self, points: cla.Array, bounds: PendingBox, box: Box | None) -> None:
        """Place new points; until the watch is told which, nothing is known of their box, whatever comes between."""
        before, known = self.walk_arguments(), self.watch.points_change()
        try:
            self._place(points, bounds, None if box is self._served else box)
        except BaseException:
            if all(
                old is new for old, new in zip(before, self.walk_arguments(), strict=True) if hasattr(old, "int_ptr")
            ):
                self.watch.points_stay(known)
            raise
        self._served = box

    def check(self) -> None:
        """Wait for the device, and raise what earlier calls that did not wait have found.

        Raises
        ------
        InvalidInputError
            Points, queries or radii on the device held a NaN or an infinity, or a radius was too large.
        """
        self.session.check_process()
        self.session.queue.finish()
        self.watch.settle()

    @property
    def order(self) -> cla.Array:
        """The number of the point at each place of the sorted order, (n,) int32 on the device.

        Points that are near each other in it are near in space. The order of input where a method does not sort.
        """
        self.session.check_process()
        return self._order()

    def reorder(self, *arrays: Any) -> Any:
        """Rows of `arrays`, one for each point, in the index's own order: ``array[order]``, on the device.

        Parameters
        ----------
        *arrays : (n, ...) of any dtype, on the device or on the host

        Returns
        -------
        A new device array, or a tuple of them when several were given.

        Raises
        ------
        InvalidInputError
            An array does not have one row for each point.

        Notes
        -----
        Cost: one read and one write of each array. Not waited for.
        """
        order = self.order
        found = [take_rows(self.session, self._row_for_each_point(k, array), order) for k, array in enumerate(arrays)]
        return found[0] if len(found) == 1 else tuple(found)

    def _row_for_each_point(self, k: int, array: Any) -> cla.Array:
        """The k-th array of :meth:`reorder` on the device, when it has one row for each point."""
        name = f"arrays[{k}]"
        values = array if is_device_array(array) else np.ascontiguousarray(array)
        if values.ndim == 0 or values.shape[0] != self.num_points or values.dtype.hasobject:
            raise InvalidInputError(
                f"{name}: expected one row for each of the {self.num_points:,} points, got shape {values.shape} "
                f"and {values.dtype}; pass numbers, in the order in which the points were given"
            )
        if not is_device_array(values):
            return self.session.upload(values, purpose=name)
        check_context(self.session, values, name)
        if not values.flags.c_contiguous:
            raise InvalidInputError(f"{name}: expected a contiguous array, got strides {values.strides}; pass a copy")
        return own_copy(self.session, values)

    @property
    def nbytes(self) -> dict[str, int]:
        """Bytes that the index keeps on the device, by buffer."""
        buffers = {**self._buffers(), **self._buffers_of_lists()}
        return {name: int(buffer.size) * buffer.dtype.itemsize for name, buffer in buffers.items()}

    def _buffers_of_lists(self) -> dict[str, cla.Array | Scratch]:
        """What is kept for the next list, by name."""
        return {}
