"""Answers: counts and nearest neighbors; of millions of queries in no order in a form first that is written sooner.

A GPU writes memory in sectors, and what goes to places anywhere leaves its caches before the rest of a sector has come:
each number then costs a sector read and written. As a byte four times as many stay; as a pair an index and its distance
cost one sector instead of two. A launch behind makes of them what the caller gets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

from ..errors import DeviceMemoryError
from ..primitives.scan import Counts
from ..primitives.unpack import widen
from ..primitives.unpack_pairs import part
from ..runtime.rendering import own_function
from ..runtime.scratch import INT, Scratch

if TYPE_CHECKING:
    from ..first_pass.base import FirstPass
    from ..index import Index
    from ..inputs.request import QueryRequest

__all__ = ["answers_in_words", "count_for_list", "count_into", "find_nearest"]

_BYTE = np.dtype(np.uint8)

_Limits: TypeAlias = "Mapping[int, tuple[tuple[int, float], ...]]"

#: By the number of coordinates: from so many queries on it is sooner, where none has more work than so many tests of
#: candidates. One with more does not wait for memory (measured on an H100).
_AS_BYTES = {
    2: ((6 << 20, 60.0), (1 << 23, 140.0), (1 << 24, 160.0)),
    3: ((6 << 20, 116.0), (1 << 23, 140.0), (1 << 24, 160.0)),
}
_IN_PAIRS = {2: ((3 << 20, 60.0),), 3: ((3 << 20, 130.0), (1 << 23, 200.0))}

#: Answers in their first form take no more than this share of the memory that the device has left.
_SHARE = 1 / 8


def count_for_list(index: Index, ask: QueryRequest, marks: FirstPass | None = None) -> Counts:
    """Enqueue the count of a checked query: counts by themselves, or as `marks` have them."""
    if marks is None:
        counts = index.session.scratch(ask.m, INT, purpose="the neighbor counts")
        count_into(index, ask, counts)
        return counts
    rows = marks.counts(index.session, ask.m)
    index.run(own_function("count"), ask, [rows], marks=marks)
    return rows


def count_into(index: Index, ask: QueryRequest, counts: Counts) -> cl.Event | None:
    """Enqueue the count of a checked query, into (m,) int32 that begin where their buffer does."""
    disorder = _disorder(index, ask, _AS_BYTES)
    small = None if disorder is None else _room(index, ask.m, _BYTE)
    if disorder is None or small is None:
        return index.run(own_function("count"), ask, [counts])
    index.run(own_function("count", small=True), ask, [counts, small, *disorder.arguments])
    return widen(index.session, small, counts, asked=disorder)


def find_nearest(index: Index, ask: QueryRequest, indices: cla.Array, distances: cla.Array) -> cl.Event | None:
    """Enqueue the nearest neighbors of a checked query, into (m,) int32 and (m,) of the points' dtype."""
    disorder, word = _disorder(index, ask, _IN_PAIRS), "int" if index.dtype.itemsize == INT.itemsize else "long"
    pairs = None if disorder is None else _room(index, 2 * ask.m, index.dtype)
    if disorder is None or pairs is None:
        return index.run(own_function("nearest"), ask, [indices, distances])
    given = [indices, distances, pairs, *disorder.arguments]
    index.run(own_function("nearest", pairs=word), ask, given)
    return part(index.session, pairs, indices, distances, asked=disorder)


def answers_in_words(index: Index, ask: QueryRequest) -> list[str]:
    """A line about what is written in another form first, if anything is."""
    forms = ("counts as bytes", _AS_BYTES), ("nearest neighbors in pairs", _IN_PAIRS)
    first = [form for form, limits in forms if _disorder(index, ask, limits) is not None]
    return [f"written first, unless points come nearly sorted: {', '.join(first)}"] if first else []


def _disorder(index: Index, ask: QueryRequest, limits: _Limits) -> Scratch | None:
    """What the device says of the order of queries, where that decides in what form their answers are written first."""
    tiers = limits.get(index.dim)
    if tiers is None or ask.m < tiers[0][0]:  # most steps, which this should cost nothing
        return None
    most = max(work for many, work in tiers if ask.m >= many)
    disorder = index.disorder(ask)
    return disorder if disorder is not None and index.work_of_query <= most else None


def _room(index: Index, size: int, dtype: np.dtype[Any]) -> Scratch | None:
    """Memory for answers in their first form; None where that is too much, as they can do without."""
    _, available = index.session.available()
    if size * dtype.itemsize > available * _SHARE:
        return None
    try:
        return index.session.scratch(size, dtype, purpose="answers in the order of search")
    except DeviceMemoryError:
        return None
