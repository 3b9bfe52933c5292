"""The driver of CUDA, as far as memory is shared with it: allocations that OpenCL imports, and copies on the GPU."""

from __future__ import annotations

import contextlib
import ctypes
import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

__all__ = ["Allocation", "Cuda", "CudaError", "find_cuda"]

#: The error of ``cuda.h`` for a lack of memory.
_OUT_OF_MEMORY = 2

#: Numbers of ``cuda.h``.
_PINNED, _FILE_DESCRIPTOR, _ON_DEVICE, _READ_WRITE, _MINIMUM, _LEGACY_STREAM = 1, 1, 1, 3, 0, 1


class CudaError(RuntimeError):
    """A call of the driver failed; the message has its name and the number of the error."""

    def __init__(self, call: str, status: int) -> None:
        super().__init__(f"{call} failed with error {status}")
        self.is_of_memory = status == _OUT_OF_MEMORY


class _Location(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int), ("id", ctypes.c_int))


class _Properties(ctypes.Structure):
    """``CUmemAllocationProp``."""

    _fields_ = (
        ("type", ctypes.c_int),
        ("handle_types", ctypes.c_int),
        ("location", _Location),
        ("win32", ctypes.c_void_p),
        ("flags", ctypes.c_ubyte * 8),
    )


class _Access(ctypes.Structure):
    """``CUmemAccessDesc``."""

    _fields_ = (("location", _Location), ("flags", ctypes.c_int))


class Allocation(NamedTuple):
    """Memory of a GPU at an address of CUDA, whose file descriptor another driver may import."""

    pointer: int
    size: int
    ordinal: int
    handle: int
    descriptor: int


class Cuda:
    """Calls of the driver in the primary context of a GPU, which other libraries use, too."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self._contexts: dict[int, ctypes.c_void_p] = {}

    def _call(self, name: str, *arguments: Any) -> None:
        if status := getattr(self._library, name)(*arguments):
            raise CudaError(name, status)

    def uuid(self, ordinal: int) -> bytes:
        """The identity of a GPU, by which drivers agree on it."""
        found = (ctypes.c_ubyte * 16)()
        self._call("cuDeviceGetUuid", found, self._device(ordinal))
        return bytes(found)

    def _device(self, ordinal: int) -> ctypes.c_int:
        device = ctypes.c_int()
        self._call("cuDeviceGet", ctypes.byref(device), ctypes.c_int(ordinal))
        return device

    @contextlib.contextmanager
    def _current(self, ordinal: int) -> Iterator[None]:
        """Make the primary context of a GPU the current one of this thread."""
        if ordinal not in self._contexts:
            context = ctypes.c_void_p()
            self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self._device(ordinal))
            self._contexts[ordinal] = context
        self._call("cuCtxPushCurrent_v2", self._contexts[ordinal])
        try:
            yield
        finally:
            self._call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))

    def allocate(self, ordinal: int, size: int) -> Allocation:
        """Allocate at least `size` bytes that can be imported; what was done is undone where a step fails."""
        location = _Location(_ON_DEVICE, ordinal)
        properties = _Properties(type=_PINNED, handle_types=_FILE_DESCRIPTOR, location=location)
        with self._current(ordinal), contextlib.ExitStack() as undo:
            unit = ctypes.c_size_t()
            self._call("cuMemGetAllocationGranularity", ctypes.byref(unit), ctypes.byref(properties), _MINIMUM)
            whole = ctypes.c_size_t(-(-max(1, size) // unit.value) * unit.value)
            handle = ctypes.c_uint64()
            none = ctypes.c_uint64(0)
            self._call("cuMemCreate", ctypes.byref(handle), whole, ctypes.byref(properties), none)
            undo.callback(self._call, "cuMemRelease", handle)
            pointer = ctypes.c_uint64()
            self._call("cuMemAddressReserve", ctypes.byref(pointer), whole, ctypes.c_size_t(0), none, none)
            undo.callback(self._call, "cuMemAddressFree", pointer, whole)
            self._call("cuMemMap", pointer, whole, ctypes.c_size_t(0), handle, none)
            undo.callback(self._call, "cuMemUnmap", pointer, whole)
            access = _Access(location, _READ_WRITE)
            self._call("cuMemSetAccess", pointer, whole, ctypes.byref(access), ctypes.c_size_t(1))
            descriptor = ctypes.c_int(-1)
            self._call("cuMemExportToShareableHandle", ctypes.byref(descriptor), handle, _FILE_DESCRIPTOR, none)
            undo.pop_all()
        return Allocation(pointer.value, whole.value, ordinal, handle.value, descriptor.value)

    def free(self, allocation: Allocation) -> None:
        """Free an allocation, after OpenCL has released what it imported of it; all steps are tried."""
        pointer, size = ctypes.c_uint64(allocation.pointer), ctypes.c_size_t(allocation.size)
        with self._current(allocation.ordinal), contextlib.ExitStack() as steps:
            steps.callback(self._call, "cuMemRelease", ctypes.c_uint64(allocation.handle))
            steps.callback(self._call, "cuMemAddressFree", pointer, size)
            steps.callback(self._call, "cuMemUnmap", pointer, size)

    def synchronize(self, ordinal: int) -> None:
        """Wait for all work on a GPU."""
        with self._current(ordinal):
            self._call("cuCtxSynchronize")

    def copy(self, target: int, source: int, size: int, ordinal: int) -> None:
        """Copy bytes between addresses of a GPU, after the default stream's earlier work, and wait for it."""
        with self._current(ordinal):
            stream = ctypes.c_void_p(_LEGACY_STREAM)
            pointers = ctypes.c_uint64(target), ctypes.c_uint64(source)
            self._call("cuMemcpyDtoDAsync_v2", *pointers, ctypes.c_size_t(size), stream)
            self._call("cuStreamSynchronize", stream)

    def copy_to_host(self, target: Any, source: int, ordinal: int) -> None:
        """Copy as many bytes as a host array has from an address of a GPU, and wait for it."""
        with self._current(ordinal):
            stream = ctypes.c_void_p(_LEGACY_STREAM)
            address = ctypes.c_void_p(target.ctypes.data)
            self._call("cuMemcpyDtoHAsync_v2", address, ctypes.c_uint64(source), ctypes.c_size_t(target.nbytes), stream)
            self._call("cuStreamSynchronize", stream)


@functools.cache
def find_cuda() -> Cuda | None:
    """The driver, where this machine has one and it starts."""
    try:
        library = ctypes.CDLL("libcuda.so.1")
        return Cuda(library) if not library.cuInit(0) else None
    except (OSError, AttributeError):
        return None
