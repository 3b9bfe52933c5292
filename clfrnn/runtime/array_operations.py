"""SessionOperations: what a session computes for the arrays on its device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyopencl as cl

from ..device_array import ArrayOperations, DeviceArray
from ..profile import DeviceProfile
from .array_config import plan_operation, plan_reduction, plan_rows
from .exchange import Exchange, Lent
from .program import Kernel
from .scratch import Scratch

__all__ = ["SessionOperations"]

#: The name in OpenCL C of each dtype whose numbers kernels compute with. Truth values are bytes.
_ELEMENT = {
    np.dtype(np.bool_): "uchar",
    np.dtype(np.int8): "char",
    np.dtype(np.int16): "short",
    np.dtype(np.int32): "int",
    np.dtype(np.int64): "long",
    np.dtype(np.uint8): "uchar",
    np.dtype(np.uint16): "ushort",
    np.dtype(np.uint32): "uint",
    np.dtype(np.uint64): "ulong",
    np.dtype(np.float32): "float",
    np.dtype(np.float64): "double",
}

_COMPARISONS = frozenset(["eq", "ne", "lt", "le", "gt", "ge"])

#: The kinds of dtypes for which a kernel gives what numpy gives.
_KINDS = {
    **dict.fromkeys(_COMPARISONS, "biuf"),
    **dict.fromkeys(["and_", "or_", "xor", "invert"], "biu"),
    **dict.fromkeys(["add", "sub", "mul", "neg"], "iuf"),
    "truediv": "f",
}

#: The dtypes of partial sums by the kind of what is added; floats are added in float64 where the device has it.
_SUMS = {"b": np.dtype(np.int64), "i": np.dtype(np.int64), "u": np.dtype(np.uint64), "f": np.dtype(np.float64)}


class _Session(Protocol):
    """What is used of a session, whose module imports this one."""

    queue: cl.CommandQueue
    context: cl.Context
    profile: DeviceProfile
    exchange: Exchange | None

    def scratch(self, size: int, dtype: np.dtype[Any], *, purpose: str) -> Scratch:
        """Memory of the pool."""

    def planned(self, stem: str, plan: Callable[..., Any], *names: str, **facts: Any) -> tuple[dict[str, Kernel], Any]:
        """The kernels of a template for a plan, and their config."""

    def launch(self, kernel: Kernel, items: int, work_group_size: int, *arguments: Any) -> cl.Event | None:
        """Enqueue a kernel."""

    def publish(self, event: cl.Event | None, *arrays: DeviceArray[Any]) -> None:
        """Make other queues wait for the event."""

    def read(self, array: Scratch) -> npt.NDArray[Any]:
        """The elements, waited for."""


class SessionOperations(ArrayOperations):
    """Operators and reductions in kernels of a session. Whoever calls them holds its lock."""

    def __init__(self, session: _Session) -> None:
        self._session = session

    def __call__(self, size: int) -> cl.Buffer:
        """Memory for what pyopencl computes. It is not of the pool, as pyopencl may compute on other queues."""
        return cl.Buffer(self._session.context, cl.mem_flags.READ_WRITE, size)

    def memory(self, queue: cl.CommandQueue, size: int, dtype: np.dtype[Any]) -> cl.Buffer | None:
        """Memory of the pool, into which other queues may not write while kernels of the session use it."""
        if queue != self._session.queue:
            return None
        return self._session.scratch(size, dtype, purpose="an array that is computed").base_data

    def serves(self, array: DeviceArray[Any]) -> bool:
        """Whether kernels can read an array as it is."""
        session = self._session
        return (
            array.size > 0
            and array.dtype in _ELEMENT
            and (array.dtype != np.float64 or session.profile.fp64)
            and array.queue == session.queue
            and bool(array.flags.forc)
            and not array.offset % array.dtype.itemsize
            and all(event.command_queue == session.queue for event in array.events)
        )

    def result_dtype(self, operation: str, dtype: np.dtype[Any]) -> np.dtype[Any] | None:
        """The dtype of an operation on elements of a dtype, or None where no kernel computes it."""
        if dtype.kind not in _KINDS.get(operation, "") or (operation == "truediv" and not self._session.profile.fp64):
            return None
        return np.dtype(np.bool_) if operation in _COMPARISONS else dtype

    def operate(self, operation: str, out: DeviceArray[Any], sides: Sequence[Any]) -> None:
        """Enqueue an operation on arrays of one layout and numbers, all of one dtype."""
        x, y = sides[0], sides[-1]
        dtype = next(side.dtype for side in sides if isinstance(side, DeviceArray))
        element = _ELEMENT[dtype]
        wide = element
        if operation == "truediv":
            wide = "double"
        elif dtype.kind in "iu" and operation not in _COMPARISONS:
            wide = "ulong"
        kernels, config = self._session.planned(
            "runtime/array_operation",
            plan_operation,
            operation=operation,
            element=element,
            wide=wide,
            out=_ELEMENT[out.dtype],
            x_array=isinstance(x, DeviceArray),
            y_array=len(sides) == 2 and isinstance(y, DeviceArray),
            truth=dtype.kind == "b",
        )
        given = [*_as_arguments(x), *(_as_arguments(y) if len(sides) == 2 else [dtype.type(0)]), *_as_arguments(out)]
        n, group = np.int64(out.size), config.work_group_size
        self._session.publish(self._session.launch(kernels["array_operation"], out.size, group, n, *given), out)

    def address_for_cuda(self, array: DeviceArray[Any], ordinal: int) -> int | None:
        """An address of CUDA with the elements of an array, until the next call; None where there is none."""
        exchange = self._session.exchange
        if exchange is None or not self.serves(array):
            return None
        return exchange.show(array.base_data, array.offset, array.nbytes, ordinal)

    def edges_for_cuda(
        self, offsets: DeviceArray[Any], indices: DeviceArray[Any], ordinal: int, *, points_first: bool
    ) -> Lent | None:
        """The pairs of a list as two rows of int64, in memory that CUDA addresses; None where there is none."""
        exchange, pairs = self._session.exchange, indices.size
        if exchange is None or not self.serves(offsets) or not self.serves(indices):
            return None
        lent = exchange.lend((2, pairs), np.dtype(np.int64), ordinal)
        if lent is None:
            return None
        kernels, config = self._session.planned("runtime/edges", plan_rows, offset=_ELEMENT[offsets.dtype])
        rows = np.int64(0), np.int64(pairs)
        points_at, queries_at = rows if points_first else rows[::-1]
        given = [np.int64(pairs), np.int32(offsets.size - 1), *_as_arguments(offsets), *_as_arguments(indices)]
        kernel, group = kernels["edges"], config.work_group_size
        try:
            with exchange.writing(lent):
                self._session.launch(kernel, pairs, group, *given, lent.buffer, points_at, queries_at)
        except cl.Error as error:
            exchange.note(error)
            return None
        return lent

    def pad(self, offsets: DeviceArray[Any], indices: DeviceArray[Any], fill: int, out: DeviceArray[Any]) -> None:
        """Enqueue the writing of the rows of a list to a table, (rows, columns), filled up with a number."""
        kernels, config = self._session.planned("runtime/padded", plan_rows, offset=_ELEMENT[offsets.dtype])
        given = [*_as_arguments(offsets), *_as_arguments(indices), *_as_arguments(out), np.int32(fill)]
        columns, group = np.int32(out.shape[1]), config.work_group_size
        event = self._session.launch(kernels["padded"], out.size, group, np.int64(out.size), columns, *given)
        self._session.publish(event, out)

    def reduce(self, reduction: str, array: DeviceArray[Any]) -> Any:
        """The sum, min, max, any or all of an array that kernels can read; waits for it."""
        total = array.dtype
        if reduction == "sum":
            total = _SUMS[total.kind] if total.kind != "f" or self._session.profile.fp64 else total
        elif reduction in ("any", "all"):
            total = np.dtype(np.bool_)
        kernels, config = self._session.planned(
            "runtime/array_reduction",
            plan_reduction,
            reduction=reduction,
            element=_ELEMENT[array.dtype],
            total=_ELEMENT[total],
        )
        group, n = config.work_group_size, array.size
        tiles, rest = divmod(n, group * config.items)
        partials = self._session.scratch(tiles * group + min(rest, group), total, purpose="parts of a reduction")
        items = (tiles + (rest > 0)) * group
        self._session.launch(
            kernels["array_reduction"], items, group, np.int64(n), *_as_arguments(array), partials.base_data
        )
        host = self._session.read(partials)
        if reduction != "sum" or array.dtype.kind != "f":
            return getattr(host, reduction)()
        return host.sum(dtype=np.float64).astype(array.dtype)


def _as_arguments(side: Any) -> list[Any]:
    """An array or a number as kernels take it."""
    if isinstance(side, DeviceArray):
        return [side.base_data, np.int64(side.offset // side.dtype.itemsize)]
    return [np.uint8(side) if side.dtype.kind == "b" else side]
