"""Spheres on one device: where they are, where they go, and the index that finds which of them touch."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyopencl as cl

import clfrnn

__all__ = ["Particles"]


class Particles:
    """Some spheres on a device.

    Parameters
    ----------
    positions : (n, dim) host array
    radius : of each sphere
    ordered : whether the functions that visit sum in the order of numbers, and take the number of `spheres`
    session : where they are; the default session where None
    options : of :func:`clfrnn.build_index`

    Attributes
    ----------
    positions, velocities : (n, dim) device arrays, the current ones
    moved, changed : (n, dim) device arrays, positions and velocities after the next step
    index : the index over the current positions
    """

    def __init__(
        self,
        positions: npt.NDArray[Any],
        radius: float,
        *,
        ordered: bool,
        session: clfrnn.Session | None,
        options: dict[str, Any],
    ) -> None:
        self.index = clfrnn.build_index(positions, 2 * radius, session=session, **options)
        self.positions: clfrnn.DeviceArray[np.floating[Any]] = self.index.empty(positions.shape)
        self.moved: clfrnn.DeviceArray[np.floating[Any]] = self.index.empty(positions.shape)
        self.velocities: clfrnn.DeviceArray[np.floating[Any]] = self.index.zeros(positions.shape)
        self.changed: clfrnn.DeviceArray[np.floating[Any]] = self.index.zeros(positions.shape)
        self.positions.set(positions)
        self._counted: dict[str, Any] = {"spheres": self.index.num_points} if ordered else {}

    def visit(self, function: clfrnn.NeighborFunction, **numbers: Any) -> cl.Event:
        """Run a function of the current state that writes the next one, or something else; not waited for."""
        state: dict[str, Any] = {"positions": self.positions, "velocities": self.velocities}
        return self.index.visit(function, **state, **self._counted, **numbers)

    def energies(self, function: clfrnn.NeighborFunction, **numbers: Any) -> npt.NDArray[Any]:
        """The energy of each sphere, in host memory."""
        found = self.index.empty(self.index.num_points)
        self.visit(function, energies=found, **numbers)
        return found.get()

    def swap(self) -> None:
        """Make the next state the current one, and the current one the next, which is overwritten."""
        self.positions, self.moved = self.moved, self.positions
        self.velocities, self.changed = self.changed, self.velocities
