"""Gather: copies rows into the layout or order that kernels read."""

from __future__ import annotations

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

from ..arrays import REAL_OF
from ..runtime.scratch import Scratch
from ..runtime.session import Session
from .config import plan_gather, plan_permute_rows

__all__ = ["pack", "take_numbers", "take_rows"]


def pack(session: Session, source: cla.Array) -> cla.Array:
    """A contiguous copy of the two-dimensional float array `source` with any strides."""
    n, dim = source.shape
    packed = session.allocate((n, dim), source.dtype, purpose="a packed copy of the points")
    size = source.dtype.itemsize
    kernels, config = session.planned("primitives/gather", plan_gather, dim=dim, real=REAL_OF[source.dtype])
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


def take_rows(session: Session, source: cla.Array, order: cla.Array) -> cla.Array:
    """``source[order]`` along the first axis, for rows of any dtype. One launch; nothing is waited for."""
    taken = session.allocate(source.shape, source.dtype, purpose="the rows in another order")
    event = _take(session, source, order, taken, source.nbytes // max(1, source.shape[0]))
    session.publish(event, taken)
    return taken


def take_numbers(session: Session, source: Scratch, order: Scratch) -> Scratch:
    """``source[order]``, for numbers of four or eight bytes. One launch."""
    taken = session.scratch(source.size, source.dtype, purpose="numbers in another order")
    _take(session, source, order, taken, source.dtype.itemsize)
    return taken


def _take(
    session: Session, source: cla.Array | Scratch, order: cla.Array | Scratch, taken: cla.Array | Scratch, row: int
) -> cl.Event | None:
    """Enqueue the copy of rows of `row` bytes in another order."""
    n = order.size
    word = next(size for size in (4, 2, 1) if row % size == 0)
    kernels, config = session.planned(
        "primitives/permute_rows", plan_permute_rows, word={4: "uint", 2: "ushort", 1: "uchar"}[word]
    )
    return session.launch(
        kernels["take_rows"],
        n,
        config.work_group_size,
        np.int32(n),
        np.int32(row // word),
        source.base_data,
        order.base_data,
        taken.base_data,
    )
