"""Lists in blocks: consecutive ranges of queries, each within a budget."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import DeviceMemoryError
from ..inputs.request import QueryRequest
from ..queries.count_nearest import count_for_list
from ..results import NeighborList
from .budget import check_room, fits
from .columns import Columns, offset_type
from .rows import Rows, begin_rows

if TYPE_CHECKING:
    from ..index import Index

__all__ = ["list_blocks"]


def list_blocks(index: Index, ask: QueryRequest, spec: Columns, *, max_bytes: int) -> Iterator[NeighborList]:
    """Lists of consecutive ranges of the queries, each of at most `max_bytes`, in order. Counts are made at once."""
    ask = ask.kept_for_parts(index.session)
    per_row = index.session.read(count_for_list(index, ask)).astype(np.int64)
    index.watch.settle()
    listing = begin_rows(index, ask, spec)
    # Without memory for a copy, queries that walks read a copy of are still the caller's own.
    listing = listing.with_points() if ask.queries is None or ask.parted else listing.visited()
    return _blocks(listing, np.concatenate([[0], np.cumsum(per_row)]), max_bytes)


def _blocks(listing: Rows, places: Any, max_bytes: int) -> Iterator[NeighborList]:
    index, ask, spec = listing.index, listing.ask, listing.spec
    first = 0
    while first < ask.m:
        end = _last_row_that_fits(spec, places, first, max_bytes)
        pairs = int(places[end] - places[first])
        if end == first:
            pairs = int(places[first + 1] - places[first])
            needed = spec.bytes(1, pairs)
            raise DeviceMemoryError(
                f"max_bytes: row {first} alone has {pairs:,} pairs and needs {needed:,} bytes, {max_bytes:,} were "
                f"allowed. Nothing was truncated. Pass max_bytes={needed}, or take a smaller radius",
                needed=needed,
                available=max_bytes,
            )
        if not fits(index, spec, end - first, pairs):
            listing = listing.visited()  # the memory of points to measure by may be what is missing
        check_room(index, spec, end - first, pairs)
        yield _block(listing, first, end, places)
        first = end


def _block(listing: Rows, first: int, end: int, places: Any) -> NeighborList:
    """The list of queries from `first` on to `end` alone, whose rows begin at `places`."""
    index, pairs = listing.index, int(places[end] - places[first])
    offsets = (places[first : end + 1] - places[first]).astype(offset_type(pairs))
    placed = index.session.upload(offsets, purpose="the offsets of a block")
    part = dataclasses.replace(listing, ask=index.part_of(listing.ask, first, end))
    return part.hand_over(part.cut(part.fill(placed, pairs=pairs, room=pairs), pairs))


def _last_row_that_fits(spec: Columns, places: Any, first: int, max_bytes: int) -> int:
    """The row behind the last one of the longest block from `first` on; `first` itself where no row fits."""
    low, high = first, len(places) - 1
    while low < high:
        middle = (low + high + 1) // 2
        if spec.bytes(middle - first, int(places[middle] - places[first])) <= max_bytes:
            low = middle
        else:
            high = middle - 1
    return low
