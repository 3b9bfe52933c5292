"""Scan: exclusive prefix sums of int32 counts, with int32 or int64 totals."""

from __future__ import annotations

import dataclasses
from typing import TypeAlias

import numpy as np
import pyopencl.array as cla

from ..plan import plan_scan, plan_short_scan
from ..session import INT, LONG, Scratch, Session
from .shares import share_out

__all__ = ["ShareSums", "exclusive_scan", "finish_scan", "sum_shares"]

#: So many counts one group has scanned before three launches would have (measured).
_FEW = 1 << 14

_CTYPE = {INT: "int", LONG: "long"}


Counts: TypeAlias = cla.Array | Scratch


@dataclasses.dataclass(frozen=True, kw_only=True)
class ShareSums:
    """A scan halfway: where each group's share starts, and behind them the total."""

    counts: Counts
    partials: Scratch
    groups: int
    span: int

    @property
    def total(self) -> Scratch:
        """Where the sum of all counts lies."""
        dtype = self.partials.dtype
        return Scratch(self.partials.base_data, 1, dtype, self.groups * dtype.itemsize)


def sum_shares(session: Session, counts: Counts, *, total: str = "long") -> ShareSums:
    """Enqueue the first half of a scan, after which the total is known. Two launches, one pass."""
    n = counts.size
    kernels, config = session.planned("scan", plan_scan, total=total, out="int")
    size = config.work_group_size
    groups, span = share_out(session.profile, n, size * config.items)
    partials = session.scratch(groups + 1, LONG if total == "long" else INT, purpose="the sums of shares")
    session.launch(
        kernels["sum_shares"],
        groups * size,
        size,
        np.int32(n),
        np.int32(span),
        counts.base_data,
        partials.base_data,
    )
    session.launch(kernels["scan_partials"], size, size, np.int32(groups), partials.base_data)
    return ShareSums(counts=counts, partials=partials, groups=groups, span=span)


def finish_scan(session: Session, sums: ShareSums, starts: Counts) -> None:
    """Enqueue the second half into `starts`, (n + 1,) int32 or int64. One launch, one pass."""
    total = _CTYPE[sums.partials.dtype]
    kernels, config = session.planned("scan", plan_scan, total=total, out=_CTYPE[starts.dtype])
    session.launch(
        kernels["scan_shares"],
        sums.groups * config.work_group_size,
        config.work_group_size,
        np.int32(sums.counts.size),
        np.int32(sums.span),
        sums.counts.base_data,
        sums.partials.base_data,
        starts.base_data,
    )


def exclusive_scan(session: Session, counts: Counts, starts: Counts) -> None:
    """Enqueue the exclusive scan of int32 `counts`, (n,), into int32 `starts`, (n + 1,), the total last.

    The total must stay below 2**31. Three launches, two passes, for few counts one of each; nothing is waited for.
    """
    if counts.size <= _FEW:
        kernels, config = session.planned("scan", plan_short_scan, total="int", out="int")
        size = config.work_group_size
        session.launch(kernels["scan_few"], size, size, np.int32(counts.size), counts.base_data, starts.base_data)
        return
    finish_scan(session, sum_shares(session, counts, total="int"), starts)
