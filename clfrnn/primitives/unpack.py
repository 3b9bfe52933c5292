"""Unpack: int32 numbers from bytes, and two arrays from one of pairs."""

from __future__ import annotations

import pyopencl as cl
import pyopencl.array as cla

from ..planning.primitives import plan_part, plan_widen
from ..runtime.scratch import Scratch
from ..runtime.session import Session
from .scan import Counts

__all__ = ["unpack_bytes", "unpack_pairs"]


def unpack_bytes(session: Session, packed: Scratch, numbers: Counts, *, unless_zero: Scratch) -> cl.Event | None:
    """Enqueue int32 `numbers`, (n,), from `packed`, (n,) uint8, unless the int32 `unless_zero` is 0.

    Where a byte is 255 a number stays as it is. Both begin where their buffers do. One launch; nothing is waited for.
    """
    kernels, config = session.planned("primitives/unpack_bytes", plan_widen)
    n, size = numbers.size, config.work_group_size
    items = size * -(-n // (4 * config.items * size))
    given = packed.base_data, numbers.base_data
    return session.launch(kernels["unpack_bytes"], items, size, n, *unless_zero.arguments, *given)


def unpack_pairs(
    session: Session, packed: Scratch, numbers: cla.Array, reals: cla.Array, *, unless_zero: Scratch
) -> cl.Event | None:
    """Enqueue int32 `numbers`, (n,), and `reals`, (n,), from `packed`, (2 n,), unless the int32 `unless_zero` is 0.

    A pair is two integers as wide as a real, the second of which has its bits. All begin where their buffers do. One
    launch; nothing is waited for.
    """
    kernels, config = session.planned(
        "primitives/unpack_pairs", plan_part, word="int" if reals.dtype.itemsize == 4 else "long"
    )
    n, size = numbers.size, config.work_group_size
    items = size * -(-n // (config.items * size))
    given = packed.base_data, numbers.base_data, reals.base_data
    return session.launch(kernels["unpack_pairs"], items, size, n, *unless_zero.arguments, *given)
