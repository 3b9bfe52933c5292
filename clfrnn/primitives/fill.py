"""Fill: one value into every element."""

from __future__ import annotations

import numpy as np
import pyopencl.array as cla

from ..plan import plan_fill
from ..session import Scratch, Session

__all__ = ["fill"]


def fill(session: Session, array: cla.Array | Scratch, value: int = 0) -> None:
    """Set every element of the int32 `array` to `value`."""
    kernels, config = session.planned("fill", plan_fill)
    session.launch(
        kernels["fill"],
        array.size,
        config.work_group_size,
        np.int32(array.size),
        np.int32(value),
        array.base_data,
    )
