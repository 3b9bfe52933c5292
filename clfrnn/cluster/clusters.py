"""Clusters: the result of a search for clusters."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..answers.linking.numbering import sizes_of
from ..answers.linking.spaces import spaces_of
from ..api import build_index
from ..conditions import Condition
from ..device_array import DeviceArray
from ..errors import InvalidInputError
from ..points.argument_types import Rows
from ..points.on_device import as_points, to_device
from ..points.sessions import choose_session
from ..runtime.session import Session
from .centers import Links, find_centers

__all__ = ["ClusterSearch", "Clusters", "HostClusters"]

#: Bytes of the pairs that are listed at once.
_BLOCK_BYTES = 1 << 27


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClusterSearch:
    """What points were linked by: arguments of :func:`clfrnn.build_index`, and a condition of pairs."""

    distance: float
    #: how many coordinates the points have, once these are known
    dim: int = 0
    #: box, cell and periodic, and batch
    domain: tuple[Any, Any, Any] = (None, None, None)
    batch: Any = None
    method: Any = "auto"
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    where: Condition | None = None

    def links(self, session: Session, points: npt.NDArray[Any]) -> Iterator[Links]:
        """The pairs of the points, some at a time."""
        box, cell, periodic = self.domain
        given: dict[str, Any] = {"box": box, "cell": cell, "periodic": periodic, "batch": self.batch}
        index = build_index(points, self.distance, method=self.method, session=session, **given, **self.options)
        each, most = 4 + index.dim * (index.dtype.itemsize + 4), int(index.count(where=self.where).max()) + 2
        first = 0
        for block in index.query_blocks(vectors=True, where=self.where, max_bytes=max(_BLOCK_BYTES, each * most)):
            host = block.to_host()
            rows = first + np.repeat(np.arange(len(host)), host.counts)
            yield Links(rows, host.indices.astype(np.int64), host.shifts.astype(np.int64))
            first += len(host)


class Clusters:
    """A cluster for each point, on the device or the host.

    Attributes
    ----------
    labels : (n,) int32
        The cluster of each point, from 0 on; -1 for noise, and for groups with too few members. Clusters are numbered
        by their lowest core points.
    core : (n,) bool
        Whether a point is core, as :func:`dbscan` defines it; all points of :func:`friends_of_friends` are.

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
        self,
        labels: Any,
        core: Any,
        many: DeviceArray[np.int32] | int,
        session: Session | None = None,
        *,
        search: ClusterSearch,
    ) -> None:
        self.labels: DeviceArray[np.int32] = labels
        self.core: DeviceArray[np.bool_] = core
        #: their number, or that in an array on the device
        self._many = many
        self._session = session
        self._search = search
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

    def largest(self) -> int:
        """The number of the cluster with the most points, the lowest of several.

        Raises
        ------
        InvalidInputError
            There are no clusters.

        Notes
        -----
        Cost: that of :attr:`sizes`, and a copy of them to the host.
        """
        if not self.num_clusters:
            raise InvalidInputError(
                "expected one cluster at least, got none, of which none is the largest; look at num_clusters first",
                argument="largest",
            )
        return int(np.argmax(np.asarray(self.sizes)))

    def centers(self, points: Rows) -> DeviceArray[np.floating[Any]]:
        """The mean position of the members of each cluster, across the edges of the box or cell that was searched.

        Parameters
        ----------
        points : (n, dim) float32 or float64, those that were searched; on the host or the device

        Returns
        -------
        (num_clusters, dim) array in the points' dtype, on the device if the clusters are. Where axes repeat, a cluster
        may lie across an edge; its members are then moved by whole lengths of the box to where they hang together, and
        the center is moved into the box or cell. A cluster that reaches its own image along an axis, as one that spans
        the box does, has no center on that axis: NaN. In a cell these are all coordinates that change along the lattice
        vectors of that way.

        Raises
        ------
        InvalidInputError
            The points are not as many as were searched, have another number of coordinates, or cannot be searched.

        Notes
        -----
        Points are added up in float64. Cost: a copy of the points and the labels to the host, and where axes repeat a
        sort of the points there for each of them. For clusters that leave no gap as wide as a link on such an axis, all
        pairs are listed, some at a time.

        Examples
        --------
        >>> from clfrnn.cluster import friends_of_friends
        >>> points = [[0.5], [9.5], [5.0]]
        >>> friends_of_friends(points, 1.0, box=[10.0]).centers(points).get().tolist()
        [[0.0], [5.0]]
        """
        session = choose_session(self._session, points)
        with session.lock:
            host = as_points(points, session=session).get()
            search = self._search
            if host.shape != (len(self), search.dim):
                raise InvalidInputError(
                    f"expected the {len(self):,} points of {search.dim} coordinates that were searched, got "
                    f"{len(host):,} of {host.shape[1]}; pass the same points",
                    argument="points",
                )
            labels, core = np.asarray(self.labels), np.asarray(self.core)
            spaces = spaces_of(session, host, search.distance, search.domain, search.batch)
            centers = find_centers(
                host,
                labels,
                core,
                self.num_clusters,
                distance=search.distance,
                spaces=spaces,
                list_links=lambda: search.links(session, host),
            ).astype(host.dtype)
            return to_device(centers, session=session) if self._session is not None else centers  # type: ignore[return-value]

    def _count(self) -> Any:
        if self._session is None:
            sizes = np.bincount(self.labels[self.labels >= 0], minlength=self.num_clusters).astype(np.int32)
            sizes.flags.writeable = False  # as all arrays that a result holds on the host
            return sizes
        with self._session.lock:
            return sizes_of(self._session, self.labels, self.num_clusters)

    def to_host(self) -> HostClusters:
        """Return the same with numpy arrays, which cannot be written to; waits for the device."""
        if self._session is None:
            return self  # type: ignore[return-value]
        labels, core = self.labels.get(), self.core.get()
        for each in (labels, core):
            each.setflags(write=False)
        return HostClusters(labels, core, self.num_clusters, search=self._search)

    def __len__(self) -> int:
        return int(self.labels.shape[0])

    def __repr__(self) -> str:
        where = "in host memory" if self._session is None else "on the device"
        return f"<Clusters: {self.num_clusters:,} of {len(self):,} points, {where}>"

    def __reduce__(self) -> Any:
        if isinstance(self.labels, DeviceArray):
            raise TypeError("these clusters lie on a device and cannot be pickled; pickle their to_host()")
        return _restore, (self.labels, self.core, self.num_clusters, self._search)


# Clusters on the host have the same class. Type checkers see one of its own, as the arrays are of other types.
if TYPE_CHECKING:

    class HostClusters(Clusters):
        """Clusters in numpy arrays, as :meth:`Clusters.to_host` gives them."""

        labels: npt.NDArray[np.int32]  # type: ignore[assignment]
        core: npt.NDArray[np.bool_]  # type: ignore[assignment]

        sizes: npt.NDArray[np.int32]  # type: ignore[assignment]

        def centers(self, points: Rows) -> npt.NDArray[np.floating[Any]]:  # type: ignore[override]
            """As :meth:`Clusters.centers`."""

else:
    HostClusters = Clusters


def _restore(labels: Any, core: Any, many: int, search: ClusterSearch) -> HostClusters:
    """Restore pickled clusters."""
    return HostClusters(labels, core, many, search=search)
