"""Ask: one query of an index after its arguments were checked."""

from __future__ import annotations

from typing import Any, NamedTuple

import pyopencl.array as cla

from ..errors import DeviceMemoryError
from ..planning.configs import VisitVariant
from ..primitives.readback import PendingBox
from ..runtime.session import Session

__all__ = ["QueryRequest"]


class QueryRequest(NamedTuple):
    """One checked query: where the queries are, how far they look, what they leave out, and what they look into."""

    queries: cla.Array | None
    m: int
    radius: float
    radii: cla.Array | None
    include_self: bool
    half: bool
    #: the walk's own arguments: the points as they were when the query was asked, whatever the index does since
    walk: tuple[Any, ...]
    #: the kernels that serve it between them: see :class:`~clfrnn.planning.configs.VisitVariant`
    images: tuple[str, ...]
    #: what the walk takes of queries in an order of their own
    placed: tuple[Any, ...] = ()
    #: the first of the queries that are served and the one behind the last, or None for all
    part: tuple[int, int] | None = None
    #: arrays are the caller's own, who may write to them after the call
    borrowed: bool = False
    #: what is placed is a copy of the queries, and walks read nothing else of them
    copied: bool = False
    #: its queries and radii are its own, for those who take parts of them
    parted: bool = False
    #: what is being checked of its arrays
    checks: tuple[tuple[str, PendingBox], ...] = ()

    @property
    def kind(self) -> tuple[Any, ...]:
        """What decides about the number of pairs besides where points and queries lie, and radii of their own."""
        return (
            self.queries is None,
            self.m,
            None if self.radii is not None else self.radius,
            self.include_self,
            self.half,
        )

    def kept(self, session: Session) -> QueryRequest:
        """The same query, of copies where arrays are the caller's own: for those who come back to it later."""
        return self._copied(session, [array for array in self._read() if self.borrowed])

    def kept_for_parts(self, session: Session) -> QueryRequest:
        """The same for those who take parts of it, of queries of its own also where walks read a copy of them."""
        try:
            return self._copied(session, [self.queries, self.radii] if self.borrowed else [])._replace(parted=True)
        except DeviceMemoryError:
            return self.kept(session)

    def apart_from(self, session: Session, written: list[cla.Array]) -> QueryRequest:
        """The same query, of copies of arrays that its function writes to while others still look at them."""
        buffers = [array.base_data for array in written]
        given = (array for array in self._read() if array is not None)
        return self._copied(session, [array for array in given if array.base_data in buffers])

    def _read(self) -> tuple[cla.Array | None, ...]:
        """What a walk reads while it is under way."""
        return (None if self.copied else self.queries, self.radii)

    def _copied(self, session: Session, arrays: list[cla.Array | None]) -> QueryRequest:
        copies = {}
        for name, array in (("queries", self.queries), ("radii", self.radii)):
            if array is not None and any(array is each for each in arrays):
                copies[name] = session.allocate(array.shape, array.dtype, purpose=f"a copy of the {name}")
                session.copy(array, copies[name])
        return self._replace(**copies)

    def variant(self, images: str, *, part: bool) -> VisitVariant:
        """What is compiled in for this query, served in those `images` of a periodic box."""
        return VisitVariant(
            images=images,
            foreign=self.queries is not None,
            radii=self.radii is not None,
            half=self.half,
            part=part,
        )
