"""Many systems at once, each in a periodic box of its own, beside one system with as many points and neighbors."""

from __future__ import annotations

import functools

import numpy as np

from .common import Case, Uniform, session, uniform_radius

#: Points of a system.
OF_SYSTEM = 64


@functools.cache
def batch_case(device: str, method: str, n: int, neighbors: float, systems: str) -> Case:
    """`n` even points with so many neighbors, in one box, or in boxes of 64 points each."""
    of_each = OF_SYSTEM if systems == "of 64 points" else n
    draw, many = np.random.default_rng(0), n // of_each
    points = draw.random((many * of_each, 3), dtype=np.float32)
    radius, box = uniform_radius(of_each, neighbors), np.ones((many, 3))
    batch = np.repeat(np.arange(many), of_each)
    given = {"box": box[0]} if many == 1 else {"box": box, "batch": batch}
    return Case(session(device), points, radius, method=method, **given)


class Batches(Uniform):
    """An update and a count or a list, 12 neighbors for each point."""

    params = (*Uniform.params[:3], [65_536, 262_144], [12], ["one", "of 64 points"])
    param_names = (*Uniform.param_names, "systems")

    def setup(self, device: str, method: str, cloud: str, n: int, neighbors: float, systems: str) -> None:  # type: ignore[override]  # noqa: ARG002
        """Made once, then found again."""
        self.case = batch_case(device, method, n, neighbors, systems)

    def _count(self) -> None:
        self.case.index.update(self.case.points)
        self.case.index.count()

    def _query(self) -> None:
        self.case.index.update(self.case.points)
        self.case.index.query()

    def track_count(self, *_: object) -> float:
        """Device time of an update and a count."""
        return self.case.seconds(self._count)

    def track_query(self, *_: object) -> float:
        """Device time of an update and a list."""
        return self.case.seconds(self._query)

    track_count.unit = "seconds"  # type: ignore[attr-defined]
    track_query.unit = "seconds"  # type: ignore[attr-defined]
