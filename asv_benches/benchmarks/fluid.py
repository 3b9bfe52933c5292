"""Steps of a fluid whose particles have fallen for a while: two visits and an update each."""

from __future__ import annotations

import functools

from clfrnn.models import Fluid

from .common import PLATFORMS, device_seconds, session

__all__ = ["Step"]

#: Steps from the lattice of the start to where steps are timed.
FALLING = 20


@functools.cache
def water(device: str, method: str, n: int) -> Fluid:
    """A column of water in 3D that begins to break down, made once in a process."""
    model = Fluid(n, dim=3, session=session(device), method=method)
    model.step(FALLING)
    return model


class Step:
    """``Fluid.step`` of a small simulation, and of as many particles as the AABB paper's largest has."""

    params = (list(PLATFORMS), ["strips", "uniform_grid", "aabb_tree"], [2_000, 250_000])
    param_names = ("device", "method", "n")
    timeout = 180

    def setup(self, device: str, method: str, n: int) -> None:
        """Made once, then found again."""
        self.water = water(device, method, n)

    def track_step(self, *_: object) -> float:
        """Device time."""
        return device_seconds(self.water.session, self.water.step)

    track_step.unit = "seconds"  # type: ignore[attr-defined]
