"""Halves of a step, each of which can be timed by itself: the visit of the index, and its update."""

from __future__ import annotations

import abc
from typing import Any

import numpy as np
import pyopencl as cl

import clfrnn

from .model import Model

__all__ = ["HalvedModel"]


class HalvedModel(Model):
    """A model whose steps are one visit, which computes where particles go, and one update, which takes them there."""

    #: (n, dim) device array: where a visit writes the next positions
    _moved: clfrnn.DeviceArray[np.floating[Any]]
    _visited = False

    def visit(self) -> cl.Event:
        """Compute where the particles go, the first half of a step; not waited for.

        Returns
        -------
        The event of the visit

        Notes
        -----
        Cost: one visit of the index. Called again before :meth:`update`, it computes the same.
        """
        with self.session.lock:
            event = self._visit()
            self._visited = True
        return event

    def update(self) -> None:
        """Move the particles to where :meth:`visit` has computed, the second half of a step; not waited for.

        Raises
        ------
        DeviceMemoryError
            There is no memory for the new cells; the particles are then where they were.

        Notes
        -----
        Cost: one update of the index. Without a visit since the last update, the index is updated with the current
        positions, which is no step: thus construction can be timed by itself, and positions that were written into
        the array of positions take effect.
        """
        with self.session.lock:
            if not self._visited:
                self.index.update(self.positions)
                return
            self._move()
            self.steps_done += 1

    def _advance(self) -> None:
        self.visit()
        self._move()

    def _move(self) -> None:
        """Move the particles to where a visit has computed."""
        self.index.update(self._moved)
        self._swap()
        self._visited = False

    @abc.abstractmethod
    def _visit(self) -> cl.Event:
        """Launch what computes the next state."""

    @abc.abstractmethod
    def _swap(self) -> None:
        """Make the next state, `_moved` among it, the current one."""
