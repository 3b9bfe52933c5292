"""QueryRequest: a query of an index whose arguments were checked."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import pyopencl.array as cla

from ..config import VisitVariant
from ..errors import DeviceMemoryError
from ..points.conditions import BoundCondition
from ..points.deferred_checks import Check
from ..runtime.session import Session

__all__ = ["QueryRequest"]


_variant = functools.lru_cache(maxsize=256)(VisitVariant)


class QueryRequest(NamedTuple):
    """The queries, their radii, the options of the query, and the points that it searches."""

    queries: cla.Array | None
    m: int
    radius: float
    radii: cla.Array | None
    include_self: bool
    half: bool
    #: the arguments of the walk that describe the points at the time of the request; later updates do not change them
    arguments: tuple[Any, ...]
    #: the periodic images of each launch: see :class:`~clfrnn.config.VisitVariant`
    images: tuple[str, ...]
    #: the arguments of the walk that describe the search order of queries
    query_order: tuple[Any, ...] = ()
    #: the first query and the end of the range that is served, or None for all queries
    part: tuple[int, int] | None = None
    #: whether the arrays belong to the caller, who may write to them after the call
    borrowed: bool = False
    #: whether the search order holds copies of the queries, so that walks do not read the queries
    reads_copy: bool = False
    #: whether the request owns its queries and radii, so that ranges of them can be taken later
    divisible: bool = False
    #: the pending checks of its arrays
    checks: tuple[Check, ...] = ()
    #: a neighbor counts only where it holds
    where: BoundCondition | None = None
    #: the system of each query, (m,) int32, where points lie in many systems and queries are no points
    systems: cla.Array | None = None

    @property
    def kind(self) -> tuple[Any, ...]:
        """The facts on which the number of pairs depends, besides positions and radii."""
        return (
            None if self.queries is None else self.m,  # the number of points may change, and pairs with it
            None if self.radii is not None else self.radius,
            self.include_self,
            self.half,
            self.where and self.where.kind,
        )

    def owned(self, session: Session) -> QueryRequest:
        """The request over copies of the caller's arrays, for lists that may be written again later."""
        arrays = [array for array in self._read_by_walks() if self.borrowed]
        return self._copied(session, arrays, condition=True)

    def owned_for_blocks(self, session: Session) -> QueryRequest:
        """The request for lists in blocks, which read the queries even where walks read a copy of them."""
        try:
            arrays = [self.queries, self.radii] if self.borrowed else []
            return self._copied(session, arrays, condition=True)._replace(divisible=True)
        except DeviceMemoryError:
            return self.owned(session)

    def without_shared(self, session: Session, written: list[cla.Array]) -> QueryRequest:
        """The request over copies of those of its arrays that a user's function writes to."""
        buffers = [array.base_data for array in written]
        given = (array for array in self._read_by_walks() if array is not None)
        return self._copied(session, [array for array in given if array.base_data in buffers])

    def _read_by_walks(self) -> tuple[cla.Array | None, ...]:
        return (None if self.reads_copy else self.queries, self.radii)

    def _copied(self, session: Session, arrays: list[cla.Array | None], *, condition: bool = False) -> QueryRequest:
        """The request over copies of these of its arrays, and of those of its `condition`."""
        copies: dict[str, Any] = {}
        if condition and self.where is not None:
            copies["where"] = self.where.owned(session)
        for name, array in (("queries", self.queries), ("radii", self.radii)):
            if array is not None and any(array is each for each in arrays):
                copies[name] = session.allocate(array.shape, array.dtype, purpose=f"a copy of the {name}")
                session.copy(array, copies[name])
        return self._replace(**copies)

    def variant(self, **of_launch: Any) -> VisitVariant:
        """The variant of the walk for this request, with the fields in which its launches differ."""
        return _variant(
            foreign=self.queries is not None,
            placed=self.reads_copy,
            radii=self.radii is not None,
            half=self.half,
            **of_launch,
        )
