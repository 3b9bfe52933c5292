"""Tally: the number of neighbors of each query, of very many as bytes first, which caches hold more of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyopencl as cl

from ..errors import DeviceMemoryError
from ..primitives.scan import Counts
from ..primitives.widen import widen
from ..profile import DeviceProfile
from ..rendering import own_function
from ..scratch import INT, Scratch

if TYPE_CHECKING:
    from .ask import Ask
    from .handover import Handover
    from .index import Index

__all__ = ["count_for_list", "count_into", "most_tests"]

_BYTE = np.dtype(np.uint8)

#: Queries come in another order than their counts. From so many on, caches let go of lines before other counts come to
#: them, and memory is written in parts, unless counts are bytes; a query with more work than so many tests of
#: candidates would not wait for that (measured on an H100).
_SMALL = ((6 << 20, 116.0), (1 << 23, 140.0), (1 << 24, 160.0))


def most_tests(profile: DeviceProfile, m: int) -> float:
    """The work that each of m queries has at most, in tests of candidates, where counts are sooner as bytes first.

    That is where they come in an order of the walk's own. 0 where it is not.
    """
    if profile.kind != "gpu":
        return 0.0
    return max((tests for many, tests in _SMALL if m >= many), default=0.0)


def count_for_list(index: Index, ask: Ask, marks: Handover | None = None) -> Counts:
    """Enqueue the count of a checked query: counts by themselves, or as `marks` have them."""
    if marks is None:
        counts = index.session.scratch(ask.m, INT, purpose="the neighbor counts")
        count_into(index, ask, counts)
        return counts
    rows = marks.counts(index.session, ask.m)
    index.run(own_function("count"), ask, [rows], marks=marks)
    return rows


def count_into(index: Index, ask: Ask, counts: Counts) -> cl.Event | None:
    """Enqueue the count of a checked query, into (m,) int32 that begin where their buffer does."""
    small = _room_for_bytes(index, ask)
    if small is None:
        return index.run(own_function("count"), ask, [counts])
    index.run(own_function("count", small=True), ask, [counts, small])
    return widen(index.session, small, counts)


def _room_for_bytes(index: Index, ask: Ask) -> Scratch | None:
    """A byte for each query, where counts are written as bytes and there is memory for them."""
    if not index.counts_in_bytes(ask):
        return None
    try:
        return index.session.scratch(ask.m, _BYTE, purpose="the neighbor counts as bytes")
    except DeviceMemoryError:  # they can do without
        return None
