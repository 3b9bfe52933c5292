"""Exchange: copies between buffers of a session and arrays that CUDA addresses, on the GPU that both are on."""

from __future__ import annotations

import contextlib
import math
import os
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyopencl as cl

from . import external_memory
from .cuda import Allocation, Cuda, CudaError, find_cuda

__all__ = ["Exchange", "Lent"]

#: Bytes of the smallest memory that both sides see; a larger one is a quarter larger than is needed.
_LEAST = 1 << 22


class Lent:
    """An array of CUDA in memory of an exchange, for as long as it lives, as other libraries take it over."""

    def __init__(self, memory: _SharedMemory, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.buffer = memory.buffer
        self.__cuda_array_interface__ = {
            "shape": shape,
            "typestr": dtype.str,
            "data": (memory.pointer, False),
            "version": 3,
            "stream": None,
        }


class Exchange:
    """Memory that OpenCL and CUDA both see, through which arrays come and go on the GPU.

    Neither driver knows the other's buffers, so an array is copied once to that memory and once from there, both at the
    speed of the GPU's memory. It is allocated by CUDA, as only CUDA's can be imported, and grows as needed. Large
    results are written to memory of their own, which is lent until they are dropped. Each side is waited for before the
    other one goes on. Where a step fails, `problem` says so, and arrays go through the host from then on; where memory
    is what it lacks, this array alone does.

    Whoever calls it holds the lock of the session.
    """

    def __init__(self, queue: cl.CommandQueue, *, find: Callable[[], Cuda | None] = find_cuda) -> None:
        self._queue = queue
        self._find = find
        self._memory: _SharedMemory | None = None
        #: the last command that reads the memory
        self._reader: cl.Event | None = None
        #: the GPUs of CUDA, by number, and whether one is the device of the queue
        self._same: dict[int, bool] = {}
        #: memory of arrays that were lent and are dropped, which CUDA may still read
        self._returned: list[_SharedMemory] = []
        #: why arrays go through the host, or ""
        self.problem = ""

    def serves(self, ordinal: int) -> bool:
        """Whether arrays on that GPU of CUDA are copied without the host."""
        if not self.problem and ordinal not in self._same:
            cuda = self._find()
            if cuda is None:
                self.problem = "CUDA's driver is not here"
                return False
            try:
                self._same[ordinal] = cuda.uuid(ordinal) == external_memory.device_uuid(self._queue.device)
            except (CudaError, AttributeError) as error:
                self.problem = str(error)
        return not self.problem and self._same[ordinal]

    def describe(self) -> str:
        """How arrays that CUDA addresses come to the device and leave it, in words."""
        if self.problem:
            return f"through pinned memory of the host, as {self.problem}"
        return "copied on the device, through memory that both drivers see"

    def bring(self, pointer: int, ordinal: int, target: cl.Buffer, size: int) -> bool:
        """Copy bytes from an address of CUDA to the beginning of a buffer; return whether that was possible."""
        memory = self._take(ordinal, size)
        if memory is None:
            return False
        try:
            memory.cuda.copy(memory.pointer, pointer, size, ordinal)
            with self._taken_over(memory.buffer):
                self._reader = cl.enqueue_copy(self._queue, target, memory.buffer, byte_count=size)
        except (CudaError, cl.Error) as error:
            self.note(error)
            return False
        return True

    def show(self, source: cl.Buffer, offset: int, size: int, ordinal: int) -> int | None:
        """Copy bytes of a buffer to an address of CUDA, waited for; None where that is not possible.

        What is there may be read until the next call; the caller waits for its own reads.
        """
        memory = self._take(ordinal, size)
        if memory is None:
            return None
        try:
            with self._taken_over(memory.buffer):
                cl.enqueue_copy(self._queue, memory.buffer, source, byte_count=size, src_offset=offset)
            self._queue.finish()
        except cl.Error as error:
            self.note(error)
            return None
        return memory.pointer

    def note(self, error: CudaError | cl.Error | AttributeError) -> None:
        """Let arrays go through the host from now on, as a step failed; not so where memory was what it lacked.

        There may be memory later.
        """
        if not _is_of_memory(error):
            self.problem = str(error)

    def lend(self, shape: tuple[int, ...], dtype: np.dtype[Any], ordinal: int) -> Lent | None:
        """An array of CUDA that OpenCL may write; None where that is not possible, or there is no memory for it."""
        size = math.prod(shape) * dtype.itemsize
        if not size or not self.serves(ordinal):
            return None
        memory = self._reuse(ordinal, size)
        if memory is None:
            return None
        lent = Lent(memory, shape, dtype)
        weakref.finalize(lent, self._returned.append, memory).atexit = False
        return lent

    def _reuse(self, ordinal: int, size: int) -> _SharedMemory | None:
        """Memory that was returned, where it is at most twice as large as is needed; or new memory."""
        while self._returned:
            memory = self._returned.pop()
            if size <= memory.size <= max(_LEAST, 2 * size):
                try:
                    memory.cuda.synchronize(ordinal)
                except CudaError as error:
                    self.note(error)
                    return None
                return memory
            memory.free()
        return self._allocate(ordinal, max(_LEAST, size))

    def _allocate(self, ordinal: int, size: int) -> _SharedMemory | None:
        """New memory, beside none that is not in use; None where a driver refuses it."""
        self._free_returned()
        cuda = self._find()
        assert cuda is not None, "it serves the GPU"
        try:
            return _SharedMemory(self._queue, cuda, ordinal, size)
        except (CudaError, cl.Error, AttributeError) as error:
            self.note(error)
            return None

    @contextlib.contextmanager
    def writing(self, lent: Lent) -> Iterator[None]:
        """What the queue is given meanwhile writes an array that is lent; it is waited for at the end."""
        with self._taken_over(lent.buffer):
            yield
        self._queue.finish()

    @contextlib.contextmanager
    def _taken_over(self, buffer: cl.Buffer) -> Iterator[None]:
        """What the queue is given meanwhile uses a buffer; the other driver has it back then, whatever fails."""
        external_memory.take_over(self._queue, buffer)
        try:
            yield
        finally:
            external_memory.hand_over(self._queue, buffer)

    def _take(self, ordinal: int, size: int) -> _SharedMemory | None:
        """The memory, with at least `size` bytes, that no earlier command reads."""
        if not self.serves(ordinal):
            return None
        if self._reader is not None:
            self._reader.wait()
            self._reader = None
        if self._memory is None or self._memory.size < size:
            if self._memory is not None:
                self._memory.free()
            self._memory = self._allocate(ordinal, max(_LEAST, size * 5 // 4))
        return self._memory

    def trim(self) -> None:
        """Give the memory back, but for that of arrays in use."""
        self._free_returned()
        if self._memory is not None:
            self._memory.free()
            self._memory = None

    def _free_returned(self) -> None:
        while self._returned:
            self._returned.pop().free()


class _SharedMemory:
    """An allocation of CUDA and the buffer of OpenCL over it."""

    def __init__(self, queue: cl.CommandQueue, cuda: Cuda, ordinal: int, size: int) -> None:
        self.cuda = cuda
        allocation = cuda.allocate(ordinal, size)
        self.pointer, self.size = allocation.pointer, allocation.size
        try:
            self.buffer = external_memory.import_memory(queue.context, allocation.descriptor, allocation.size)
        except BaseException:
            os.close(allocation.descriptor)
            cuda.free(allocation)
            raise
        #: at the latest when the process ends, while both drivers are still there
        self.free: Any = weakref.finalize(self, _free, queue, self.buffer, cuda, allocation)


def _is_of_memory(error: Exception) -> bool:
    """Whether a driver had no memory for what it was asked for."""
    return isinstance(error, cl.MemoryError) or (isinstance(error, CudaError) and error.is_of_memory)


def _free(queue: cl.CommandQueue, buffer: cl.Buffer, cuda: Cuda, allocation: Allocation) -> None:
    """Free OpenCL's side first: its driver holds the memory as long as the buffer lives."""
    queue.finish()
    buffer.release()
    cuda.free(allocation)
