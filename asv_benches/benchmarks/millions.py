"""Millions of points on a GPU: answers that its caches do not hold, of points in no order and in order."""

from __future__ import annotations

from .common import Search


class Millions(Search):
    """Counts, nearest neighbors and lists of an index that stands."""

    params = (["nvidia", "amd"], ["strips"], ["uniform", "in order"], [1 << 23], [3])

    def track_count(self, *_: object) -> float:
        """Device time."""
        return self.case.seconds(self.case.index.count)

    def track_nearest(self, *_: object) -> float:
        """Device time."""
        return self.case.seconds(self.case.index.nearest)

    def track_query(self, *_: object) -> float:
        """Device time."""
        return self.case.seconds(self.case.index.query)

    for _track in (track_count, track_nearest, track_query):
        _track.unit = "seconds"  # type: ignore[attr-defined]
