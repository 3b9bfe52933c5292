"""Readback: copies a few numbers from the device to the host at once: sums, and bounding boxes of arrays."""

from __future__ import annotations

import dataclasses
import math
import struct
from typing import Any, NamedTuple

import numpy as np
import pyopencl as cl

from ..config import LONG
from ..domain.box import PeriodicBox
from ..runtime.scratch import Scratch
from ..runtime.session import Session

__all__ = ["Box", "PendingBox", "Readback"]

#: Number of slots for boxes, which are copied together where the caller never waits.
_COPIED_TOGETHER = 8

#: The layout of the numbers in front of the slots.
_FRONT = struct.Struct("=3Q")

#: The layout of a slot, by the size of a number: two corners, and a row as an integer.
_SLOTS = {4: "={}fi", 8: "={}dq"}

_NO_ROW = np.iinfo(np.int32).max
_BYTE = np.dtype(np.uint8)


class Box(NamedTuple):
    """The bounding box of an array's finite rows, and the first row that is not finite, or None."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    first_bad: int | None


class Readback:
    """A device buffer for small numbers, and its copy in host memory.

    The buffer begins with three 64-bit numbers and a bulk, see :func:`~clfrnn.primitives.reduce.find_bulk`. Behind them
    are eight slots for bounding boxes in `dim` dimensions. A copy takes the whole buffer. It runs on the queue of the
    kernels, so that kernels behind it may write to all slots again. A caller starts a copy and waits for it later. A
    copy also starts when all slots were written since the last copy, and is waited for when the next copy starts. Which
    calls wait therefore depends on the calls alone, not on the progress of the device.
    """

    def __init__(self, session: Session, *, dim: int = 0, dtype: np.dtype[Any] = LONG) -> None:
        self.session, self.dim, self.dtype = session, dim, dtype
        slots = _COPIED_TOGETHER if dim else 0
        #: the positions of the bulk in front and of the first slot, in numbers of the dtype
        self.bulk = _FRONT.size // dtype.itemsize
        self._slots = self.bulk + 2 * dim + 1
        size = (self._slots + slots * (2 * dim + 1)) * dtype.itemsize
        self.buffer = session.scratch(size, _BYTE, purpose="numbers for the host").base_data
        #: the numbers in front, for kernels to write
        self.front = Scratch(self.buffer, 3, LONG)
        self._pinned = session.pinned(self, size)
        #: the copy of the buffer
        self.host = self._pinned.data
        #: boxes in slots for which no copy was started
        self._placed: list[PendingBox] = []
        #: the copy that is not waited for yet, and its boxes
        self._copy: tuple[cl.Event, list[PendingBox]] | None = None

    def take_slot(self, box: PendingBox) -> int:
        """Return the position of a slot for `box`, in numbers of its dtype; the next launch writes there."""
        if len(self._placed) == _COPIED_TOGETHER:
            self.start()
        slot = len(self._placed)
        self._placed.append(box)
        return self._slots + slot * (2 * self.dim + 1)

    def start(self) -> None:
        """Enqueue the copy of what earlier launches write; waits for the copy before it, if any."""
        if self._copy is not None:
            self.wait()
        event = cl.enqueue_copy(self.session.queue, self._pinned, self.buffer, is_blocking=False)
        self._copy, self._placed = (event, self._placed), []

    def wait(self) -> tuple[int, int, int]:
        """Wait for the copy that was started, if any; return the numbers in front at that time."""
        if self._copy is not None:
            event, boxes = self._copy
            event.wait()
            for box in boxes:
                box.receive(self.host)
            self._copy = None
        return _FRONT.unpack_from(self.host)

    def read(self) -> tuple[int, int, int]:
        """Wait for all launches; return the numbers in front."""
        self.start()
        return self.wait()

    def read_bulk(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """The corners of the bulk, as the last copy has them."""
        found = np.frombuffer(self.host, self.dtype, 2 * self.dim, self.bulk * self.dtype.itemsize).tolist()
        return tuple(found[: self.dim]), tuple(found[self.dim :])


@dataclasses.dataclass(slots=True, eq=False)
class PendingBox:
    """A bounding box of rows of `dim` numbers that a kernel computes."""

    readback: Readback
    dim: int
    #: the space in which the rows lie, near whose box they have to lie where an axis is periodic; None for other rows
    space: PeriodicBox | None = None
    #: whether a launch finds it, or the host has found it
    placed: bool = False
    #: the position of its slot, which :attr:`arguments` gives it; None before
    _place: int | None = None
    #: the box on the host, once it was copied
    box: Box | None = None
    #: the corners of the bulk of the rows, once a survey has found them
    bulk: tuple[tuple[float, ...], tuple[float, ...]] | None = None

    @property
    def arguments(self) -> tuple[Any, int]:
        """The buffer and the position in it, for the next launch, which writes the box, and for its readers."""
        readback = self.readback
        if self._place is None:
            self._place, self.placed = readback.take_slot(self), True
            if self.box is not None:
                self._write(self.box, self._place)
        return readback.buffer, self._place

    def set(self, box: Box) -> None:
        """Note the box, which the host has found; it goes to the device where a launch asks for it."""
        self.box, self.placed = box, True

    def _write(self, box: Box, place: int) -> None:
        """Copy the box to its slot."""
        dtype = self.readback.dtype
        numbers = np.array([*box.low, *box.high, 0], dtype)
        row = _NO_ROW if box.first_bad is None else box.first_bad
        numbers[-1:].view(np.int64 if dtype.itemsize == LONG.itemsize else np.int32)[0] = row
        cl.enqueue_copy(self.readback.session.queue, self.readback.buffer, numbers, dst_offset=place * dtype.itemsize)

    def again(self) -> PendingBox:
        """The same box in a slot of its own, for later launches: others may have taken its slot since it was read."""
        box = PendingBox(self.readback, self.dim, self.space)
        box.set(self.read())
        return box

    def read(self) -> Box:
        """Return the box; waits for it, unless it is on the host."""
        if self.box is None:
            self.readback.read()
            assert self.box is not None, "no kernel was launched that finds this box"
        return self.box

    def receive(self, host: memoryview) -> None:
        """Read the box from its slot in a copy of the buffer. Without a finite row it is the origin."""
        assert self._place is not None, "the copy has the boxes that have a slot"
        size = self.readback.dtype.itemsize
        *corners, row = struct.unpack_from(_SLOTS[size].format(2 * self.dim), host, self._place * size)
        if not all(map(math.isfinite, corners)):
            corners = [value if math.isfinite(value) else 0.0 for value in corners]
        low, high = tuple(corners[: self.dim]), tuple(corners[self.dim :])
        self.box = Box(low, high, None if row == _NO_ROW else row)
