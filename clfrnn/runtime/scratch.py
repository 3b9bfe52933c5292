"""Scratch: device arrays of the library's own, what they are made of, and numbers of them on their way to the host."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.tools as cl_tools

__all__ = ["INT", "LONG", "Scratch", "Sent"]

INT = np.dtype(np.int32)
LONG = np.dtype(np.int64)


@dataclasses.dataclass(slots=True, eq=False)
class Scratch:
    """A one-dimensional device array of the library's own, without the cost of a public one.

    Nobody changes one; not frozen, as frozen ones take longer to make, and each step makes a few.
    """

    base_data: cl_tools.PooledBuffer
    size: int
    dtype: np.dtype[Any]
    offset: int = 0

    @property
    def arguments(self) -> tuple[cl_tools.PooledBuffer, int]:
        """As kernels take the first of its numbers: the buffer, and how many stand there before."""
        return self.base_data, self.offset // self.dtype.itemsize


class Sent:
    """Numbers on their way to the host, or about to be: behind the next launch, or when somebody waits for them."""

    def __init__(self, event: cl.Event | None, enqueue: Callable[[], cl.Event] | None = None) -> None:
        self._event, self._enqueue = event, enqueue

    def start(self) -> cl.Event:
        """Enqueue the copy, unless that was done."""
        if self._event is None:
            assert self._enqueue is not None
            self._event = self._enqueue()
        return self._event

    def wait(self) -> None:
        """Until they have come."""
        self.start().wait()
