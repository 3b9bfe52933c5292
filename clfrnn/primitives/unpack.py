"""Unpack: integers from bytes, and two arrays from an array of pairs."""

from __future__ import annotations

import pyopencl as cl
import pyopencl.array as cla

from ..runtime.scratch import Scratch
from ..runtime.session import Session
from .config import plan_unpack_bytes, plan_unpack_pairs
from .scan import Counts

__all__ = ["unpack_bytes", "unpack_pairs"]


def unpack_bytes(session: Session, packed: Scratch, numbers: Counts, *, unless_zero: Scratch) -> cl.Event | None:
    """Enqueue the copy of `packed`, (n,) uint8, to int32 `numbers`, (n,), unless the int32 `unless_zero` is 0.

    Where a byte is 255, the number stays as it is. Both arrays begin where their buffers do. One launch; nothing is
    waited for.
    """
    kernels, config = session.planned("primitives/unpack_bytes", plan_unpack_bytes)
    n, size = numbers.size, config.work_group_size
    items = size * -(-n // (4 * config.items * size))
    given = packed.base_data, numbers.base_data
    return session.launch(kernels["unpack_bytes"], items, size, n, *unless_zero.arguments, *given)


def unpack_pairs(
    session: Session, packed: Scratch, numbers: cla.Array, reals: cla.Array, *, unless_zero: Scratch
) -> cl.Event | None:
    """Enqueue the split of `packed`, (2 n,), into `numbers` and `reals`, (n,), unless the int32 `unless_zero` is 0.

    A pair is two integers as wide as a real; the second integer has the bits of the real. All arrays begin where their
    buffers do. One launch; nothing is waited for.
    """
    kernels, config = session.planned(
        "primitives/unpack_pairs", plan_unpack_pairs, word="int" if reals.dtype.itemsize == 4 else "long"
    )
    n, size = numbers.size, config.work_group_size
    items = size * -(-n // (config.items * size))
    given = packed.base_data, numbers.base_data, reals.base_data
    return session.launch(kernels["unpack_pairs"], items, size, n, *unless_zero.arguments, *given)
