"""Lists of neighbors: two visits, a scan between them, and one wait."""

from __future__ import annotations

from .common import CLOUDS, NUMBERS, PLATFORMS, Search


class Lists(Search):
    """``index.query()`` of an index that stands."""

    params = (list(PLATFORMS), ["strips"], CLOUDS, NUMBERS, [3, 50])

    def track_query(self, *_: object) -> float:
        """Device time."""
        return self.case.seconds(self.case.index.query)

    track_query.unit = "seconds"  # type: ignore[attr-defined]

    def track_vectors(self, *_: object) -> float:
        """Device time, with distances and vectors."""
        return self.case.seconds(lambda: self.case.index.query(distances=True, vectors=True))

    track_vectors.unit = "seconds"  # type: ignore[attr-defined]

    def track_sorted(self, *_: object) -> float:
        """Device time, with distances and sorted by them."""
        return self.case.seconds(lambda: self.case.index.query(distances=True, sort="distance"))

    track_sorted.unit = "seconds"  # type: ignore[attr-defined]


class ListsInOrder(Search):
    """The same of points that come in order, as those of a simulation do that sorts them now and then."""

    params = (list(PLATFORMS), ["strips"], ["in order"], NUMBERS, [3, 50])

    def track_query(self, *_: object) -> float:
        """Device time."""
        return self.case.seconds(self.case.index.query)

    track_query.unit = "seconds"  # type: ignore[attr-defined]
