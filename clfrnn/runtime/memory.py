"""Memory: arrays and buffers on the device, allocated from a pool."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import Any, ClassVar, NoReturn

import numpy as np
import pyopencl as cl
import pyopencl.array as cla
import pyopencl.tools as cl_tools

from ..device_array import ArrayOperations, DeviceArray
from ..errors import DeviceMemoryError
from ..host.memory import LOOKED_AT, give_free_memory_back, host_memory_left, is_limited
from ..profile import DeviceProfile
from .scratch import Scratch

__all__ = ["LEAST", "ForPairs", "Memory", "SpareSizes"]

#: Bytes of the smallest buffer: drivers refuse empty ones.
LEAST = 16

#: The size of a buffer with spare memory, in eighths of what is needed, and the size up to which one buffer serves all
#: smaller needs.
_EIGHTHS, _SMALL = 9, 1 << 20

#: Largest number of cleared counter arrays that are held.
_MOST_CLEARED = 4

_ADVICE = "Drop arrays and lists that are no longer needed, search part of the points, or choose a larger device."


@dataclasses.dataclass(frozen=True)
class ForPairs:
    """The purpose of an array that grows with the pairs of a list.

    Lists foresee how much memory it takes, see answers/lists/capacity.py, so it has none to spare.
    """

    name: str
    pairs: int

    #: what an error says to do
    advice: ClassVar[str] = (
        "Take a smaller radius, only count (index.count()), or take it in parts: index.query_blocks(max_bytes=...)."
    )

    def __str__(self) -> str:
        return f"the {self.name} of {self.pairs:,} pairs"


@functools.lru_cache(maxsize=64)
def _strides(row: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """The strides of contiguous rows of a shape; an axis without elements counts as one of one."""
    return tuple(itemsize * math.prod(max(1, length) for length in row[axis:]) for axis in range(len(row) + 1))


@dataclasses.dataclass
class _HostMemory:
    """What is known of the memory of the host, which sessions of the same queue share."""

    #: the bytes of the pool from which on it is looked at; infinite where the device has memory of its own
    enough: float
    #: whether the process has limits: each allocation is looked at then, as drivers of CPUs crash for the last bytes
    limited: bool = False


class SpareSizes:
    """The sizes of buffers of an index whose number of points or cells changes, by their purpose.

    A buffer is an eighth longer than is needed. What is needed for the same purpose later gets a buffer of the same
    size, which the pool has then. Sizes between two powers of four are one size, the largest so far, so that an index
    that has shrunk holds less than four times what it needs; up to 1 MiB one size serves all.
    """

    def __init__(self) -> None:
        self._largest: dict[tuple[str, int], int] = {}

    def fit(self, needed: int, purpose: str) -> int:
        """The size of a buffer of at least `needed` bytes."""
        kind = purpose, max(needed, _SMALL).bit_length() // 2
        size = self._largest.get(kind, 0)
        if needed > size:
            size = self._largest[kind] = needed * _EIGHTHS // 8
        return size


class Memory:
    """The memory of a queue's device, within the limits of its profile."""

    #: what is computed for arrays
    array_operations: ArrayOperations

    def __init__(self, queue: cl.CommandQueue, profile: DeviceProfile) -> None:
        self.queue, self.profile = queue, profile
        self._pool = cl_tools.MemoryPool(cl_tools.ImmediateAllocator(queue))
        self._cleared: dict[int, Scratch] = {}
        self._host_memory = _HostMemory(LOOKED_AT if profile.kind != "gpu" else math.inf)
        self._context = queue.context

    def scratch(self, size: int, dtype: np.dtype[Any], *, purpose: str | ForPairs) -> Scratch:
        """An uninitialised one-dimensional array from the pool, to which its buffer returns when the array is dropped.

        Raises :class:`~clfrnn.errors.DeviceMemoryError`, naming `purpose`, where the device has not enough memory.
        """
        needed, profile, pool, host = max(LEAST, size * dtype.itemsize), self.profile, self._pool, self._host_memory
        if needed > profile.max_allocation or needed > profile.global_memory - pool.active_bytes:
            self._refuse(needed, purpose)
        if host.limited or pool.managed_bytes + needed >= host.enough:
            self._look_at_host(needed, purpose)
        try:
            return Scratch(pool.allocate(needed), size, dtype)
        except (cl.MemoryError, MemoryError):
            self._refuse(needed, purpose)
        except (cl.RuntimeError, cl.LogicError) as error:
            if error.code not in (cl.status_code.OUT_OF_RESOURCES, cl.status_code.INVALID_BUFFER_SIZE):
                raise
            self._refuse(needed, purpose)

    def look_at_limits(self) -> None:
        """Find out whether the process has limits, which it may get at any time; each public call does so once."""
        if self._host_memory.enough < math.inf:
            self._host_memory.limited = is_limited()

    def _look_at_host(self, needed: int, purpose: str | ForPairs) -> None:
        """Raise where the host has no memory for `needed` bytes: a driver of a CPU then ends the process."""
        ahead = needed + LOOKED_AT  # with what may be allocated until the next look
        if ahead <= host_memory_left(ahead):
            self._host_memory.enough = self._pool.managed_bytes + ahead
            return
        self._host_memory.enough = -math.inf  # little is left: look at each allocation
        if needed <= host_memory_left(needed):
            return
        self.release_held()
        if needed > (left := host_memory_left(needed)):
            self._refuse(needed, purpose, left)

    def release_held(self) -> None:
        """Give the memory that the pool holds for later arrays back to the driver; waits for the device."""
        self.queue.finish()
        self._cleared.clear()
        self._pool.free_held()
        if self.profile.kind != "gpu":
            give_free_memory_back()
            self._host_memory.enough = min(self._host_memory.enough, self._pool.managed_bytes + LOOKED_AT)

    def allocate(
        self, shape: int | Sequence[int], dtype: Any, *, purpose: str | ForPairs, rows: int | None = None
    ) -> DeviceArray[Any]:
        """An uninitialised pyopencl array of any shape, as users get it.

        Its memory holds at least `rows` rows, so that the next array with a few rows more fits a buffer of the pool.
        """
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        dtype, size = np.dtype(dtype), math.prod(shape)
        held = size if rows is None else max(rows, shape[0]) * math.prod(shape[1:])
        buffer = self.scratch(held, dtype, purpose=purpose).base_data
        # The constructor of pyopencl that checks nothing: the checks take longer than a launch.
        return DeviceArray(
            None,
            shape,
            dtype,
            strides=_strides(shape[1:], dtype.itemsize) if shape else (),
            data=buffer,
            allocator=self.array_operations,
            _fast=True,
            _size=size,
            _context=self._context,
            _queue=self.queue,
        )

    def as_device_array(self, array: cla.Array) -> DeviceArray[Any]:
        """A contiguous array of the queue as users get it, over the same memory."""
        if isinstance(array, DeviceArray):
            return array
        return DeviceArray(
            self.queue,
            array.shape,
            array.dtype,
            data=array.base_data,
            offset=array.offset,
            events=array.events,
            allocator=self.array_operations,
        )

    def shorten(self, array: DeviceArray[Any], rows: int) -> None:
        """Shorten an array that no user has seen to its first `rows`; its memory stays."""
        size = rows * math.prod(array.shape[1:])
        array.__dict__.update(shape=(rows, *array.shape[1:]), size=size, nbytes=size * array.dtype.itemsize)

    def available(self) -> tuple[int, int]:
        """The largest allocation that the device allows, and about how many bytes are free."""
        return self.profile.max_allocation, max(0, self.profile.global_memory - self._pool.active_bytes)

    @property
    def pooled_bytes(self) -> int:
        """Bytes of device memory that the session's pool holds, in use or free."""
        return int(self._pool.managed_bytes)

    def take_cleared(self, size: int) -> Scratch | None:
        """Counters of that `size` at zero that were given to :meth:`keep_cleared`, or None."""
        return self._cleared.pop(size, None)

    def keep_cleared(self, counters: Scratch) -> None:
        """Hold counters that an enqueued kernel leaves at zero, for the next kernel that needs as many."""
        while len(self._cleared) >= _MOST_CLEARED:
            del self._cleared[next(iter(self._cleared))]
        self._cleared[counters.size] = counters

    def _refuse(self, size: int, purpose: str | ForPairs, left: float = math.inf) -> NoReturn:
        """Raise for an allocation; `left` is what the host has left."""
        largest, available = (max(0, int(min(most, left))) for most in self.available())
        has = f"{self.profile} allows {largest:,} bytes in one and has about {available:,} left"
        if left < math.inf:
            has = (
                f"{self.profile} uses the memory of this process, which may take about {available:,} more by its own "
                "limits (ulimit), those of its cgroup, or what the machine has free"
            )
        advice = purpose.advice if isinstance(purpose, ForPairs) else _ADVICE
        raise DeviceMemoryError(
            f"{purpose} needs {size:,} bytes in one allocation; {has}. Nothing was truncated. {advice}",
            needed=size,
            available=available,
            largest_allocation=largest,
        )
