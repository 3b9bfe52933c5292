"""Geometry of point clouds on the device, each with the construction of its index."""

from __future__ import annotations

import pyopencl.array as cla

from clfrnn.geometry import distance_field, normals, smooth

from .common import NUMBERS, PLATFORMS, Search, cloud


class Geometry(Search):
    """Normals and smoothing of a shell with 30 neighbors, and a field of about as many nodes as points around it."""

    params = (list(PLATFORMS), ["strips"], ["shell"], NUMBERS, [30])

    def setup(self, device: str, method: str, name: str, n: int, neighbors: float) -> None:
        """Normals on the device, which are those of a ball."""
        super().setup(device, method, name, n, neighbors)
        points, _ = cloud(name, n, neighbors)
        self.outside = cla.to_device(self.case.session.queue, points - points.mean(axis=0))

    def normals(self) -> object:
        """A visit."""
        return normals(self.case.points, self.case.radius, session=self.case.session)

    def smooth(self) -> object:
        """A visit, in which points move."""
        return smooth(self.case.points, self.case.radius, session=self.case.session)

    def field(self) -> object:
        """A visit of the nodes, with a radius of four spacings as in the AABB paper."""
        width = 1 / self.case.index.num_points ** (1 / 3)
        return distance_field(
            self.case.points, self.outside, spacing=width, radius=4 * width, session=self.case.session
        )

    def track_normals(self, *_: object) -> float:
        """Device time."""
        return self.case.seconds(self.normals)

    def track_smooth(self, *_: object) -> float:
        """Device time."""
        return self.case.seconds(self.smooth)

    def track_distance_field(self, *_: object) -> float:
        """Device time."""
        return self.case.seconds(self.field)

    track_normals.unit = "seconds"  # type: ignore[attr-defined]
    track_smooth.unit = "seconds"  # type: ignore[attr-defined]
    track_distance_field.unit = "seconds"  # type: ignore[attr-defined]
