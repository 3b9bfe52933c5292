"""The nearest neighbor of each point, and the k nearest: one visit that narrows as it goes."""

from __future__ import annotations

import clfrnn

from .common import NUMBERS, PLATFORMS, Case, Search, Uniform, case, wall_case


class Nearest(Uniform):
    """``index.nearest()`` of an index that stands."""

    def track_nearest(self, *_: object) -> float:
        """Device time."""
        return self.case.seconds(self.case.index.nearest)

    track_nearest.unit = "seconds"  # type: ignore[attr-defined]


class KNearest(Search):
    """``index.nearest(k=...)`` of an index whose balls hold twice k neighbors."""

    params = (list(PLATFORMS), ["strips", "aabb_tree"], ["uniform"], NUMBERS, [8, 16, 30, 64])
    param_names = ("device", "method", "cloud", "n", "k")

    def setup(self, device: str, method: str, cloud: str, n: int, k: int) -> None:
        """A case with a radius for k."""
        self.case = case(device, method, cloud, n, 2 * k)

    def track_k_nearest(self, _device: str, _method: str, _cloud: str, _n: int, k: int) -> float:
        """Device time."""
        return self.case.seconds(lambda: self.case.index.nearest(k=k))

    track_k_nearest.unit = "seconds"  # type: ignore[attr-defined]


class Unbounded(Search):
    """``clfrnn.nearest`` without a radius, of points on the device."""

    params = (list(PLATFORMS), ["auto"], ["uniform", "shell"], NUMBERS, [16])
    param_names = KNearest.param_names
    plain: Case

    def setup(self, device: str, method: str, cloud: str, n: int, k: int) -> None:
        """Points, and a session as users have it."""
        self.plain = wall_case(device, method, cloud, n, 2 * k)
        self.time_unbounded(device, method, cloud, n, k)

    def time_unbounded(self, _device: str, _method: str, _cloud: str, _n: int, k: int) -> None:
        """Wall time."""
        clfrnn.nearest(self.plain.points, k, session=self.plain.session)
        self.plain.finish()
