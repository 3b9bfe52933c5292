"""Points of a face that are searched again and again, with radii that nobody knows when the points are given."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..api import build_index, nearest
from ..device_array import DeviceArray
from ..index import Index
from ..runtime.session import Session

__all__ = ["SearchedPoints"]

#: An index serves radii from this share of its own on; for smaller ones, another index is worth its construction.
_LEAST_SHARE = 0.5

#: The radius of an index for nearest neighbors, in median distances of the last neighbors that were found before.
_REACH = 1.5


class SearchedPoints:
    """Points on a device, and the indices that were built for earlier searches.

    Parameters
    ----------
    points : (n, dim) checked points on the device, which nobody changes
    session : their session
    **domain : arguments of searches: `box` and `periodic`
    """

    def __init__(self, points: DeviceArray[Any], session: Session, **domain: Any) -> None:
        self.points, self.session, self.domain = points, session, domain
        self._within: Index | None = None
        self._near: Index | None = None
        #: the radius of the next index for nearest neighbors, 0 where it is not known
        self._reach = 0.0

    def within(self, radius: float) -> Index:
        """An index for that radius: the last one where its radius is about the same."""
        index, rounded = self._within, float(self.points.dtype.type(radius))
        if index is None or not _LEAST_SHARE * index.radius <= rounded <= index.radius:
            index = self._within = build_index(self.points, radius, session=self.session, **self.domain)
        return index

    def nearest(
        self, queries: npt.NDArray[Any] | None, k: int, *, include_self: bool = False
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[Any]]:
        """The k nearest points of each query, or point: indices and distances, (m, k), as of :func:`clfrnn.nearest`.

        However far they are: where an earlier call has shown how far, an index is built once, and serves queries that
        are as close to points.
        """
        given: dict[str, Any] = {"session": self.session, **self.domain}
        if self._near is None and self._reach:
            self._near = build_index(self.points, self._reach, **given)
        if self._near is not None:
            found = self._near.nearest(queries, k=k, include_self=include_self).to_host()
            far = np.flatnonzero(found.indices[:, -1] < 0)
            if not len(far):
                return found.indices, found.distances
            if queries is not None and 2 * len(far) < len(found.indices):
                again = nearest(self.points, k, queries=queries[far], **given).to_host()
                indices, distances = np.array(found.indices), np.array(found.distances)
                indices[far], distances[far] = again.indices, again.distances
                return indices, distances
        found = nearest(self.points, k, queries=queries, include_self=include_self, **given).to_host()
        self._near = None
        self._expect(found.distances[:, -1])
        return found.indices, found.distances

    def _expect(self, last: npt.NDArray[Any]) -> None:
        """Take the distances of the last neighbors found for those of the next searches."""
        finite = last[np.isfinite(last)]
        self._reach = _REACH * float(np.median(finite)) if len(finite) else 0.0
