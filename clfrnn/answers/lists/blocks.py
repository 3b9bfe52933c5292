"""Lists in blocks of consecutive queries, each within a limit of bytes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...errors import DeviceMemoryError
from ...host.locks import LockedIterator
from ...methods.request import QueryRequest
from ...methods.traversal import Traversal
from ...results import NeighborList
from ..count_nearest import count_for_list
from .budget import check_memory, fits
from .columns import Columns, offset_type
from .plan import plan_list
from .rows import Rows
from .two_pass import list_problem

__all__ = ["list_blocks"]


def list_blocks(
    traversal: Traversal, request: QueryRequest, columns: Columns, *, max_bytes: int
) -> Iterator[NeighborList]:
    """Lists of consecutive ranges of the queries, in order, each of at most `max_bytes`. The count is made at once."""
    session = traversal.session
    request = request.owned_for_blocks(session)
    per_row = session.read(count_for_list(traversal, request)).astype(np.int64)
    traversal.checks.settle()
    facts, problem = traversal.structure.list_facts, list_problem(traversal, request)
    plan = plan_list(problem, columns, facts, session.profile, session.tuning, memory=session.available())
    measured = plan.attributes == "measured"
    rows = Rows(traversal=traversal, request=request, columns=columns, measured=measured, bounded=True)
    # Where there is no memory for a copy of queries, they still belong to the caller, who may change them.
    rows = rows.with_points() if request.queries is None or request.divisible else rows.with_row()
    return LockedIterator(session, _blocks(rows, np.concatenate([[0], np.cumsum(per_row)]), max_bytes))


def _blocks(rows: Rows, starts: Any, max_bytes: int) -> Iterator[NeighborList]:
    session, columns, m = rows.traversal.session, rows.columns, rows.request.m
    first = 0
    while first < m:
        end = _last_row_that_fits(columns, starts, first, max_bytes)
        pairs = int(starts[end] - starts[first])
        if end == first:
            pairs = int(starts[first + 1] - starts[first])
            needed = columns.footprint(1, pairs)[1]
            raise DeviceMemoryError(
                f"max_bytes: row {first} alone has {pairs:,} pairs and needs {needed:,} bytes, {max_bytes:,} were "
                f"allowed. Nothing was truncated. Pass max_bytes={needed}, or take a smaller radius",
                needed=needed,
                available=max_bytes,
            )
        if not fits(session, columns, end - first, pairs):
            rows = rows.with_row()  # the memory of the points may be what is missing
        check_memory(session, columns, end - first, pairs)
        yield _block(rows, first, end, starts)
        first = end


def _block(rows: Rows, first: int, end: int, starts: Any) -> NeighborList:
    """The list of the queries from `first` up to, not including, `end`; `starts` are the offsets of all rows."""
    traversal, pairs = rows.traversal, int(starts[end] - starts[first])
    offsets = (starts[first : end + 1] - starts[first]).astype(offset_type(pairs))
    uploaded = traversal.session.upload(offsets, purpose="the offsets of a block")
    part = dataclasses.replace(rows, request=traversal.structure.part_of(rows.request, first, end))
    return part.as_list(part.cut(part.fill(part.allocate(uploaded, pairs, capacity=pairs)), pairs))


def _last_row_that_fits(columns: Columns, starts: Any, first: int, max_bytes: int) -> int:
    """The end of the longest block from `first` on that fits; `first` where no row fits."""
    low, high = first, len(starts) - 1
    while low < high:
        middle = (low + high + 1) // 2
        if columns.footprint(middle - first, int(starts[middle] - starts[first]))[1] <= max_bytes:
            low = middle
        else:
            high = middle - 1
    return low
