"""Radii of the points' own, over three decades, in a cloud of as many: where a tree belongs."""

from __future__ import annotations

import functools

import numpy as np
import pyopencl.array as cla

import clfrnn
from clfrnn import clouds

from .common import NUMBERS, PLATFORMS, device_seconds, session


@functools.cache
def radii_case(device: str, method: str, n: int) -> tuple[clfrnn.Index, cla.Array]:
    """An index over the cloud, made once in a process, and the radius of each point.

    The largest radius finds as many points for any n.
    """
    largest = 1e-4 * (1_048_576 / n) ** (1 / 3)
    radii = (largest * 10 ** np.random.default_rng(0).uniform(-3, 0, n)).astype(np.float32)
    points = cla.to_device(session(device).queue, clouds.multiscale(n, 3, seed=1))
    index = clfrnn.build_index(points, float(radii.max()), method=method, session=session(device))
    on_device = cla.to_device(session(device).queue, radii)
    assert index.count(radius=on_device).get().any(), "a benchmark that finds nothing measures nothing"
    return index, on_device


class Radii:
    """``index.count(radius=radii)`` of an index that stands."""

    params = (list(PLATFORMS), ["strips", "aabb_tree"], NUMBERS)
    param_names = ("device", "method", "n")
    timeout = 120
    index: clfrnn.Index
    radii: cla.Array

    def setup(self, device: str, method: str, n: int) -> None:
        """Made once, then found again."""
        self.index, self.radii = radii_case(device, method, n)

    def track_count(self, *_: object) -> float:
        """Device time."""
        return device_seconds(self.index.session, lambda: self.index.count(radius=self.radii))

    track_count.unit = "seconds"  # type: ignore[attr-defined]
