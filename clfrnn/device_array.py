"""DeviceArray: the arrays on a device that users get, which numpy can read."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import numpy.typing as npt
import pyopencl as cl
import pyopencl.array as cla

from .host.memory import check_host_memory
from .host.process import check_process
from .host.turns import queue_lock

__all__ = ["DeviceArray", "read_strided"]


#: What pyopencl computes where a number stands on the left, by the function of numpy that such an expression calls.
_REFLECTED = {
    np.add: "__radd__",
    np.subtract: "__rsub__",
    np.multiply: "__rmul__",
    np.true_divide: "__rtruediv__",
    np.power: "__rpow__",
}


class DeviceArray(cla.Array):  # type: ignore[misc]  # pyopencl is not read by mypy
    """A ``pyopencl.array.Array`` on the device that ``numpy.asarray`` reads in one transfer, as :meth:`get` does.

    Functions of numpy take it and compute on the host. Slices and copies are of the same class.
    """

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        """A copy in host memory, waited for."""
        if copy is False:
            raise ValueError(
                "copy: expected True or None, got False, and this array lies on a device, from where it must be "
                "copied; call numpy.asarray(array), or array.get()"
            )
        host = self.get()
        return host if dtype is None else host.astype(dtype, copy=False)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **named: Any) -> Any:
        """Compute on the host, but ``number * array`` and the like on the device, also for numbers of numpy's."""
        if method == "__call__" and isinstance(inputs[0], np.generic) and ufunc in _REFLECTED and not named:
            return getattr(inputs[1], _REFLECTED[ufunc])(inputs[0])
        if any(isinstance(each, DeviceArray) for each in named.get("out", ())):
            return NotImplemented
        given = [each.get() if isinstance(each, DeviceArray) else each for each in inputs]
        return getattr(ufunc, method)(*given, **named)

    def get(self, queue: cl.CommandQueue | None = None, ary: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        """A copy in host memory, waited for, in `ary` where that is given; slices with steps are copied too.

        Raises :class:`~clfrnn.errors.DeviceMemoryError` where the host has no memory for it.
        """
        check_process()
        check_host_memory(self.nbytes, "a copy in host memory")
        queue = queue or self.queue
        with contextlib.nullcontext() if queue is None else queue_lock(queue.int_ptr):
            if self.flags.forc:
                found: npt.NDArray[Any] = super().get(queue, ary)
                return found
            host = read_strided(queue, self)
        if ary is None:
            return host
        ary[...] = host
        return ary

    def any(self, *given: Any, **named: Any) -> Any:
        """As ``pyopencl.array.Array.any``; numpy's arguments give what ``numpy.any`` gives."""
        return np.any(self.get(), **named) if "axis" in named else super().any(*given, **named)

    def all(self, *given: Any, **named: Any) -> Any:
        """As ``pyopencl.array.Array.all``; numpy's arguments give what ``numpy.all`` gives."""
        return np.all(self.get(), **named) if "axis" in named else super().all(*given, **named)


def read_strided(queue: cl.CommandQueue, array: cla.Array) -> np.ndarray[Any, Any]:
    """A device array of any strides in host memory: the part of memory that it covers, in one transfer."""
    if not array.size:
        return np.empty(array.shape, array.dtype)
    steps = [(count - 1) * stride for count, stride in zip(array.shape, array.strides, strict=True)]
    last, first = sum(step for step in steps if step > 0), sum(step for step in steps if step < 0)
    stretch = np.empty(last - first + array.dtype.itemsize, np.uint8)
    start = array.offset + first
    cl.enqueue_copy(queue, stretch, array.base_data, src_offset=start, wait_for=list(array.events) or None)
    return np.ndarray(array.shape, array.dtype, stretch, -first, array.strides)
