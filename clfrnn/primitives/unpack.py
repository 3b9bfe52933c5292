"""Widen: numbers from the bytes that they were written as."""

from __future__ import annotations

import pyopencl as cl

from ..planning.primitives import plan_widen
from ..runtime.scratch import Scratch
from ..runtime.session import Session
from .scan import Counts

__all__ = ["widen"]


def widen(session: Session, small: Scratch, numbers: Counts, *, asked: Scratch) -> cl.Event | None:
    """Enqueue int32 `numbers`, (n,), from `small`, (n,) uint8, unless the int32 that is `asked` is 0.

    Where a byte is 255 a number stays as it is. Both begin where their buffers do. One launch; nothing is waited for.
    """
    kernels, config = session.planned("primitives/unpack_bytes", plan_widen)
    n, size = numbers.size, config.work_group_size
    items = size * -(-n // (4 * config.items * size))
    return session.launch(kernels["widen"], items, size, n, *asked.arguments, small.base_data, numbers.base_data)
