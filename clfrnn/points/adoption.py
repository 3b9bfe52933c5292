"""Adoption: arrays of other libraries, by DLPack, as arrays on the session's device or in numpy's form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

from ..device_array import DeviceArray
from ..errors import InvalidInputError
from ..host.dlpack import CUDA, HOST, ForeignMemory, device_of, foreign_memory, to_numpy
from ..runtime.cuda import CudaError, find_cuda
from ..runtime.session import Session

__all__ = ["adopt"]

#: What is no array of another library, or an array that needs no adoption.
_OWN = (np.ndarray, np.generic, cla.Array, list, tuple, int, float)

#: Bytes that are copied through pinned memory at a time.
_PIECE = 1 << 24


def adopt(session: Session, value: Any, name: str) -> Any:
    """An array of another library as searches take arrays; all other values as they are.

    An array that the host reads stays where it is. One on a GPU that CUDA addresses is copied to an array of the
    session: on the GPU where the session is on the same one and its driver imports memory, else through pinned memory
    of the host. `name` is what errors call it.
    """
    if isinstance(value, _OWN) or not hasattr(value, "__dlpack__") or (place := device_of(value)) is None:
        return value
    if place[0] in HOST and hasattr(value, "__array__"):
        return value
    try:
        if place[0] in CUDA and (memory := _memory_of(value)) is not None:
            found = _copied(session, memory)
            if found is not None:
                return found
        return to_numpy(value)
    except (TypeError, BufferError, RuntimeError) as error:
        raise InvalidInputError(
            f"expected an array that DLPack exports, got {type(value).__name__}: {error}; detach it from gradients, or "
            "convert it to a plain array of the host",
            argument=name,
        ) from None


def _memory_of(value: Any) -> ForeignMemory | None:
    """The memory of an array, or of a copy without gaps; None where the library gives no address of it."""
    try:
        memory = foreign_memory(value)
        return foreign_memory(value.contiguous()) if memory is None and hasattr(value, "contiguous") else memory
    except (BufferError, RuntimeError, TypeError):
        return None


def _copied(session: Session, memory: ForeignMemory) -> DeviceArray[Any] | None:
    """A copy on the session's device; None where CUDA's driver cannot be called."""
    array = session.allocate(memory.shape, memory.dtype, purpose="a copy of an array")
    exchange, size = session.exchange, memory.nbytes
    if not size or (exchange is not None and exchange.bring(memory.pointer, memory.ordinal, array.base_data, size)):
        return array
    if (cuda := find_cuda()) is None:
        return None
    owner = _Owner()
    for first in range(0, size, _PIECE):
        piece = session.pinned(owner, _PIECE)[: size - first]
        try:
            cuda.copy_to_host(piece, memory.pointer + first, memory.ordinal)
        except CudaError:
            return None
        cl.enqueue_copy(session.queue, array.base_data, piece, dst_offset=first)
        owner = _Owner()  # whose part is the next one's
    return array


class _Owner:
    """Has a part of pinned memory for as long as it lives."""
