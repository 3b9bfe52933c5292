"""QueryRequest: one query of an index after its arguments were checked."""

from __future__ import annotations

from typing import Any, NamedTuple

import pyopencl.array as cla

from ..errors import DeviceMemoryError
from ..planning.configs import VisitVariant
from ..runtime.session import Session
from .deferred_checks import Check

__all__ = ["QueryRequest"]


class QueryRequest(NamedTuple):
    """Where queries are, how far they look, what they leave out, and which points they look into."""

    queries: cla.Array | None
    m: int
    radius: float
    radii: cla.Array | None
    include_self: bool
    half: bool
    #: the walk's own arguments: the points as they were when the request was made, whatever the index does since
    arguments: tuple[Any, ...]
    #: the images of a periodic box that each launch serves: see :class:`~clfrnn.planning.configs.VisitVariant`
    images: tuple[str, ...]
    #: what the walk takes of queries that it serves in an order of their own
    query_order: tuple[Any, ...] = ()
    #: the first query that is served and the one behind the last, or None for all
    part: tuple[int, int] | None = None
    #: the arrays are the caller's, who may write to them after the call
    borrowed: bool = False
    #: the order of the queries is a copy of them, and walks read nothing else
    reads_copy: bool = False
    #: queries and radii are the request's own, so that parts can be taken of them later
    divisible: bool = False
    #: the checks of its arrays that are still running on the device
    checks: tuple[Check, ...] = ()

    @property
    def kind(self) -> tuple[Any, ...]:
        """What decides about the number of pairs besides positions and radii of the queries' own."""
        return (
            self.queries is None,
            self.m,
            None if self.radii is not None else self.radius,
            self.include_self,
            self.half,
        )

    def owned(self, session: Session) -> QueryRequest:
        """The same request over copies of the caller's arrays, for lists that may be written again later."""
        return self._copied(session, [array for array in self._read_by_walks() if self.borrowed])

    def owned_for_parts(self, session: Session) -> QueryRequest:
        """The same for lists in blocks, which read the queries themselves also where a walk reads a copy of them."""
        try:
            return self._copied(session, [self.queries, self.radii] if self.borrowed else [])._replace(divisible=True)
        except DeviceMemoryError:
            return self.owned(session)

    def apart_from(self, session: Session, written: list[cla.Array]) -> QueryRequest:
        """The same request over copies of those of its arrays that a user's function writes to."""
        buffers = [array.base_data for array in written]
        given = (array for array in self._read_by_walks() if array is not None)
        return self._copied(session, [array for array in given if array.base_data in buffers])

    def _read_by_walks(self) -> tuple[cla.Array | None, ...]:
        return (None if self.reads_copy else self.queries, self.radii)

    def _copied(self, session: Session, arrays: list[cla.Array | None]) -> QueryRequest:
        copies = {}
        for name, array in (("queries", self.queries), ("radii", self.radii)):
            if array is not None and any(array is each for each in arrays):
                copies[name] = session.allocate(array.shape, array.dtype, purpose=f"a copy of the {name}")
                session.copy(array, copies[name])
        return self._replace(**copies)

    def variant(self, images: str, *, part: bool) -> VisitVariant:
        """What is compiled into the walk for this request, in a launch that serves those `images`."""
        return VisitVariant(
            images=images,
            foreign=self.queries is not None,
            placed=self.reads_copy,
            radii=self.radii is not None,
            half=self.half,
            part=part,
        )
