"""Index: what users hold. Everything that it answers comes from one ``visit``, which each method provides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

from .errors import InvalidInputError
from .first_pass.neighbor_buffer import NeighborBuffer
from .functions import NeighborFunction
from .inputs.arguments import bind
from .inputs.arrays import release_queue
from .lists.blocks import list_blocks
from .lists.capacity import Capacity
from .lists.columns import Columns, make_columns
from .lists.two_pass import list_now, list_of_hint
from .methods.traversal import Traversal
from .planning.problem import Problem
from .queries.count_nearest import count_into, find_nearest
from .queries.explain import explain
from .queries.kernel_source import KernelSource, make_kernel_source
from .queries.make_request import make_request, natural
from .results import NeighborList
from .runtime.scratch import Scratch
from .runtime.session import Session

__all__ = ["Index", "Nearest"]


class Nearest(NamedTuple):
    """The nearest neighbor of each query: device arrays `indices`, (m,) int32, and `distances`, (m,)."""

    indices: cla.Array
    distances: cla.Array


class Index(Traversal):
    """Points made ready for many queries. Made by :func:`clfrnn.build_index`.

    Attributes
    ----------
    session, method, radius, num_points, dim, dtype
        What the index was built with; `radius` is rounded to `dtype`.
    last_update : "rebuilt" or "refit"
        What the last :meth:`update` did.

    Examples
    --------
    >>> import clfrnn
    >>> index = clfrnn.build_index([[0.0, 0.0], [3.0, 4.0], [9.0, 9.0]], 5.0)
    >>> index.count().get().tolist()
    [1, 1, 0]
    >>> index.query([[3.0, 3.0]], sort="distance", distances=True).to_host().distances.tolist()
    [1.0, 4.242640687119285]
    """

    def __init__(self, session: Session, problem: Problem) -> None:
        super().__init__(session, problem)
        #: whether lists leave room for the next ones, which a single search has no use for
        self.loops = True
        self.rooms = Capacity()
        #: what the last list put numbers by in, for the next
        self.kept_stash: NeighborBuffer | None = None
        session.keepers.add(self)
        #: what its lists carry, by what was asked for
        self.specs: dict[tuple[bool, bool, str | None], Columns] = {}

    def let_go(self) -> bool:
        """See :class:`~clfrnn.runtime.memory.Keeper`: what is kept for the next list alone."""
        kept, self.kept_stash = self.kept_stash, None
        return kept is not None

    def _buffers_of_lists(self) -> dict[str, cla.Array | Scratch]:
        return {} if self.kept_stash is None else self.kept_stash.buffers

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
        ask = make_request(self, queries, radius=radius, include_self=include_self)
        counts = self.session.allocate(ask.m, np.int32, purpose="the neighbor counts")
        self.session.publish(count_into(self, ask, counts), counts)
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
        ask = make_request(self, queries, radius=radius, include_self=include_self)
        indices = self.session.allocate(ask.m, np.int32, purpose="the nearest neighbors")
        distances = self.session.allocate(ask.m, self.dtype, purpose="the nearest neighbors' distances")
        self.session.publish(find_nearest(self, ask, indices, distances), indices, distances)
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
        ask = make_request(self, queries, radius=radius, include_self=include_self)
        bound = bind(self.session, function, arguments, dtype=self.dtype, dim=self.dim)
        ask = ask.apart_from(self.session, bound.written)
        event = self.run(function, ask, bound.values) or cl.enqueue_marker(self.session.queue)
        self.session.publish(event, *bound.written)
        for array in bound.borrowed:
            release_queue(self.session, array)
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
        Cost: two visits, a scan, and one wait for the number of pairs, after the second visit was enqueued if there was
        such a list before. Of few neighbors on a GPU the first visit keeps their numbers, which a launch brings into
        rows instead of a second visit; from the second list on, up to 2¹⁹ rows of numbers alone that are not sorted
        need no scan. With a `hint`, the wait comes when the list is first looked at. When there are more pairs than the
        hint said, or the lists before had and an eighth, rows are written once more. Up to 32 MiB are then kept for the
        next list (:attr:`nbytes` says), until something else of the session needs them.
        """
        ask = make_request(self, queries, radius=radius, include_self=include_self, half=half)
        spec = make_columns(self, distances=distances, vectors=vectors, sort=sort)
        budget = natural("max_bytes", max_bytes)
        if (pairs := natural("hint", hint)) is not None:
            return list_of_hint(self, ask, spec, max_bytes=budget, hint=pairs)
        return list_now(self, ask, spec, max_bytes=budget, spare=self.loops)

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
        the list carries more than numbers, also a copy of the points until the last part.
        """
        ask = make_request(self, queries, radius=radius, include_self=include_self, half=half)
        spec = make_columns(self, distances=distances, vectors=vectors, sort=sort)
        budget = natural("max_bytes", max_bytes)
        if budget is None:
            raise InvalidInputError("max_bytes: expected a number of bytes, got None; query() needs no budget")
        return list_blocks(self, ask, spec, max_bytes=budget)

    def explain(self) -> str:
        """How this index searches and why, in words: method, kernels, cells, bytes, candidates per neighbor.

        The last is measured, on at most a thousand of the points.
        """
        self.session.check_process()
        return explain(self)

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
        return make_kernel_source(self)
