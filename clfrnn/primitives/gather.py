"""Gather: rows copied into the layout that kernels read."""

from __future__ import annotations

import numpy as np
import pyopencl.array as cla

from ..arrays import REAL_OF
from ..plan import plan_gather
from ..session import Session

__all__ = ["pack"]


def pack(session: Session, source: cla.Array) -> cla.Array:
    """A contiguous copy of the two-dimensional float array `source`, whatever its strides."""
    n, dim = source.shape
    packed = session.allocate((n, dim), source.dtype, purpose="a packed copy of the points")
    size = source.dtype.itemsize
    kernels, config = session.planned("gather", plan_gather, dim=dim, real=REAL_OF[source.dtype])
    session.launch(
        kernels["pack"],
        n,
        config.work_group_size,
        np.int32(n),
        source.base_data,
        np.int64(source.offset // size),
        np.int64(source.strides[0] // size),
        np.int64(source.strides[1] // size),
        packed.base_data,
    )
    return packed
