"""Scratch: one-dimensional device arrays for use inside the library."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pyopencl.tools as cl_tools

__all__ = ["Scratch"]


@dataclasses.dataclass(slots=True, eq=False)
class Scratch:
    """A one-dimensional device array for use inside the library, which costs less time than a pyopencl array.

    It is never changed. It is not frozen, because frozen dataclasses take longer to make, and each step makes a few.
    """

    base_data: cl_tools.PooledBuffer
    size: int
    dtype: np.dtype[Any]
    offset: int = 0

    @property
    def arguments(self) -> tuple[cl_tools.PooledBuffer, int]:
        """The buffer and the position of the first number in it, as kernels take them."""
        return self.base_data, self.offset // self.dtype.itemsize
