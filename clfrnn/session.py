"""Session: a queue, what its device offers, the programs compiled for it, and the pool its buffers come from."""

from __future__ import annotations

import itertools
import math
import os
import weakref
from collections.abc import Callable, Hashable, Sequence
from typing import Any, ClassVar, NoReturn, Protocol, TypeVar

import numpy as np
import pyopencl as cl
import pyopencl.array as cla
import pyopencl.tools as cl_tools

from .configs import KernelConfig, VisitVariant
from .device import find_device, read_profile
from .errors import ClfrnnError, DeviceMemoryError, InvalidInputError
from .functions import NeighborFunction
from .launcher import Launcher
from .pinned import PinnedNumbers
from .program import Kernel, ProgramCache
from .rendering import render
from .scratch import Scratch, Sent

__all__ = ["Session"]

Config = TypeVar("Config", bound=KernelConfig)
Found = TypeVar("Found")

#: Counters at zero are kept for so many numbers of them.
_MOST_CLEARED = 4

#: From so many items on kernels take longer than what a copy on a queue of its own costs the host. Between two of them,
#: on theirs, it has a GPU stand still for some eight microseconds (measured).
_MANY_ITEMS = 1 << 18

#: Shapes of rows that are remembered.
_KNOWN_ARRAYS = 64

#: What was found out once is remembered of so many questions.
_MOST_ANSWERS = 256

#: Sessions are numbered as they are made.
_NUMBERS = itertools.count()


def _advice(purpose: str) -> str:
    """What to do when there is no room for `purpose`."""
    if "pairs" in purpose:
        return (
            "Take a smaller radius, only count (index.count()), or take it in parts: index.query_blocks(max_bytes=...)."
        )
    return "Drop arrays and lists that are no longer needed, search part of the points, or choose a larger device."


class Keeper(Protocol):
    """Who keeps memory of the device that is of use, but no need."""

    def let_go(self) -> bool:
        """Give it back; whether there was any."""


