"""Fill: writes one value to every element; cleared counters."""

from __future__ import annotations

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

from ..config import INT
from ..runtime.scratch import Scratch
from ..runtime.session import Selection, Session
from .config import plan_fill

__all__ = ["clear", "cleared", "fill", "fill_selection"]


def fill(session: Session, array: cla.Array | Scratch, value: int = 0) -> None:
    """Set every element of the int32 `array` to `value`."""
    kernels, config = session.planned("primitives/fill", plan_fill, "fill")
    session.launch(
        kernels["fill"],
        array.size,
        config.work_group_size,
        array.size,
        value,
        array.base_data,
    )


def fill_selection(session: Session) -> Selection:
    """The kernel that :func:`fill` launches, so that others can be compiled with it."""
    return Selection("primitives/fill", plan_fill(session.profile, session.tuning), ("fill",))


def cleared(session: Session, size: int, *, purpose: str) -> Scratch:
    """Return `size` int32 counters at zero, new ones or those of ``Session.keep_cleared``."""
    counters = session.take_cleared(size)
    if counters is None:
        counters = session.scratch(size, INT, purpose=purpose)
        fill(session, counters)
    return counters


def clear(session: Session, array: cla.Array) -> None:
    """Set every byte of an array that begins where its buffer does to zero."""
    words, rest = divmod(array.nbytes, INT.itemsize)
    fill(session, Scratch(array.base_data, words, INT))
    if rest:
        cl.enqueue_copy(session.queue, array.base_data, np.zeros(rest, np.uint8), dst_offset=words * INT.itemsize)
    session.publish(None, array)
