"""External memory: buffers of OpenCL over memory that another driver has allocated on the same GPU."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import pyopencl as cl

__all__ = ["device_uuid", "hand_over", "import_memory", "take_over"]

#: Numbers of ``cl.h`` and ``cl_ext.h``.
_DESCRIPTOR, _DEVICE_UUID, _READ_WRITE = 0x2060, 0x106A, 1

#: Errors for a lack of memory: of a buffer, and of the host.
_OF_MEMORY = (-4, -6)


@functools.cache
def _loader() -> Any:
    """The functions of OpenCL that pyopencl is linked to, of which it wraps others."""
    from pyopencl import _cl  # noqa: PLC0415 — its file is all that is needed

    library = ctypes.CDLL(_cl.__file__)
    library.clCreateBufferWithProperties.restype = ctypes.c_void_p
    library.clGetExtensionFunctionAddressForPlatform.restype = ctypes.c_void_p
    return library


def device_uuid(device: cl.Device) -> bytes | None:
    """The identity of a device, by which drivers agree on it; None where the driver does not tell."""
    found = (ctypes.c_ubyte * 16)()
    size = ctypes.c_size_t(len(found))
    status = _loader().clGetDeviceInfo(
        ctypes.c_void_p(device.int_ptr), ctypes.c_uint32(_DEVICE_UUID), size, found, None
    )
    return None if status else bytes(found)


def import_memory(context: cl.Context, descriptor: int, size: int) -> cl.Buffer:
    """A buffer over `size` bytes of a file descriptor, which belongs to the driver from then on."""
    properties = (ctypes.c_uint64 * 3)(_DESCRIPTOR, descriptor, 0)
    status = ctypes.c_int32()
    flags, whole = ctypes.c_uint64(_READ_WRITE), ctypes.c_size_t(size)
    handle = _loader().clCreateBufferWithProperties(
        ctypes.c_void_p(context.int_ptr), properties, flags, whole, None, ctypes.byref(status)
    )
    if status.value in _OF_MEMORY:
        raise cl.MemoryError(f"clCreateBufferWithProperties failed with error {status.value}")
    if status.value or not handle:
        raise cl.RuntimeError(f"clCreateBufferWithProperties failed with error {status.value}")
    return cl.Buffer.from_int_ptr(handle, retain=False)


def take_over(queue: cl.CommandQueue, buffer: cl.Buffer) -> None:
    """Let the queue's later commands see what others have written to an imported buffer."""
    _enqueue("clEnqueueAcquireExternalMemObjectsKHR", queue, buffer)


def hand_over(queue: cl.CommandQueue, buffer: cl.Buffer) -> None:
    """Let others see what the queue's earlier commands have written to an imported buffer, once these have ended."""
    _enqueue("clEnqueueReleaseExternalMemObjectsKHR", queue, buffer)


def _enqueue(name: str, queue: cl.CommandQueue, buffer: cl.Buffer) -> None:
    objects = (ctypes.c_void_p * 1)(buffer.int_ptr)
    count, no_events = ctypes.c_uint32(1), ctypes.c_uint32(0)
    function = _extension(name, queue.device.platform.int_ptr)
    if status := function(ctypes.c_void_p(queue.int_ptr), count, objects, no_events, None, None):
        raise cl.RuntimeError(f"{name} failed with error {status}")


@functools.cache
def _extension(name: str, platform: int) -> Any:
    """A function of an extension."""
    address = _loader().clGetExtensionFunctionAddressForPlatform(ctypes.c_void_p(platform), name.encode())
    if not address:
        raise cl.RuntimeError(f"the driver has no {name}")
    arguments = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p
    return ctypes.CFUNCTYPE(ctypes.c_int32, *arguments)(address)