class Session(Launcher):
    """One device at work. Everything below :mod:`clfrnn.api` is handed its session explicitly.

    Parameters
    ----------
    device : None, int, str, pyopencl.Device or in-order pyopencl.CommandQueue
        None takes ``CLFRNN_DEVICE``, else ``PYOPENCL_CTX``, else the first GPU, else the first CPU, one whose
        driver ends long loops coming last; an int counts in :func:`clfrnn.devices`; a str is a part of a device's or
        platform's name. The session makes a queue of its own for it, without profiling, which some drivers take 5 µs
        a launch for. Who wants event times passes a queue with it; see :meth:`recorded`.

    Raises
    ------
    NoDeviceError
        No device fits.
    InvalidInputError
        `device` is an out-of-order queue, or none of these.

    A session serves one thread at a time and does not survive a fork.

    Examples
    --------
    >>> import clfrnn
    >>> session = clfrnn.Session()
    >>> session.profile.compute_units > 0
    True
    """

    #: every session that is in use, so that a device array leads back to the session it was made with
    living: ClassVar[weakref.WeakSet[Session]] = weakref.WeakSet()

    def __init__(self, device: object = None) -> None:
        if isinstance(device, cl.CommandQueue):
            if device.properties & cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE:
                raise InvalidInputError(
                    "device: expected an in-order pyopencl.CommandQueue, got an out-of-order one; "
                    "create it without OUT_OF_ORDER_EXEC_MODE_ENABLE"
                )
            queue = device
            self.device = device.device
            self.context = device.context
        else:
            self.device = find_device(device)
            self.context = cl.Context([self.device])
            queue = cl.CommandQueue(self.context, self.device)
        super().__init__(queue, read_profile(self.device))
        self.programs = ProgramCache(self.context, self.device, self.profile)
        self._pool = cl_tools.MemoryPool(cl_tools.ImmediateAllocator(self.queue))
        self._pinned = PinnedNumbers(self.queue)
        #: for copies beside kernels, when there is need
        self._copies: cl.CommandQueue | None = None
        self._cleared: dict[int, Scratch] = {}
        #: what an array of rows of a shape and dtype consists of, save their number, its buffer and events
        self._arrays: dict[tuple[tuple[int, ...], np.dtype[Any]], dict[str, Any]] = {}
        self._fitted: dict[Hashable, tuple[dict[str, Kernel], Any]] = {}
        self._answers: dict[Hashable, Any] = {}
        #: who keeps memory that others come first to
        self.keepers: weakref.WeakSet[Keeper] = weakref.WeakSet()
        self._process = os.getpid()
        self.number = next(_NUMBERS)
        Session.living.add(self)

    def __repr__(self) -> str:
        return f"Session({self.profile})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Session holds an OpenCL queue and cannot be pickled; make one where it is needed")

    def check_process(self) -> None:
        """Raise in a forked child: drivers hang or crash there."""
        if os.getpid() != self._process:
            raise ClfrnnError(
                "this clfrnn session was made before a fork, and OpenCL drivers do not survive one; "
                "make a Session in the child, and start children by 'spawn' rather than 'fork'"
            )

    def kernels(
        self,
        stem: str,
        config: Config,
        function: NeighborFunction | None = None,
        variant: VisitVariant | None = None,
    ) -> tuple[dict[str, Kernel], Config]:
        """The compiled kernels of a template, and the config whose work-group size they were compiled for."""
        key = (stem, config, function, variant)
        fitted = self._fitted.get(key)
        if fitted is None:
            fitted = self._fitted[key] = self.programs.build_to_fit(
                config, lambda fitting: render(stem, fitting, function, variant)
            )
        return fitted

    def planned(self, stem: str, plan: Callable[..., Config], **facts: Any) -> tuple[dict[str, Kernel], Config]:
        """The compiled kernels of a primitive: ``plan(profile, **facts)`` is asked once for the same facts."""
        key = (stem, plan, *facts.values())
        fitted = self._fitted.get(key)
        if fitted is None:
            fitted = self._fitted[key] = self.kernels(stem, plan(self.profile, **facts))
        return fitted

    def once(self, find: Callable[..., Found], *facts: Hashable) -> Found:
        """``find(self, *facts)``, found out once for the same facts: steps that are alike launch the same again."""
        key = (find, *facts)
        answer: Found | None = self._answers.get(key)
        if answer is None:
            if len(self._answers) == _MOST_ANSWERS:
                self._answers.clear()
            answer = self._answers[key] = find(self, *facts)
        return answer

    def allocate(self, shape: int | Sequence[int], dtype: Any, *, purpose: str, rows: int | None = None) -> cla.Array:
        """An uninitialised array from the pool, to which its buffer returns when the array is dropped.

        With `rows` the memory has room for so many, so that the next array, of a few more, finds it in the pool.
        Raises :class:`~clfrnn.errors.DeviceMemoryError`, naming `purpose`, when the device cannot hold it.
        """
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        room = shape if rows is None else (max(rows, shape[0]), *shape[1:])
        dtype = np.dtype(dtype)
        return self._array(self._take(math.prod(room) * dtype.itemsize, purpose), shape, dtype)

    def first(self, array: cla.Array, rows: int) -> cla.Array:
        """The first `rows` of an array of the session's own, in the same memory."""
        if rows == array.shape[0]:
            return array
        part = self._array(array.base_data, (rows, *array.shape[1:]), array.dtype)
        part.events.extend(array.events)
        return part

    def _array(self, buffer: cl_tools.PooledBuffer, shape: tuple[int, ...], dtype: np.dtype[Any]) -> cla.Array:
        """A contiguous array in `buffer`."""
        known = self._arrays.get((shape[1:], dtype))
        if known is None or not shape:
            array = cla.Array(self.queue, shape, dtype, data=buffer)
            if len(self._arrays) == _KNOWN_ARRAYS:
                self._arrays.clear()
            own = ("base_data", "events")
            self._arrays[shape[1:], dtype] = {name: value for name, value in vars(array).items() if name not in own}
            return array
        # What pyopencl finds out about rows is found out once: that takes longer than a launch.
        array = cla.Array.__new__(cla.Array)
        found = vars(array)
        found.update(known)
        found["shape"], found["size"] = shape, math.prod(shape)
        found["nbytes"] = found["size"] * dtype.itemsize
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

    def publish(self, event: cl.Event | None, *arrays: cla.Array) -> None:
        """Let other queues wait for `event`, the last to fill `arrays`, and submit it, as they could not."""
        event = event or cl.enqueue_marker(self.queue)
        for array in arrays:
            # The last event of an in-order queue stands for all before it; pyopencl waits for old ones to make room.
            array.events[:] = (event,)
        self.queue.flush()

    def pinned(self, owner: object, dtype: np.dtype[Any], count: int = 2) -> np.ndarray[Any, Any]:
        """Numbers that copies from the device keep nobody waiting for, as long as `owner` lives."""
        try:
            return self._pinned.take(owner, dtype, count)
        except (cl.MemoryError, cl.RuntimeError):
            self._refuse(count * dtype.itemsize, "memory that the device copies numbers into")

    def upload(self, values: np.ndarray[Any, Any], *, purpose: str) -> cla.Array:
        """A device copy of a contiguous host array."""
        array = self.allocate(values.shape, values.dtype, purpose=purpose)
        if values.nbytes:
            cl.enqueue_copy(self.queue, array.base_data, values)
        return array

    def copy(self, source: cla.Array, target: cla.Array, first: int = 0) -> None:
        """Enqueue a copy of as many rows as `target` has, from the `first` on, of a contiguous array with the like."""
        if target.nbytes:
            place = source.offset + first * source.strides[0]
            cl.enqueue_copy(self.queue, target.base_data, source.base_data, byte_count=target.nbytes, src_offset=place)

    def read_together(self, arrays: Sequence[Scratch]) -> list[np.ndarray[Any, Any]]:
        """Several small device arrays, by one transfer that is waited for once: gathered on the device first."""
        if len(arrays) == 1:
            return [self.read(arrays[0])]
        sizes = [array.size * array.dtype.itemsize for array in arrays]
        places = [0, *itertools.accumulate(-(-size // 8) * 8 for size in sizes)]
        gathered = self.scratch(places[-1], np.dtype(np.uint8), purpose="numbers to be read")
        for array, size, place in zip(arrays, sizes, places, strict=False):
            cl.enqueue_copy(
                self.queue,
                gathered.base_data,
                array.base_data,
                byte_count=size,
                src_offset=array.offset,
                dst_offset=place,
            )
        values = self.read(gathered)
        return [
            values[place : place + size].view(array.dtype)
            for array, size, place in zip(arrays, sizes, places, strict=False)
        ]

    def send(self, array: Scratch, first: int, told: np.ndarray[Any, Any], *, items: int = 0) -> Sent:
        """Copy elements from `first` on into pinned memory: who waits for it finds them there.

        They are what kernels have written so far. Where these go through many `items`, those launched from here on may
        run beside the copy, and may not write there until it has come to pass; nor may the memory go back to the pool.
        """
        offset, after = array.offset + first * array.dtype.itemsize, self._latest
        if items < _MANY_ITEMS or self.profile.kind != "gpu" or after is None:
            event = cl.enqueue_copy(self.queue, told, array.base_data, src_offset=offset, is_blocking=False)
            return Sent(lambda: event)
        sent = Sent(lambda: self._copy_beside(array, offset, told, after))
        self._behind.append(sent.start)
        return sent

    def _copy_beside(self, array: Scratch, offset: int, told: np.ndarray[Any, Any], after: cl.Event) -> cl.Event:
        """Enqueue a copy of what was there `after` a launch."""
        if self._copies is None:
            self._copies = cl.CommandQueue(self.context, self.device)
        self.queue.flush()  # what nobody has submitted would be waited for in vain
        event = cl.enqueue_copy(
            self._copies, told, array.base_data, src_offset=offset, is_blocking=False, wait_for=[after]
        )
        self._copies.flush()
        return event

    def read(self, array: cla.Array | Scratch, first: int = 0, count: int | None = None) -> np.ndarray[Any, Any]:
        """Elements of a one-dimensional device array, waited for."""
        count = array.size - first if count is None else count
        values = np.empty(count, array.dtype)
        if count:
            cl.enqueue_copy(self.queue, values, array.base_data, src_offset=array.offset + first * array.dtype.itemsize)
        return values
