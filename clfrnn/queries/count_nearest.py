"""Counts and nearest neighbors, and in what encoding a walk writes them first.

A GPU writes memory in sectors, and what goes to scattered places leaves its caches before the rest of a sector has
come: each number then costs a sector read and written. Of counts as bytes four times as many stay in the caches; an
index and its distance as a pair cost one sector instead of two. A launch behind the walk unpacks them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

from ..errors import DeviceMemoryError
from ..first_pass.base import FirstPass
from ..inputs.request import QueryRequest
from ..methods.traversal import Traversal
from ..planning.tuning import Tiers
from ..primitives.scan import Counts
from ..primitives.unpack import unpack_bytes, unpack_pairs
from ..runtime.rendering import own_function
from ..runtime.scratch import INT, Scratch

__all__ = ["count_for_list", "count_into", "describe_encodings", "find_nearest"]

_BYTE = np.dtype(np.uint8)


class OutputEncoding(NamedTuple):
    """The first encoding of results: memory for them, and an int32 that is 0 where they are final at once.

    The walk looks at that int32 as it starts: where queries come nearly in search order, caches hold what is written,
    and the results go where they belong.
    """

    packed: Scratch
    disorder: Scratch


def count_for_list(traversal: Traversal, request: QueryRequest, first_pass: FirstPass | None = None) -> Counts:
    """Enqueue the count for a list: plain counts, or as the first pass packs them."""
    if first_pass is None:
        counts = traversal.session.scratch(request.m, INT, purpose="the neighbor counts")
        count_into(traversal, request, counts)
        return counts
    rows = first_pass.counts(traversal.session, request.m)
    traversal.run(own_function("count"), request, [rows], first_pass=first_pass)
    return rows


def count_into(traversal: Traversal, request: QueryRequest, counts: Counts) -> cl.Event | None:
    """Enqueue the number of neighbors of each query, into (m,) int32 that begin where their buffer does."""
    tiers = traversal.session.tuning.queries.as_bytes(traversal.dim)
    encoding = _encoding(traversal, request, tiers, size=request.m, dtype=_BYTE)
    if encoding is None:
        return traversal.run(own_function("count"), request, [counts])
    given = [counts, encoding.packed, *encoding.disorder.arguments]
    traversal.run(own_function("count", small=True), request, given)
    return unpack_bytes(traversal.session, encoding.packed, counts, unless_zero=encoding.disorder)


def find_nearest(
    traversal: Traversal, request: QueryRequest, indices: cla.Array, distances: cla.Array
) -> cl.Event | None:
    """Enqueue the nearest neighbor of each query, into (m,) int32 and (m,) of the points' dtype."""
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
    """A line about what is written in another encoding first, if anything is."""
    numbers, dim = traversal.session.tuning.queries, traversal.dim
    forms = ("counts as bytes", numbers.as_bytes(dim)), ("nearest neighbors in pairs", numbers.in_pairs(dim))
    first = [form for form, tiers in forms if _disorder(traversal, request, tiers) is not None]
    return [f"written first, unless points come nearly sorted: {', '.join(first)}"] if first else []


def _encoding(
    traversal: Traversal, request: QueryRequest, tiers: Tiers, *, size: int, dtype: np.dtype[Any]
) -> OutputEncoding | None:
    """The encoding of `size` numbers; None where results are written as they are, or there is no memory for others."""
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
    """What the device knows of the order of queries, where that decides about the encoding of their results."""
    if not tiers or request.m < tiers[0][0]:  # most steps, which this should cost nothing
        return None
    most = max(work for many, work in tiers if request.m >= many)
    disorder = traversal.structure.disorder(request)
    return disorder if disorder is not None and traversal.structure.work_of_query <= most else None
