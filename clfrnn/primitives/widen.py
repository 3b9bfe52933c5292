"""Widen: numbers from the bytes that they were written as."""

from __future__ import annotations

import pyopencl as cl

from ..plan import plan_fill
from ..scratch import Scratch
from ..session import Session
from .scan import Counts

__all__ = ["widen"]


def widen(session: Session, small: Scratch, numbers: Counts) -> cl.Event | None:
    """Enqueue int32 `numbers`, (n,), from `small`, (n,) uint8; where that is 255 a number stays as it is.

    Both begin where their buffers do. One launch; nothing is waited for.
    """
    kernels, config = session.planned("widen", plan_fill)
    n, size = numbers.size, config.work_group_size
    return session.launch(kernels["widen"], -(-n // 4), size, n, small.base_data, numbers.base_data)
