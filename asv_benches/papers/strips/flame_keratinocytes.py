"""Keratinocytes whose forces are repeated until all cells rest, as FLAME GPU's example has it.

The rules of :class:`clfrnn.models.Keratinocytes` are those of the example but for some that its page names, and one of
these decides what a step costs: the model applies forces once in a step, and an iteration of the example is most often
such a round alone.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pyopencl as cl
from pyopencl.reduction import ReductionKernel

from clfrnn.models import Keratinocytes

__all__ = ["FlameKeratinocytes"]

#: Cells grow, differentiate and walk when none has moved by so much, in diameters, or after so many rounds of forces.
REST, ROUNDS = 0.25 / 20, 200


class FlameKeratinocytes(Keratinocytes):
    """Keratinocytes of which a step is an iteration of the example: a round of forces or, at rest, all of a step."""

    #: Whether forces are repeated. A tissue is grown without, as that takes a thirtieth of the rounds.
    repeats = False
    _rounds = ROUNDS

    def _advance(self) -> None:
        if self.repeats and self._rounds < ROUNDS:
            self._move(decides=False)
            self.index.update(self.positions)
            self._rounds += 1
            # _move leaves the positions of before in the place of the next ones.
            farthest = _farthest(self.session.context)(
                self._cells["positions"], self._cells["moved"], range=slice(0, self.n)
            )
            if farthest.get() < REST**2:
                self._rounds = ROUNDS
            return
        self.signals.update(self.positions)
        super()._advance()
        self._rounds = 0


@functools.cache
def _farthest(context: cl.Context) -> Any:
    """The square of the distance by which two sets of positions differ at the most."""
    return ReductionKernel(
        context,
        np.float32,
        neutral="0",
        reduce_expr="fmax(a, b)",
        map_expr="pown(x[3*i] - y[3*i], 2) + pown(x[3*i+1] - y[3*i+1], 2) + pown(x[3*i+2] - y[3*i+2], 2)",
        arguments="const __global float *x, const __global float *y",
    )
