"""Readback: a few numbers of the device that come to the host by one copy: sums, and the bounding boxes of arrays."""

from __future__ import annotations

import dataclasses
import math
import struct
from typing import Any, NamedTuple

import numpy as np
import pyopencl as cl

from ..runtime.scratch import LONG, Scratch
from ..runtime.session import Session

__all__ = ["Box", "PendingBox", "Readback"]

#: Boxes that come to the host together where the caller never waits.
_TOGETHER = 8

#: The numbers in front of the slots.
_FRONT = struct.Struct("=3Q")

#: A slot, by the size of a number: the two corners, and a row as an integer.
_SLOTS = {4: "={}fi", 8: "={}dq"}

_NO_ROW = np.iinfo(np.int32).max
_BYTE = np.dtype(np.uint8)


class Box(NamedTuple):
    """The bounding box of an array's finite rows, and the first row that is not finite, or None."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    first_bad: int | None


class Readback:
    """One buffer of the device for small numbers, and its copy in memory of the host.

    Three 64-bit numbers lie in front. Bounding boxes of arrays in `dim` dimensions lie in slots behind them, which are
    used in turn. A copy always takes the whole buffer. A caller starts it and waits for it later; it also starts
    whenever eight boxes have come to lie in slots since the last one, and is waited for when the next one starts. So
    which calls wait depends on the calls alone, never on how far the device is, and no slot is used again before the
    host has its box.

    With many `items`, which kernels go through, a GPU copies beside the kernels that follow.
    """

    def __init__(self, session: Session, *, items: int = 0, dim: int = 0, dtype: np.dtype[Any] = LONG) -> None:
        self.session, self.dim, self.dtype = session, dim, dtype
        slots = 2 * _TOGETHER if dim else 0
        size = _FRONT.size + slots * (2 * dim + 1) * dtype.itemsize
        self.buffer = session.scratch(size, _BYTE, purpose="numbers for the host").base_data
        #: where kernels leave the numbers in front
        self.front = Scratch(self.buffer, 3, LONG)
        self._pinned = session.pinned(self, size)
        #: the copy of the buffer
        self.host = self._pinned.data
        self._beside = items >= session.tuning.runtime.copy_beside_items and session.profile.kind == "gpu"
        self._next_slot = 0
        #: boxes in slots that no copy has been started for
        self._placed: list[PendingBox] = []
        #: the copy that nobody has waited for yet, and the boxes that it brings
        self._copy: tuple[cl.Event, list[PendingBox]] | None = None

    def place(self, box: PendingBox) -> int:
        """The place of a slot for `box`, counted in numbers of its dtype; the next launch writes there."""
        if len(self._placed) == _TOGETHER:
            self.start()
        self._placed.append(box)
        slot, self._next_slot = self._next_slot, (self._next_slot + 1) % (2 * _TOGETHER)
        return _FRONT.size // self.dtype.itemsize + slot * (2 * self.dim + 1)

    def start(self, *, beside: bool = True) -> None:
        """Enqueue the copy of what kernels write that were launched before.

        Kernels that are launched before :meth:`wait` must not write to the same slots, nor to the front. The copy runs
        `beside` them only where that pays.
        """
        if self._copy is not None:
            self.wait()
        event = self.session.copy_to_host(self.buffer, self._pinned, beside=beside and self._beside)
        self._copy, self._placed = (event, self._placed), []

    def wait(self) -> tuple[int, int, int]:
        """Wait for the copy that was started, if any; the numbers in front, as they were then."""
        if self._copy is not None:
            event, boxes = self._copy
            event.wait()
            for box in boxes:
                box.receive(self.host)
            self._copy = None
        return _FRONT.unpack_from(self.host)

    def read(self) -> tuple[int, int, int]:
        """Wait for all kernels that were launched; the numbers in front."""
        self.start(beside=False)
        return self.wait()


@dataclasses.dataclass(slots=True, eq=False)
class PendingBox:
    """A bounding box that a kernel is to find, of rows of `dim` numbers."""

    readback: Readback
    dim: int
    #: whether it has a slot, which it is given with its arguments
    placed: bool = False
    _place: int = 0
    #: the box, when it has come to the host
    box: Box | None = None

    @property
    def arguments(self) -> tuple[Any, int]:
        """The buffer and the place in it, for the kernel that is launched next, and for those that read the box."""
        if not self.placed:
            self._place, self.placed = self.readback.place(self), True
        return self.readback.buffer, self._place

    def read(self) -> Box:
        """The box; waits for it, unless it has come to the host."""
        if self.box is None:
            self.readback.read()
            assert self.box is not None, "no kernel was launched that finds this box"
        return self.box

    def receive(self, host: memoryview) -> None:
        """Take the box from its slot in a copy of the buffer. Without a finite row it is the origin."""
        size = self.readback.dtype.itemsize
        *corners, row = struct.unpack_from(_SLOTS[size].format(2 * self.dim), host, self._place * size)
        if not all(map(math.isfinite, corners)):
            corners = [value if math.isfinite(value) else 0.0 for value in corners]
        low, high = tuple(corners[: self.dim]), tuple(corners[self.dim :])
        self.box = Box(low, high, None if row == _NO_ROW else row)
