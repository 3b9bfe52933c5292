"""Index: what users hold. It has a search structure, which a method made, and the state of its lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn, final

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

from .errors import InvalidInputError
from .functions import NeighborFunction, walk_function
from .inputs.arguments import bind
from .inputs.arrays import release_queue
from .lists.query import query_blocks, query_list
from .lists.state import ListState
from .methods.structure import SearchStructure
from .methods.traversal import Traversal
from .methods.updates import PointUpdates
from .queries.count_nearest import count_into, find_nearest
from .queries.explain import explain
from .queries.kernel_source import KernelSource, make_kernel_source
from .queries.make_request import make_request
from .queries.reorder import reorder
from .results import NeighborList
from .runtime.session import Session

__all__ = ["Index", "Nearest"]


class Nearest(NamedTuple):
    """The nearest neighbor of each query: device arrays `indices`, (m,) int32, and `distances`, (m,)."""

    indices: cla.Array
    distances: cla.Array


@final
class Index:
    """Points made ready for many queries. Made by :func:`clfrnn.build_index`.

    Examples
    --------
    >>> import clfrnn
    >>> index = clfrnn.build_index([[0.0, 0.0], [3.0, 4.0], [9.0, 9.0]], 5.0)
    >>> index.count().get().tolist()
    [1, 1, 0]
    >>> index.query([[3.0, 3.0]], sort="distance", distances=True).to_host().distances.tolist()
    [1.0, 4.242640687119285]
    """

    def __init__(self, method: str, structure: SearchStructure) -> None:
        self._method = method
        self._traversal = Traversal(structure)
        self._updates = PointUpdates(structure)
        self._lists = ListState(structure.session)
        self._last_update = "rebuilt"

    def __repr__(self) -> str:
        return (
            f"<{self.method} index: {self.num_points:,} points in {self.dim}D, {self.dtype}, "
            f"radius {self.radius:g}, on {self.session.profile.name}>"
        )

    def __reduce__(self) -> NoReturn:
        raise TypeError("an index lies on a device and cannot be pickled; pickle the points and build it again")

    @property
    def session(self) -> Session:
        """The session of the device that holds the index."""
        return self._traversal.session

    @property
    def method(self) -> str:
        """The name of the method that searches."""
        return self._method

    @property
    def radius(self) -> float:
        """The largest radius of a query, rounded to the points' dtype."""
        return self._traversal.radius

    @property
    def num_points(self) -> int:
        """The number of points."""
        return self._traversal.num_points

    @property
    def dim(self) -> int:
        """The number of coordinates of a point."""
        return self._traversal.dim

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype that distances are computed in: that of the points."""
        return self._traversal.dtype

    @property
    def last_update(self) -> str:
        """What the last :meth:`update` did: "refit", where the order of points could stay, or "rebuilt"."""
        return self._last_update

    def update(self, points: Any) -> None:
        """Take new positions of the same points in.

        Parameters
        ----------
        points : same shape and dtype as before — a host array is checked at once, a device array by :meth:`check`

        Raises
        ------
        InvalidInputError
            Another shape or dtype, or a host array that is not finite; the index then still answers for the old points.
        DeviceMemoryError
            There is no room for the new cells; the index then still answers for the old points.

        Notes
        -----
        Cost: that of building, without its survey. Nothing is compiled. A device array is not waited for, save that a
        caller who never waits comes to wait for what is more than eight checks behind; ``aabb_tree`` waits for a number
        of the step before, and where points jump for one of its own.
        """
        self._last_update = self._updates.take(points)

    def count(self, queries: Any = None, *, radius: Any = None, include_self: bool = False) -> cla.Array:
        """The number of neighbors of each query.

        Parameters
        ----------
        queries : (m, dim) — the index's own points when not given
        radius : scalar or (m,) — at most the index's, which it defaults to
        include_self : whether a point counts as its own neighbor

        Returns
        -------
        (m,) int32 device array. Not waited for.

        Raises
        ------
        InvalidInputError
            A host array is not finite, or of the wrong shape; device arrays are checked by :meth:`check`.

        Notes
        -----
        Cost: one visit; no list is made. Of millions with few neighbors on a GPU one launch more, which has nothing to
        do where they come nearly sorted, and m bytes.
        """
        request = make_request(self._traversal, queries, radius=radius, include_self=include_self)
        counts = self.session.allocate(request.m, np.int32, purpose="the neighbor counts")
        self.session.publish(count_into(self._traversal, request, counts), counts)
        return counts

    def nearest(self, queries: Any = None, *, radius: Any = None, include_self: bool = False) -> Nearest:
        """The nearest neighbor of each query, of several at the same distance the one with the lowest number.

        Parameters
        ----------
        queries, radius, include_self : as for :meth:`count`

        Returns
        -------
        Nearest
            ``indices``, (m,) int32, -1 where there is no neighbor, and ``distances``, (m,), inf there. Device arrays,
            not waited for.

        Raises
        ------
        InvalidInputError
            As for :meth:`count`.

        Notes
        -----
        Cost: one visit, which leaves out what lies beyond the nearest so far. Of millions with few neighbors on a
        GPU one launch more, which has nothing to do where they come nearly sorted, and two numbers a query.
        """
        request = make_request(self._traversal, queries, radius=radius, include_self=include_self)
        indices = self.session.allocate(request.m, np.int32, purpose="the nearest neighbors")
        distances = self.session.allocate(request.m, self.dtype, purpose="the nearest neighbors' distances")
        self.session.publish(find_nearest(self._traversal, request, indices, distances), indices, distances)
        return Nearest(indices, distances)

    def visit(
        self,
        function: NeighborFunction,
        queries: Any = None,
        *,
        radius: Any = None,
        include_self: bool = False,
        **arguments: Any,
    ) -> cl.Event:
        """Run your own code for every neighbor of every query.

        Parameters
        ----------
        function : the code, and the declarations of its arguments
        queries, radius, include_self : as for :meth:`count`
        **arguments : a value for each argument that the function declares: numbers, sequences for vectors, device
            arrays for global pointers, and also numpy arrays where these are const

        Returns
        -------
        The event of the visit. Not waited for; work on the session's queue comes after it.

        Raises
        ------
        InvalidInputError
            As for :meth:`count`.
        ArgumentError
            An argument is missing, not declared, or of another type.
        KernelBuildError
            The compiler refused the code; the message shows your own line.

        Notes
        -----
        Cost: one visit, and a compilation at the first call for each kind of query. The size of your own buffers is not
        checked.
        """
        if not isinstance(function, NeighborFunction):
            raise InvalidInputError(
                f"function: expected a clfrnn.NeighborFunction, got {type(function).__name__}; "
                "wrap the code: clfrnn.NeighborFunction(per_neighbor=...)"
            )
        session = self.session
        request = make_request(self._traversal, queries, radius=radius, include_self=include_self)
        walked = walk_function(function)
        bound = bind(session, walked, arguments, dtype=self.dtype, dim=self.dim)
        request = request.apart_from(session, bound.written)
        event = self._traversal.run(walked, request, bound.values) or cl.enqueue_marker(session.queue)
        session.publish(event, *bound.written)
        for array in bound.borrowed:
            release_queue(session, array)
        return event

    def query(
        self,
        queries: Any = None,
        *,
        radius: Any = None,
        include_self: bool = False,
        distances: bool = False,
        vectors: bool = False,
        sort: str | None = None,
        half: bool = False,
        max_bytes: int | None = None,
        hint: int | None = None,
    ) -> NeighborList:
        """Every neighbor of each query.

        Parameters
        ----------
        queries : (m, dim) — the index's own points when not given
        radius : scalar or (m,) — at most the index's, which it defaults to
        include_self : whether a point counts as its own neighbor
        distances, vectors : whether the list carries them; with periodic axes, vectors come with shifts
        sort : None, "index" or "distance" — the order inside a row
        half : each pair once, ``i < j``; not with `queries` or an array of radii
        max_bytes : bytes that the list may take on the device
        hint : about how many pairs there will be, at least; the call then does not wait for their number

        Raises
        ------
        InvalidInputError
            An argument cannot be searched.
        DeviceMemoryError
            The list does not fit on the device or exceeds `max_bytes`; nothing is cut off. See :meth:`query_blocks`.

        Notes
        -----
        Cost: a count, a scan, a walk that writes the rows, and one wait for the number of pairs, after the walk was
        enqueued if there was such a list before. Of few neighbors on a GPU the count writes their indices to a buffer,
        which a launch copies into rows instead of the walk. With a `hint`, the wait comes when the list is first looked
        at. When there are more pairs than the hint said, or the lists before had and an eighth, rows are written once
        more.
        """
        return query_list(
            self._traversal,
            self._lists,
            queries,
            radius=radius,
            include_self=include_self,
            distances=distances,
            vectors=vectors,
            sort=sort,
            half=half,
            max_bytes=max_bytes,
            hint=hint,
            loops=True,
        )

    def query_blocks(
        self,
        queries: Any = None,
        *,
        max_bytes: int,
        radius: Any = None,
        include_self: bool = False,
        distances: bool = False,
        vectors: bool = False,
        sort: str | None = None,
        half: bool = False,
    ) -> Iterator[NeighborList]:
        """The list of :meth:`query` in parts: lists of consecutive ranges of queries, each within `max_bytes`.

        Parameters
        ----------
        max_bytes : bytes that one part may take on the device; as many queries as fit make a part
        queries, radius, include_self, distances, vectors, sort, half : as for :meth:`query`

        Returns
        -------
        An iterator over the parts. Neighbors keep their numbers; row 0 of a part is the query behind the last of the
        part before. What is listed are the points at the time of this call, also when the index is updated in between.

        Raises
        ------
        InvalidInputError
            An argument cannot be searched.
        DeviceMemoryError
            One row alone exceeds `max_bytes`.

        Notes
        -----
        Cost: one visit for the counts, a visit for each part, and 12 bytes for each query on the host; on a GPU, where
        the list carries more than indices, also a copy of the points until the last part.
        """
        return query_blocks(
            self._traversal,
            queries,
            max_bytes=max_bytes,
            radius=radius,
            include_self=include_self,
            distances=distances,
            vectors=vectors,
            sort=sort,
            half=half,
        )

    def check(self) -> None:
        """Wait for the device, and raise what earlier calls that did not wait have found.

        Raises
        ------
        InvalidInputError
            Points, queries or radii on the device held a NaN or an infinity, or a radius was too large.
        """
        self.session.check_process()
        self.session.queue.finish()
        self._traversal.checks.settle()

    @property
    def order(self) -> cla.Array:
        """The number of the point at each place of the search order, (n,) int32 on the device.

        Points that are near each other in it are near in space. The order of input where a method does not sort.
        """
        self.session.check_process()
        return self._traversal.structure.order()

    def reorder(self, *arrays: Any) -> Any:
        """Rows of `arrays`, one for each point, in the index's own order: ``array[order]``, on the device.

        Parameters
        ----------
        *arrays : (n, ...) of any dtype, on the device or on the host

        Returns
        -------
        A new device array, or a tuple of them when several were given.

        Raises
        ------
        InvalidInputError
            An array does not have one row for each point.

        Notes
        -----
        Cost: one read and one write of each array. Not waited for.
        """
        self.session.check_process()
        return reorder(self._traversal, arrays)

    @property
    def nbytes(self) -> dict[str, int]:
        """Bytes that the index keeps on the device, by buffer."""
        buffers = self._traversal.structure.buffers()
        return {name: int(buffer.size) * buffer.dtype.itemsize for name, buffer in buffers.items()}

    def explain(self) -> str:
        """How this index searches and why, in words: method, kernels, cells, bytes, candidates per neighbor.

        The last is measured, on at most a thousand of the points.
        """
        self.session.check_process()
        return explain(self._traversal, method=self.method, sizes=self.nbytes, last_update=self.last_update)

    def kernel_source(self) -> KernelSource:
        """The walk over neighbors, for kernels of your own.

        Returns
        -------
        KernelSource
            ``header``, OpenCL C to put before your kernel, and ``arguments``, the values of ``FRNN_PARAMETERS``.

        Notes
        -----
        The arguments are the points as they are now: ask again after an :meth:`update`.
        """
        self.session.check_process()
        return make_kernel_source(self._traversal, self.method)
