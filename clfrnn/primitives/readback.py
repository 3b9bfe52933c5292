"""Pending: bounding boxes that the device finds, and totals, on their way to the host together."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..runtime.scratch import LONG, Scratch
from ..runtime.session import Session

__all__ = ["Box", "BoxRoom", "PendingBox", "SentBoxes", "SentTotal", "read_along", "read_boxes"]

_ALL_FINITE = np.iinfo(np.int32).max

#: How a box lies in memory, by the size of a number: the corners, and a row as an integer.
_BOXES = {4: "={}fi", 8: "={}dq"}

#: A total, and a word behind it.
_TOTAL = struct.Struct("=2q")


class Box(NamedTuple):
    """The box of an array's finite rows, and its first row that is not finite, or None."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    first_bad: int | None


class _Buffer:
    """Boxes that lie one after the other and come to the host together, and a total and a word that come along."""

    def __init__(self, session: Session, dim: int, dtype: np.dtype[Any], room: int) -> None:
        self.numbers = 2 * dim + 1
        self._box = struct.Struct(_BOXES[dtype.itemsize].format(2 * dim))
        boxes = -(-room * self.numbers * dtype.itemsize // LONG.itemsize) * LONG.itemsize
        size = (boxes + 2 * LONG.itemsize) // dtype.itemsize
        self.scratch = session.scratch(size, dtype, purpose="the bounding boxes of arrays")
        #: where the total lies, and behind it what else a kernel says
        self.total = Scratch(self.scratch.base_data, 2, LONG, boxes)
        #: boxes that kernels were told to find, and those that came to the host
        self.taken = 0
        self.read: list[tuple[Any, ...]] = []
        #: pinned memory that all of it fits into, from when it is first sent on, and its bytes
        self.told: np.ndarray[Any, Any] | None = None
        self.bytes = memoryview(b"")

    def unread(self) -> Scratch:
        """The boxes that came to no host yet."""
        first, dtype = len(self.read) * self.numbers, self.scratch.dtype
        return Scratch(self.scratch.base_data, self.taken * self.numbers - first, dtype, first * dtype.itemsize)

    def receive(self, numbers: Any) -> None:
        """Take in what somebody has read of them, in bytes."""
        self.read.extend(self._box.iter_unpack(numbers))


class _Transfer:
    """What is on its way from a buffer to the host: boxes that had not come there yet, the total, and a word."""

    def __init__(self, session: Session, buffer: _Buffer, items: int) -> None:
        if buffer.told is None:
            buffer.told = session.pinned(buffer, buffer.scratch.dtype, buffer.scratch.size)
            buffer.bytes = buffer.told.data.cast("B")
        self._buffer, self._first, self._end = buffer, len(buffer.read), buffer.taken
        # From the first such box on, the numbers as they lie on the device.
        first = self._first * buffer.numbers
        self.sent = session.send(buffer.scratch, first, buffer.told[first:], items=items)

    def receive(self) -> tuple[int, int]:
        """The total and the word, when they have come; the buffer takes the boxes in."""
        buffer = self._buffer
        if self._end > self._first:
            size = buffer.numbers * buffer.scratch.dtype.itemsize
            buffer.receive(buffer.bytes[self._first * size : self._end * size])
        told: tuple[int, int] = _TOTAL.unpack_from(buffer.bytes, buffer.total.offset)
        return told


class SentTotal:
    """A total and a word on their way to the host, together with boxes that had not come there yet."""

    def __init__(self, session: Session, buffer: _Buffer, pending: Sequence[PendingBox], items: int) -> None:
        others = [other for box in pending if (other := box.waiting) is not None and other is not buffer]
        self._transfers = [_Transfer(session, each, items) for each in dict.fromkeys(others)] if others else []
        self._transfers.append(_Transfer(session, buffer, items))

    def receive(self) -> tuple[int, int]:
        """Wait for both."""
        *others, last = self._transfers
        for each in others:
            each.sent.start()
        last.sent.wait()  # the last of its queue
        for each in others:
            each.receive()
        return last.receive()


class SentBoxes:
    """Boxes on their way to the host, who waits for them when others have been found since: seldom for long.

    Kernels go through so many `items`: see :meth:`~clfrnn.runtime.session.Session.send`. Pinned memory is theirs until then.
    """

    def __init__(self, session: Session, pending: Sequence[PendingBox], items: int) -> None:
        buffers = {id(buffer): buffer for box in pending if (buffer := box.waiting) is not None}
        self._transfers = []
        for buffer in buffers.values():
            boxes = buffer.unread()
            told = session.pinned(self, boxes.dtype, boxes.size)
            self._transfers.append((buffer, len(buffer.read), told, session.send(boxes, 0, told, items=items)))

    def receive(self) -> None:
        """Wait for them; the buffers take in what nobody has read meanwhile."""
        for buffer, first, told, sent in self._transfers:
            sent.wait()
            if len(buffer.read) == first:
                buffer.receive(told)


class PendingBox:
    """A bounding box that the device is still working on. It has a place once a kernel is told where to write it."""

    def __init__(self, room: BoxRoom) -> None:
        self._room = room
        self._placed: tuple[_Buffer, int] | None = None
        self._box: Box | None = None

    @property
    def placed(self) -> bool:
        """Whether a kernel was told to find it."""
        return self._placed is not None

    @property
    def arguments(self) -> tuple[Any, int]:
        """The buffer and the place in it, for the kernel that is launched next or those that read the box."""
        if self._placed is None:
            self._placed = self._room.place()
        buffer, number = self._placed
        return buffer.scratch.base_data, number * buffer.numbers

    @property
    def waiting(self) -> _Buffer | None:
        """The buffer that has to come to the host before the box is known."""
        if self._placed is None:
            return None
        buffer, number = self._placed
        return buffer if number >= len(buffer.read) else None

    def read(self) -> Box:
        """Wait for the box, once. Without a finite row it is the origin."""
        if self._box is None:
            read_boxes(self._room.session, [self])
            assert self._placed is not None, "no kernel was told to find this box"
            buffer, number = self._placed
            self._box = _box(buffer.read[number])
        return self._box


class BoxRoom:
    """Room for boxes of points in `dim` dimensions, several `together` in one buffer."""

    def __init__(self, session: Session, dim: int, dtype: np.dtype[Any], together: int = 1) -> None:
        self.session = session
        self._facts = dim, dtype, together
        self._buffer: _Buffer | None = None

    def take(self) -> PendingBox:
        """A box that a kernel is yet to find."""
        return PendingBox(self)

    def place(self) -> tuple[_Buffer, int]:
        """The next place. None is used twice while anybody holds the box there."""
        buffer = self._buffer
        if buffer is None or buffer.taken == self._facts[-1]:
            buffer = self._buffer = _Buffer(self.session, *self._facts)
        buffer.taken += 1
        return buffer, buffer.taken - 1

    def total(self) -> Scratch:
        """Where a kernel leaves the total that is sent next, and another a word behind it."""
        if self._buffer is None:
            self._buffer = _Buffer(self.session, *self._facts)
        return self._buffer.total

    def send(self, pending: Sequence[PendingBox], items: int) -> SentTotal:
        """Enqueue the transfer of the total that was left there, and of these boxes where they have not come yet.

        Kernels go through so many `items`: see :meth:`~clfrnn.runtime.session.Session.send`.
        """
        assert self._buffer is not None, "no kernel was told where to leave a total"
        return SentTotal(self.session, self._buffer, pending, items)


def _box(numbers: tuple[Any, ...]) -> Box:
    """The box of so many numbers: the corners, and a row."""
    dim, row = len(numbers) // 2, numbers[-1]
    if not all(map(math.isfinite, numbers)):
        numbers = tuple(value if math.isfinite(value) else 0.0 for value in numbers)
    return Box(numbers[:dim], numbers[dim:-1], None if row == _ALL_FINITE else row)


def read_boxes(session: Session, pending: Sequence[PendingBox]) -> None:
    """Wait for boxes, those of a buffer by one transfer."""
    for box in pending:
        if (buffer := box.waiting) is not None:
            buffer.receive(session.read(buffer.unread()))


def read_along(session: Session, wanted: Scratch, pending: Sequence[PendingBox]) -> np.ndarray[Any, Any]:
    """What lies in `wanted`, and with it the boxes that were not read before, so that the host waits once."""
    buffers = list({id(buffer): buffer for box in pending if (buffer := box.waiting) is not None}.values())
    values, *found = session.read_together([wanted, *(buffer.unread() for buffer in buffers)])
    for buffer, numbers in zip(buffers, found, strict=True):
        buffer.receive(numbers)
    return values
