"""Counting neighbors: one visit."""

from __future__ import annotations

from .common import CLOUDS, METHODS, NUMBERS, PLATFORMS, Search, Uniform


class Count(Search):
    """``index.count()`` of an index that stands."""

    params = (list(PLATFORMS), METHODS, CLOUDS, NUMBERS, [3, 50])

    def track_count(self, *_: object) -> float:
        """Device time."""
        return self.case.seconds(self.case.index.count)

    track_count.unit = "seconds"  # type: ignore[attr-defined]


class Wall(Uniform):
    """The same as a caller sees it."""

    def time_count(self, *_: object) -> None:
        """Wall time."""
        self.case.index.count()
        self.case.finish()
