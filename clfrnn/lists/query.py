"""The arguments of a list, checked, on their way to the one that is asked for: whole, or in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..errors import InvalidInputError
from ..methods.traversal import Traversal
from ..queries.make_request import make_request, natural
from ..results import NeighborList
from .blocks import list_blocks
from .columns import Columns, make_columns
from .state import ListState
from .two_pass import list_neighbors

__all__ = ["query_blocks", "query_list"]


def query_list(
    traversal: Traversal,
    state: ListState,
    queries: Any,
    *,
    radius: Any,
    include_self: bool,
    distances: bool,
    vectors: bool,
    sort: str | None,
    half: bool,
    max_bytes: int | None,
    hint: int | None = None,
    loops: bool,
) -> NeighborList:
    """The list of :meth:`clfrnn.Index.query`; of an index that nobody keeps where it does not loop."""
    request = make_request(traversal, queries, radius=radius, include_self=include_self, half=half)
    return list_neighbors(
        traversal,
        state,
        request,
        _columns(traversal, distances=distances, vectors=vectors, sort=sort),
        max_bytes=natural("max_bytes", max_bytes),
        hint=natural("hint", hint),
        loops=loops,
    )


def query_blocks(
    traversal: Traversal,
    queries: Any,
    *,
    max_bytes: int,
    radius: Any,
    include_self: bool,
    distances: bool,
    vectors: bool,
    sort: str | None,
    half: bool,
) -> Iterator[NeighborList]:
    """The lists of :meth:`clfrnn.Index.query_blocks`."""
    request = make_request(traversal, queries, radius=radius, include_self=include_self, half=half)
    columns = _columns(traversal, distances=distances, vectors=vectors, sort=sort)
    budget = natural("max_bytes", max_bytes)
    if budget is None:
        raise InvalidInputError("max_bytes: expected a number of bytes, got None; query() needs no budget")
    return list_blocks(traversal, request, columns, max_bytes=budget)


def _columns(traversal: Traversal, *, distances: bool, vectors: bool, sort: str | None) -> Columns:
    """What a list of the traversal carries."""
    box = traversal.problem.box
    return make_columns(
        distances=bool(distances),
        vectors=bool(vectors),
        sort=sort,
        periodic=box is not None,
        images=box is not None and box.repeats(traversal.radius),
        dim=traversal.dim,
        dtype=traversal.dtype,
    )
