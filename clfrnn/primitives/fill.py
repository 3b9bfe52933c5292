"""Fill: one value into every element."""

from __future__ import annotations

import numpy as np
import pyopencl.array as cla

from ..plan import KernelConfig, group_size
from ..session import Session

__all__ = ["fill"]


def fill(session: Session, array: cla.Array, value: int = 0) -> None:
    """Set every element of the int32 `array` to `value`."""
    kernels, config = session.kernels("fill", KernelConfig(work_group_size=group_size(session.profile, 128)))
    session.launch(
        kernels["fill"], array.size, config.work_group_size, np.int32(array.size), np.int32(value), array.base_data
    )
