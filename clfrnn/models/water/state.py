"""What a step of a fluid reads of the last one and writes for the next one; there are two, which steps swap."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

import clfrnn

from .visits import PEAKS

__all__ = ["State"]


@dataclasses.dataclass(eq=False)
class State:
    """What a step reads of the last one, and writes for the next one, on the device."""

    positions: clfrnn.DeviceArray[np.floating[Any]]
    velocities: clfrnn.DeviceArray[np.floating[Any]]
    #: the length of the step, the time at its end, and what that lacks by rounding
    clock: clfrnn.DeviceArray[np.floating[Any]]
    #: bits of squared speeds, and of squared accelerations behind them, whose largest counts
    peaks: clfrnn.DeviceArray[np.uint32]

    @classmethod
    def of(cls, index: clfrnn.Index, shape: tuple[int, int]) -> State:
        """A state at time 0, at rest."""
        return cls(index.zeros(shape), index.zeros(shape), index.zeros(3), index.zeros(2 * PEAKS, np.uint32))
