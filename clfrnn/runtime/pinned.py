"""Pinned memory: numbers of the host that the device writes by itself, without anybody's waiting."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import pyopencl as cl

__all__ = ["PinnedNumbers"]

#: Bytes that are mapped at a time; fewer than the least are not told apart.
_PIECE, _LEAST = 4096, 16


class PinnedNumbers:
    """Some numbers for each owner, in memory of the host that drivers copy into directly.

    A copy into other memory may keep the host until it is done. Memory is mapped a piece at a time and kept; what an
    owner had goes to the next who wants as much when the owner is dropped. A copy that is then still under way is
    waited for: pyopencl's event of it holds the array, and waits when it is dropped itself.
    """

    def __init__(self, queue: cl.CommandQueue) -> None:
        self._queue = queue
        self._free: dict[int, list[np.ndarray[Any, Any]]] = {}

    def take(self, owner: object, dtype: np.dtype[Any], count: int) -> np.ndarray[Any, Any]:
        """(count,) of `dtype`, for as long as `owner` lives."""
        needed = count * dtype.itemsize
        size = 1 << (max(_LEAST, needed) - 1).bit_length()
        free = self._free.setdefault(size, [])
        if not free:
            free.extend(self._map(max(_PIECE, size)).reshape(-1, size))
        room = free.pop()
        weakref.finalize(owner, free.append, room).atexit = False
        return room[:needed].view(dtype)

    def _map(self, size: int) -> np.ndarray[Any, Any]:
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.ALLOC_HOST_PTR
        buffer = cl.Buffer(self._queue.context, flags, size)
        both = cl.map_flags.READ | cl.map_flags.WRITE
        mapped, _ = cl.enqueue_map_buffer(self._queue, buffer, both, 0, (size,), np.uint8, is_blocking=True)
        return mapped
