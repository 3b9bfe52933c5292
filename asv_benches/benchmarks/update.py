"""Taking moved points in: coherent ones in the order of cells, as a loop that reorders has them, and random ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyopencl.array as cla

from .common import NUMBERS, PLATFORMS, Case, Search, case, cloud, session, wall_case


class Update:
    """``index.update`` with two sets of positions in turn, a tenth of a radius apart."""

    params = (list(PLATFORMS), ["strips", "fenns", "aabb_tree"], ["coherent", "random"], NUMBERS)
    param_names = ("device", "method", "order", "n")
    timeout = 120
    case: Case
    steps: list[Any]

    def setup(self, device: str, method: str, order: str, n: int) -> None:
        """Positions of two steps on the device."""
        self.case = case(device, method, "uniform", n, 50)
        start = self.case.index.reorder(self.case.points) if order == "coherent" else self.case.points
        moved = start.get() + np.random.default_rng(1).normal(0, 0.1 * self.case.radius, start.shape)
        self.steps = [start, cla.to_device(self.case.session.queue, np.clip(moved, 0, 1).astype(np.float32))]

    def step(self) -> None:
        """The next positions."""
        self.steps.reverse()
        self.case.index.update(self.steps[0])

    def track_update(self, *_: object) -> float:
        """Device time."""
        return self.case.seconds(self.step)

    track_update.unit = "seconds"  # type: ignore[attr-defined]


class Growth:
    """``index.update`` with a number of points that changes by up to a tenth in a step, and with another box."""

    params = (list(PLATFORMS), ["strips", "fenns", "aabb_tree"], ["open", "periodic"], NUMBERS)
    param_names = ("device", "method", "box", "n")
    timeout = 120
    case: Case
    steps: list[tuple[Any, dict[str, Any]]]

    def setup(self, device: str, method: str, box: str, n: int) -> None:
        """Parts of a cloud on the device, the largest first; in a box each comes with lengths of its own."""
        points, radius = cloud("uniform", n, 50)
        domain = {"box": (1.0,) * 3, "periodic": True} if box == "periodic" else {}
        self.case = Case(session(device), points, radius, method=method, **domain)
        self.steps = []
        for k in range(8):
            some = points[: n - k * n // 80]
            wider = {"box": (1.0 + 0.002 * k,) * 3} if domain else {}
            self.steps.append((cla.to_device(self.case.session.queue, some), wider))

    def step(self) -> None:
        """The next points."""
        self.steps.append(self.steps.pop(0))
        points, wider = self.steps[0]
        self.case.index.update(points, **wider)

    def track_update(self, *_: object) -> float:
        """Device time."""
        return self.case.seconds(self.step)

    track_update.unit = "seconds"  # type: ignore[attr-defined]

    def time_update(self, *_: object) -> None:
        """Wall time of an update and the wait for it."""
        self.step()
        self.case.finish()


class Step(Search):
    """A step of a small simulation, where the host's launches are what takes time."""

    params = (list(PLATFORMS), ["strips", "fenns"], ["uniform"], [65_536], [3])

    def setup(self, device: str, method: str, cloud: str, n: int, neighbors: float) -> None:
        """Made once, then found again."""
        self.case = wall_case(device, method, cloud, n, neighbors)

    def time_step(self, *_: object) -> None:
        """Wall time of an update, a count, and the wait for both."""
        self.case.index.update(self.case.points)
        self.case.index.count()
        self.case.finish()
