"""Counts and nearest neighbors, and the encoding in which a walk first writes them.

A GPU writes memory in sectors. A sector that is written to at scattered times leaves the caches before it is full, and
each number then costs one read and one write of a sector. With counts as bytes, caches hold four times as many. An
index and its distance as a pair cost one sector instead of two. A launch after the walk unpacks these encodings.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

from ..config import INT
from ..errors import DeviceMemoryError, InvalidInputError
from ..methods.first_pass.base import FirstPass
from ..methods.request import QueryRequest
from ..methods.traversal import Traversal
from ..primitives.scan import Counts
from ..primitives.unpack import unpack_bytes, unpack_pairs
from ..results import Nearest
from ..runtime.rendering import own_function
from ..runtime.scratch import Scratch
from ..tuning import Tiers
from .nearest.rows import check_k, find_k_nearest
from .requests import make_request

__all__ = ["NearestArguments", "count_for_list", "count_neighbors", "describe_encodings", "find_nearest"]

_BYTE = np.dtype(np.uint8)


class OutputEncoding(NamedTuple):
    """The first encoding of results: memory for them, and an int32 that is 0 where the walk writes final results.

    The walk reads that int32 when it starts: where queries come nearly in search order, caches hold what is written.
    """

    packed: Scratch
    disorder: Scratch


def count_for_list(traversal: Traversal, request: QueryRequest, first_pass: FirstPass | None = None) -> Counts:
    """Enqueue the count for a list: plain counts, or counts that the first pass packs."""
    buffer = None if first_pass is None else first_pass.buffer
    counts = (
        traversal.session.scratch(request.m, INT, purpose="the neighbor counts") if buffer is None else buffer.counts
    )
    if first_pass is None:
        _count_into(traversal, request, counts)
    else:
        traversal.run(own_function("count"), request, [counts], first_pass=first_pass)
    return counts


def count_neighbors(
    traversal: Traversal, queries: Any, *, radius: Any, include_self: bool, where: Any = None, query_batch: Any = None
) -> cla.Array:
    """See :meth:`clfrnn.Index.count`."""
    asked = {"include_self": include_self, "where": where, "query_batch": query_batch}
    request = make_request(traversal, queries, radius=radius, **asked)
    counts = traversal.session.allocate(request.m, INT, purpose="the neighbor counts")
    traversal.session.publish(_count_into(traversal, request, counts), counts)
    return counts


def _count_into(traversal: Traversal, request: QueryRequest, counts: Counts) -> cl.Event | None:
    """Enqueue the count of neighbors of each query, into (m,) int32 that begin where their buffer does."""
    tiers = traversal.session.tuning.queries.as_bytes(traversal.dim)
    encoding = _encoding(traversal, request, tiers, size=request.m, dtype=_BYTE)
    if encoding is None:
        return traversal.run(own_function("count"), request, [counts])
    given = [counts, encoding.packed, *encoding.disorder.arguments]
    traversal.run(own_function("count", small=True), request, given)
    return unpack_bytes(traversal.session, encoding.packed, counts, unless_zero=encoding.disorder)


class NearestArguments(NamedTuple):
    """The arguments of a search for nearest neighbors, as callers pass them: see :meth:`clfrnn.Index.nearest`."""

    k: Any
    radius: Any
    include_self: bool
    vectors: bool
    where: Any = None
    query_batch: Any = None


def find_nearest(traversal: Traversal, queries: Any, given: NearestArguments) -> Nearest:
    """See :meth:`clfrnn.Index.nearest`."""
    asked = {"include_self": given.include_self, "where": given.where, "query_batch": given.query_batch}
    if given.k is not None:
        request = make_request(traversal, queries, radius=given.radius, **asked)
        return find_k_nearest(traversal, request, check_k(given.k), vectors=bool(given.vectors))
    if given.vectors:
        raise InvalidInputError(
            "expected k with vectors=True, got k=None; pass k=1 for one neighbor's vectors", argument="vectors"
        )
    request = make_request(traversal, queries, radius=given.radius, **asked)
    indices = traversal.session.allocate(request.m, INT, purpose="the nearest neighbors")
    distances = traversal.session.allocate(request.m, traversal.dtype, purpose="the nearest neighbors' distances")
    traversal.session.publish(_nearest_into(traversal, request, indices, distances), indices, distances)
    return Nearest(indices, distances)


def _nearest_into(
    traversal: Traversal, request: QueryRequest, indices: cla.Array, distances: cla.Array
) -> cl.Event | None:
    """Enqueue the search for the nearest neighbor of each query, into (m,) int32 and (m,) of the points' dtype."""
    dtype = traversal.dtype
    tiers = traversal.session.tuning.queries.in_pairs(traversal.dim)
    encoding = _encoding(traversal, request, tiers, size=2 * request.m, dtype=dtype)
    if encoding is None:
        return traversal.run(own_function("nearest"), request, [indices, distances])
    word = "int" if dtype.itemsize == INT.itemsize else "long"
    given = [indices, distances, encoding.packed, *encoding.disorder.arguments]
    traversal.run(own_function("nearest", pairs=word), request, given)
    return unpack_pairs(traversal.session, encoding.packed, indices, distances, unless_zero=encoding.disorder)


def describe_encodings(traversal: Traversal, request: QueryRequest) -> list[str]:
    """A line about the encodings that are written first, if there are any."""
    numbers, dim = traversal.session.tuning.queries, traversal.dim
    forms = ("counts as bytes", numbers.as_bytes(dim)), ("nearest neighbors in pairs", numbers.in_pairs(dim))
    first = [form for form, tiers in forms if _disorder(traversal, request, tiers) is not None]
    return [f"written first, unless points come nearly sorted: {', '.join(first)}"] if first else []


def _encoding(
    traversal: Traversal, request: QueryRequest, tiers: Tiers, *, size: int, dtype: np.dtype[Any]
) -> OutputEncoding | None:
    """The encoding of `size` numbers; None where results are written directly, or there is no memory."""
    disorder = _disorder(traversal, request, tiers)
    if disorder is None:
        return None
    _, available = traversal.session.available()
    if size * dtype.itemsize > available * traversal.session.tuning.queries.encoding_share:
        return None
    try:
        return OutputEncoding(traversal.session.scratch(size, dtype, purpose="results in search order"), disorder)
    except DeviceMemoryError:
        return None


def _disorder(traversal: Traversal, request: QueryRequest, tiers: Tiers) -> Scratch | None:
    """The int32 about the order of queries, or None where it does not decide the encoding of their results."""
    if not tiers or request.m < tiers[0][0]:  # most steps end here
        return None
    most = max(work for many, work in tiers if request.m >= many)
    disorder = traversal.structure.disorder(request)
    return disorder if disorder is not None and traversal.structure.work_of_query <= most else None
