"""A user's function in the walk: a density as smoothed particle hydrodynamics sums it."""

from __future__ import annotations

import numpy as np
import pyopencl.array as cla

import clfrnn

from .common import Uniform

DENSITY = clfrnn.NeighborFunction(
    arguments="const real h2, global const real *mass, global real *density",
    state="real sum = 0;",
    per_neighbor="const real w = h2 - d2; sum += mass[j] * w * w * w;",
    finish="density[i] = sum;",
)


class Density(Uniform):
    """``index.visit`` with a mass for each point."""

    def setup(self, device: str, method: str, cloud: str, n: int, neighbors: float) -> None:
        """Masses and room for densities on the device."""
        super().setup(device, method, cloud, n, neighbors)
        self.mass = cla.to_device(self.case.session.queue, np.ones(n, np.float32))
        self.density = cla.empty_like(self.mass)

    def step(self) -> None:
        """One visit."""
        self.case.index.visit(DENSITY, h2=self.case.radius**2, mass=self.mass, density=self.density)

    def track_density(self, *_: object) -> float:
        """Device time."""
        return self.case.seconds(self.step)

    track_density.unit = "seconds"  # type: ignore[attr-defined]
