"""Lists of :class:`clfrnn.Index`: checks their arguments, and makes them whole or in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ...conditions import Condition
from ...errors import InvalidInputError
from ...methods.request import QueryRequest
from ...methods.traversal import Traversal
from ...results import NeighborList
from ..requests import make_request, natural
from .blocks import list_blocks
from .columns import Columns, check_sort, make_columns
from .state import ListState
from .two_pass import list_neighbors

__all__ = ["ListArguments", "query_blocks", "query_list"]


class ListArguments(NamedTuple):
    """The arguments of a list, as callers pass them: see :meth:`clfrnn.Index.query`."""

    radius: Any
    include_self: bool
    distances: bool
    vectors: bool
    sort: str | None
    half: bool
    max_bytes: int | None
    hint: int | None = None
    where: Condition | None = None
    query_batch: Any = None


def query_list(traversal: Traversal, state: ListState | None, queries: Any, given: ListArguments) -> NeighborList:
    """The list of :meth:`clfrnn.Index.query`; a single search, whose index is dropped, has no `state`."""
    request, columns = _check(traversal, queries, given)
    max_bytes, hint = natural("max_bytes", given.max_bytes), natural("hint", given.hint)
    return list_neighbors(traversal, state, request, columns, max_bytes=max_bytes, hint=hint)


def query_blocks(traversal: Traversal, queries: Any, given: ListArguments) -> Iterator[NeighborList]:
    """The lists of :meth:`clfrnn.Index.query_blocks`."""
    request, columns = _check(traversal, queries, given)
    max_bytes = natural("max_bytes", given.max_bytes)
    if max_bytes is None:
        raise InvalidInputError("expected a number of bytes, got None; query() needs no budget", argument="max_bytes")
    return list_blocks(traversal, request, columns, max_bytes=max_bytes)


def _check(traversal: Traversal, queries: Any, given: ListArguments) -> tuple[QueryRequest, Columns]:
    """The request and the columns of a list."""
    request = make_request(
        traversal,
        queries,
        radius=given.radius,
        include_self=given.include_self,
        half=given.half,
        where=given.where,
        query_batch=given.query_batch,
    )
    return request, make_columns(
        distances=bool(given.distances),
        vectors=bool(given.vectors),
        sort=check_sort(given.sort),
        periodic=traversal.problem.domain.has_images,
        images=traversal.problem.repeats,
        dim=traversal.dim,
        dtype=traversal.dtype,
    )
