"""Memory: arrays and buffers of a device from a pool, and who keeps some that others may need."""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence
from typing import Any, NoReturn, Protocol

import numpy as np
import pyopencl as cl
import pyopencl.array as cla
import pyopencl.tools as cl_tools

from ..errors import DeviceMemoryError
from ..profile import DeviceProfile
from .scratch import Scratch

__all__ = ["Keeper", "Memory"]

#: Counters at zero are kept for so many numbers of them.
_MOST_CLEARED = 4

#: Shapes of rows that are remembered.
_KNOWN_ARRAYS = 64


def _advice(purpose: str) -> str:
    """What to do when there is no room for `purpose`."""
    if "pairs" in purpose:
        return (
            "Take a smaller radius, only count (index.count()), or take it in parts: index.query_blocks(max_bytes=...)."
        )
    return "Drop arrays and lists that are no longer needed, search part of the points, or choose a larger device."


def _resize(found: dict[str, Any], shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Set what pyopencl keeps of a contiguous array's size."""
    found["shape"], found["size"] = shape, math.prod(shape)
    found["nbytes"] = found["size"] * dtype.itemsize


class Keeper(Protocol):
    """Who keeps memory of the device that is of use, but no need."""

    def let_go(self) -> bool:
        """Give it back; whether there was any."""


class Memory:
    """The memory of a queue's device, within what its profile allows."""

    def __init__(self, queue: cl.CommandQueue, profile: DeviceProfile) -> None:
        self.queue, self.profile = queue, profile
        self._pool = cl_tools.MemoryPool(cl_tools.ImmediateAllocator(queue))
        self._cleared: dict[int, Scratch] = {}
        #: what an array of rows of a shape and dtype consists of, save their number, its buffer and events
        self._arrays: dict[tuple[tuple[int, ...], np.dtype[Any]], dict[str, Any]] = {}
        #: who keeps memory that others come first to
        self.keepers: weakref.WeakSet[Keeper] = weakref.WeakSet()

    def allocate(self, shape: int | Sequence[int], dtype: Any, *, purpose: str, rows: int | None = None) -> cla.Array:
        """An uninitialised array from the pool, to which its buffer returns when the array is dropped.

        With `rows` the memory has room for so many, so that the next array, of a few more, finds it in the pool.
        Raises :class:`~clfrnn.errors.DeviceMemoryError`, naming `purpose`, when the device cannot hold it.
        """
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        room = shape if rows is None else (max(rows, shape[0]), *shape[1:])
        dtype = np.dtype(dtype)
        return self._array(self._take(math.prod(room) * dtype.itemsize, purpose), shape, dtype)

    def shorten(self, array: cla.Array, rows: int) -> None:
        """Leave the first `rows` of an array of the session's own that nobody else has seen; its memory stays."""
        if rows != array.shape[0]:
            _resize(vars(array), (rows, *array.shape[1:]), array.dtype)

    def _array(self, buffer: cl_tools.PooledBuffer, shape: tuple[int, ...], dtype: np.dtype[Any]) -> cla.Array:
        """A contiguous array in `buffer`."""
        known = self._arrays.get((shape[1:], dtype)) if shape else None
        if known is None:
            array = cla.Array(self.queue, shape, dtype, data=buffer)
            if not shape:
                return array  # one number is no row
            if len(self._arrays) == _KNOWN_ARRAYS:
                self._arrays.clear()
            own = ("base_data", "events")
            self._arrays[shape[1:], dtype] = {name: value for name, value in vars(array).items() if name not in own}
            return array
        # What pyopencl finds out about rows is found out once: that takes longer than a launch.
        array = cla.Array.__new__(cla.Array)
        found = vars(array)
        found.update(known)
        _resize(found, shape, dtype)
        found["base_data"], found["events"] = buffer, []
        return array

    def available(self) -> tuple[int, int]:
        """The largest allocation that the device allows, and about how many bytes it has left."""
        return self.profile.max_allocation, max(0, self.profile.global_memory - self._pool.active_bytes)

    @property
    def pooled_bytes(self) -> int:
        """Bytes of the device that the session's pool holds, in use or kept for reuse."""
        return int(self._pool.managed_bytes)

    def scratch(self, size: int, dtype: np.dtype[Any], *, purpose: str) -> Scratch:
        """A one-dimensional array for the library's own kernels, as :meth:`allocate` but without a public face."""
        return Scratch(self._take(size * dtype.itemsize, purpose), size, dtype)

    def take_cleared(self, size: int) -> Scratch | None:
        """`size` integers at zero, where :meth:`keep_cleared` has kept so many."""
        return self._cleared.pop(size, None)

    def keep_cleared(self, counters: Scratch) -> None:
        """Keep counters that a kernel is leaving at zero for the next that counts as many things."""
        while len(self._cleared) >= _MOST_CLEARED:
            del self._cleared[next(iter(self._cleared))]
        self._cleared[counters.size] = counters

    def _take(self, size: int, purpose: str) -> cl_tools.PooledBuffer:
        """A buffer of at least one element, as drivers refuse empty ones."""
        size, profile, pool = max(16, size), self.profile, self._pool
        if size > profile.max_allocation:
            self._refuse(size, purpose)
        if size > profile.global_memory - pool.active_bytes:
            self.let_go()
            if size > profile.global_memory - pool.active_bytes:
                self._refuse(size, purpose)
        try:
            return pool.allocate(size)
        except (cl.MemoryError, MemoryError):
            if not self.let_go():
                self._refuse(size, purpose)
        except cl.RuntimeError as error:
            if error.code != cl.status_code.OUT_OF_RESOURCES:
                raise
            if not self.let_go():
                self._refuse(size, purpose)
        return self._take(size, purpose)

    def let_go(self) -> bool:
        """Let all who keep memory for later give it back to the pool; whether anybody did."""
        return sum(keeper.let_go() for keeper in self.keepers) > 0

    def _refuse(self, size: int, purpose: str) -> NoReturn:
        self.let_go()  # what is left then is what others may have
        largest, available = self.available()
        raise DeviceMemoryError(
            f"{purpose} needs {size:,} bytes in one allocation; {self.profile} allows {largest:,} bytes in one "
            f"and has about {available:,} left. Nothing was truncated. {_advice(purpose)}",
            needed=size,
            available=available,
            largest_allocation=largest,
        )
