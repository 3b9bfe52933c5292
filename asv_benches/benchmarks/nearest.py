"""The nearest neighbor of each point: one visit that narrows as it goes."""

from __future__ import annotations

from .common import Uniform


class Nearest(Uniform):
    """``index.nearest()`` of an index that stands."""

    def track_nearest(self, *_: object) -> float:
        """Device time."""
        return self.case.seconds(self.case.index.nearest)

    track_nearest.unit = "seconds"  # type: ignore[attr-defined]
