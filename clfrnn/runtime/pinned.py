"""Pinned memory: host memory into which the device copies without making the host wait."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import pyopencl as cl

__all__ = ["PinnedBytes"]

#: Bytes that are mapped at a time, and least number of bytes of a part.
_PAGE, _LEAST = 4096, 16


class PinnedBytes:
    """Parts of pinned host memory, one for each owner.

    A copy into other memory may make the host wait. Memory is mapped a page at a time and never unmapped; the part of
    an owner that is dropped goes to the next owner of as many bytes. A copy that is under way then is waited for:
    pyopencl's event of the copy holds the array, and waits when the event is dropped.
    """

    def __init__(self, queue: cl.CommandQueue) -> None:
        self._queue = queue
        self._free: dict[int, list[np.ndarray[Any, Any]]] = {}

    def take(self, owner: object, size: int) -> np.ndarray[Any, Any]:
        """A part, (size,) uint8, for as long as `owner` lives."""
        whole = 1 << (max(_LEAST, size) - 1).bit_length()
        free = self._free.setdefault(whole, [])
        if not free:
            free.extend(self._map(max(_PAGE, whole)).reshape(-1, whole))
        taken = free.pop()
        weakref.finalize(owner, free.append, taken).atexit = False
        return taken[:size]

    def _map(self, size: int) -> np.ndarray[Any, Any]:
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.ALLOC_HOST_PTR
        buffer = cl.Buffer(self._queue.context, flags, size)
        both = cl.map_flags.READ | cl.map_flags.WRITE
        mapped, _ = cl.enqueue_map_buffer(self._queue, buffer, both, 0, (size,), np.uint8, is_blocking=True)
        return mapped
