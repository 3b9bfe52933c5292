"""Pinned memory: numbers of the host that the device writes by itself, without anybody's waiting."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import pyopencl as cl

__all__ = ["PinnedNumbers"]

#: Numbers of one owner, and owners of one piece of memory.
_NUMBERS, _OWNERS = 2, 128


class PinnedNumbers:
    """Two numbers for each owner, in memory of the host that drivers copy into directly.

    A copy into other memory may keep the host until it is done. Memory is mapped a piece at a time and kept; what an
    owner had goes to the next when the owner is dropped.
    """

    def __init__(self, queue: cl.CommandQueue) -> None:
        self._queue = queue
        self._free: list[np.ndarray[Any, Any]] = []

    def take(self, owner: object, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
        """(2,) of `dtype`, at most eight bytes each, for as long as `owner` lives."""
        if not self._free:
            self._free.extend(self._map().reshape(_OWNERS, -1))
        room = self._free.pop()
        weakref.finalize(owner, self._free.append, room).atexit = False
        return room.view(dtype)[:_NUMBERS]

    def _map(self) -> np.ndarray[Any, Any]:
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.ALLOC_HOST_PTR
        size = _OWNERS * _NUMBERS
        buffer = cl.Buffer(self._queue.context, flags, 8 * size)
        both = cl.map_flags.READ | cl.map_flags.WRITE
        mapped, _ = cl.enqueue_map_buffer(self._queue, buffer, both, 0, (size,), np.float64, is_blocking=True)
        return mapped
