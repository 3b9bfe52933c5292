"""Clusters: the result of a search for clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..answers.linking.numbering import sizes_of
from ..device_array import DeviceArray
from ..runtime.session import Session

__all__ = ["Clusters", "HostClusters"]


class Clusters:
    """A cluster for each point, on the device or the host.

    Attributes
    ----------
    labels : (n,) int32
        The cluster of each point, from 0 on; -1 for noise, and for groups with too few members. Clusters are numbered
        by their lowest core points.
    core : (n,) bool
        Whether enough points are within reach of a point; all points of :func:`friends_of_friends` are core.

    These are :class:`~clfrnn.DeviceArray` on the device, which behave like numpy arrays:
    ``points[found.labels == -1]`` are the points of noise. :meth:`to_host` gives the same object with numpy arrays, and
    type checkers know it as `HostClusters`.

    Examples
    --------
    >>> from clfrnn.cluster import friends_of_friends
    >>> found = friends_of_friends([[0.0, 0.0], [9.0, 0.0], [1.0, 0.0], [9.0, 1.0], [5.0, 5.0]], 1.5, min_members=2)
    >>> found.labels.get().tolist(), found.sizes.get().tolist()
    ([0, 1, 0, 1, -1], [2, 2])
    """

    def __init__(
        self, labels: Any, core: Any, many: DeviceArray[np.int32] | int, session: Session | None = None
    ) -> None:
        self.labels: DeviceArray[np.int32] = labels
        self.core: DeviceArray[np.bool_] = core
        #: their number, or that in an array on the device
        self._many = many
        self._session = session
        self._sizes: Any = None

    @property
    def num_clusters(self) -> int:
        """The number of clusters. The first read waits for the device."""
        if isinstance(self._many, DeviceArray):
            self._many = int(self._many.get()[0])
        return self._many

    @property
    def sizes(self) -> DeviceArray[np.int32]:
        """The number of points of each cluster, (num_clusters,) int32.

        The first read waits for the number of clusters, and counts: one pass over the labels.
        """
        if self._sizes is None:
            self._sizes = self._count()
        return self._sizes

    def _count(self) -> Any:
        if self._session is None:
            return np.bincount(self.labels[self.labels >= 0], minlength=self.num_clusters).astype(np.int32)
        with self._session.lock:
            return sizes_of(self._session, self.labels, self.num_clusters)

    def to_host(self) -> HostClusters:
        """Return the same with numpy arrays, which cannot be written to; waits for the device."""
        if self._session is None:
            return self  # type: ignore[return-value]
        labels, core = self.labels.get(), self.core.get()
        for each in (labels, core):
            each.setflags(write=False)
        return HostClusters(labels, core, self.num_clusters)

    def __len__(self) -> int:
        return int(self.labels.shape[0])

    def __repr__(self) -> str:
        where = "in host memory" if self._session is None else "on the device"
        return f"<Clusters: {self.num_clusters:,} of {len(self):,} points, {where}>"

    def __reduce__(self) -> Any:
        if isinstance(self.labels, DeviceArray):
            raise TypeError("these clusters lie on a device and cannot be pickled; pickle their to_host()")
        return Clusters, (self.labels, self.core, self.num_clusters)


# Clusters on the host have the same class. Type checkers see one of its own, as the arrays are of other types.
if TYPE_CHECKING:

    class HostClusters(Clusters):
        """Clusters in numpy arrays, as :meth:`Clusters.to_host` gives them."""

        labels: npt.NDArray[np.int32]  # type: ignore[assignment]
        core: npt.NDArray[np.bool_]  # type: ignore[assignment]

        sizes: npt.NDArray[np.int32]  # type: ignore[assignment]

else:
    HostClusters = Clusters
