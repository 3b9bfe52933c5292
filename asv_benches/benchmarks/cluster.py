"""Clusters of points on the device."""

from __future__ import annotations

from clfrnn.cluster import dbscan, friends_of_friends

from .common import Uniform, uniform_radius


class Cluster(Uniform):
    """Friends of friends a fifth of the mean spacing apart, and DBSCAN with the radius of the case."""

    def friends(self) -> object:
        """An index, and one visit."""
        case = self.case
        return friends_of_friends(case.points, uniform_radius(len(case.points), 0.0335), session=case.session)

    def density(self) -> object:
        """An index, and three visits."""
        return dbscan(self.case.points, self.case.radius, 5, session=self.case.session)

    def track_friends(self, *_: object) -> float:
        """Device time."""
        return self.case.seconds(self.friends)

    def track_dbscan(self, *_: object) -> float:
        """Device time."""
        return self.case.seconds(self.density)

    track_friends.unit = "seconds"  # type: ignore[attr-defined]
    track_dbscan.unit = "seconds"  # type: ignore[attr-defined]
