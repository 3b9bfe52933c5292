"""Scratch: one-dimensional device arrays of the library's own."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pyopencl.tools as cl_tools

__all__ = ["INT", "LONG", "Scratch"]

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
