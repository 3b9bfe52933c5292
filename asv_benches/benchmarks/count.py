"""Counting neighbors: one visit."""

from __future__ import annotations

from .common import CLOUDS, METHODS, NUMBERS, PLATFORMS, Search, Uniform, wall_case


class Count(Search):
    """``index.count()`` of an index that stands."""

    params = (list(PLATFORMS), METHODS, CLOUDS, NUMBERS, [3, 50])

    def track_count(self, *_: object) -> float:
        """Device time."""
        return self.case.seconds(self.case.index.count)

    track_count.unit = "seconds"  # type: ignore[attr-defined]


class Wall(Uniform):
    """The same as a caller sees it."""

    def setup(self, device: str, method: str, cloud: str, n: int, neighbors: float) -> None:
        """Made once, then found again."""
        self.case = wall_case(device, method, cloud, n, neighbors)

    def time_count(self, *_: object) -> None:
        """Wall time."""
        self.case.index.count()
        self.case.finish()
