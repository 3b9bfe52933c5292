"""What a step of a fluid reads of the last one and writes for the next one; there are two, which steps swap."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyopencl.array as cla

import clfrnn

from .visits import PEAKS

__all__ = ["State"]


@dataclasses.dataclass(eq=False)
class State:
    """What a step reads of the last one, and writes for the next one, on the device."""

    positions: cla.Array
    velocities: cla.Array
    #: the length of the step, the time at its end, and what that lacks by rounding
    clock: cla.Array
    #: bits of squared speeds, and of squared accelerations behind them, whose largest counts
    peaks: cla.Array

    @classmethod
    def of(cls, index: clfrnn.Index, shape: tuple[int, int]) -> State:
        """A state at time 0, at rest."""
        return cls(index.zeros(shape), index.zeros(shape), index.zeros(3), index.zeros(2 * PEAKS, np.uint32))
