"""Counts and lists in a periodic box or cell, all axes of which are periodic and which the cloud fills."""

from __future__ import annotations

import functools

import numpy as np

from .common import Case, Uniform, cloud, session


@functools.cache
def periodic_case(device: str, method: str, name: str, n: int, neighbors: float, *, strayed: bool = False) -> Case:
    """As :func:`.common.case`, in the unit cube, or with the first point outside of it."""
    points, radius = cloud(name, n, neighbors)
    if strayed:
        points = points.copy()
        points[0, 0] += 1
    return Case(session(device), points, radius, method=method, box=(1.0, 1.0, 1.0), periodic=True)


#: A cell of the volume of the unit cube, whose angles are 60 to 80 degrees.
_CELL = ((1.0, 0.0, 0.0), (0.5, 1.0, 0.0), (0.25, 0.2, 1.0))


@functools.cache
def cell_case(device: str, method: str, name: str, n: int, neighbors: float) -> Case:
    """As :func:`periodic_case`, in a cell that is not rectangular: the cloud is sheared with it."""
    points, radius = cloud(name, n, neighbors)
    sheared = (points @ np.array(_CELL)).astype(points.dtype)
    return Case(session(device), sheared, radius, method=method, cell=_CELL)


class Periodic(Uniform):
    """``index.count()`` and ``index.query()``."""

    def setup(self, device: str, method: str, cloud: str, n: int, neighbors: float) -> None:
        """Made once, then found again."""
        self.case = periodic_case(device, method, cloud, n, neighbors)

    def track_count(self, *_: object) -> float:
        """Device time of counting."""
        return self.case.seconds(self.case.index.count)

    def track_query(self, *_: object) -> float:
        """Device time of lists."""
        return self.case.seconds(self.case.index.query)

    def track_cell_count(self, device: str, method: str, cloud: str, n: int, neighbors: float) -> float:
        """Device time of counting in a cell that is not rectangular, of the same volume."""
        case = cell_case(device, method, cloud, n, neighbors)
        return case.seconds(case.index.count)

    def track_cell_query(self, device: str, method: str, cloud: str, n: int, neighbors: float) -> float:
        """Device time of lists in that cell."""
        case = cell_case(device, method, cloud, n, neighbors)
        return case.seconds(case.index.query)

    def track_strayed_count(self, device: str, method: str, cloud: str, n: int, neighbors: float) -> float:
        """Device time of counting where a point lies outside of the box."""
        strayed = periodic_case(device, method, cloud, n, neighbors, strayed=True)
        return strayed.seconds(strayed.index.count)

    track_strayed_count.unit = "seconds"  # type: ignore[attr-defined]
    track_cell_count.unit = "seconds"  # type: ignore[attr-defined]
    track_cell_query.unit = "seconds"  # type: ignore[attr-defined]
    track_count.unit = "seconds"  # type: ignore[attr-defined]
    track_query.unit = "seconds"  # type: ignore[attr-defined]
