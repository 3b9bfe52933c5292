"""DLPack: what arrays of other libraries say of their memory, and these arrays in numpy's form."""

from __future__ import annotations

import ctypes
import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["CUDA", "HOST", "ForeignMemory", "device_of", "foreign_memory", "to_numpy"]

#: Kinds of devices: memory that the host reads, pinned or not; and memory of a GPU that CUDA addresses.
HOST, CUDA = frozenset([1, 3]), frozenset([2, 13])

#: The stream that is to wait for what a library has pending on an array: the default one.
DEFAULT_STREAM = 1

#: The kinds of elements by their code; lanes of vectors and narrow floats have no dtype.
_KINDS = {0: "i", 1: "u", 2: "f", 6: "b"}


class ForeignMemory(NamedTuple):
    """The memory of an array on a GPU that CUDA addresses."""

    pointer: int
    #: the number of the GPU, as CUDA counts them in this process
    ordinal: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    #: holds the memory while it lives
    owner: object

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return math.prod(self.shape) * self.dtype.itemsize


class _Tensor(ctypes.Structure):
    """``DLTensor``, with which an unversioned ``DLManagedTensor`` begins."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


def device_of(value: Any) -> tuple[int, int] | None:
    """The kind and the number of the device of an array of another library; None for what has no DLPack."""
    try:
        kind, number = value.__dlpack_device__()
        return int(kind), int(number)
    except Exception:  # noqa: BLE001 — what a library raises is not known, and the value is refused elsewhere
        return None


def foreign_memory(value: Any) -> ForeignMemory | None:
    """The memory of an array that CUDA addresses, whose pending work the default stream waits for.

    None where the array has gaps, or elements without a dtype.
    """
    capsule = value.__dlpack__(stream=DEFAULT_STREAM)
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    tensor = ctypes.cast(pointer(capsule, b"dltensor"), ctypes.POINTER(_Tensor)).contents
    shape = tuple(tensor.shape[: tensor.ndim])
    if tensor.lanes != 1 or tensor.bits % 8 or (kind := _KINDS.get(tensor.code)) is None:
        return None
    if tensor.strides and tuple(tensor.strides[: tensor.ndim]) != _contiguous(shape) and math.prod(shape):
        return None
    dtype = np.dtype(f"{kind}{tensor.bits // 8}")
    return ForeignMemory((tensor.data or 0) + tensor.byte_offset, tensor.device_id, shape, dtype, capsule)


def _contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides, in elements, of an array without gaps."""
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


def to_numpy(value: Any) -> npt.NDArray[Any]:
    """An array of another library in numpy's form: without a copy where the host reads its memory.

    Raises TypeError, with what to do, where the library does not copy it to the host.
    """
    try:
        return np.from_dlpack(value)
    except Exception:  # noqa: BLE001 — each library has an error of its own for memory that the host does not read
        for copies in (
            lambda: np.from_dlpack(value, device="cpu"),
            lambda: np.asarray(value.cpu()),
            lambda: np.asarray(value.get()),
        ):
            try:
                return np.asarray(copies())
            except Exception:  # noqa: BLE001, S112
                continue
    raise TypeError(f"{type(value).__name__} on device {device_of(value)} is not copied to the host by its library")
