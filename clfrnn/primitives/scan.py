"""Scan: exclusive prefix sums of int32 counts, with int32 or int64 totals."""

from __future__ import annotations

from typing import Any, TypeAlias

import pyopencl.array as cla

from ..plan import plan_scan, plan_short_scan
from ..session import INT, LONG, Scratch, Session
from .shares import share_out

__all__ = ["Counts", "exclusive_scan"]

#: So many counts one group has scanned before two launches would have, where those of several do not pay (measured).
_FEW = 1 << 14

#: So many are scanned in one launch by groups of which each sums up what comes before its tile, by kind of device: on a
#: GPU these reads take less than the launch does that they spare (measured).
_SOME = {"gpu": 1 << 17}

_CTYPE = {INT: "int", LONG: "long"}


Counts: TypeAlias = cla.Array | Scratch


def exclusive_scan(session: Session, counts: Counts, starts: Counts, total: Scratch | None = None) -> None:
    """Enqueue the exclusive scan of int32 `counts`, (n,), into `starts`, (n + 1,), int32 or int64, the total last.

    Of `counts` that are (n, 2), the first of each two numbers is one. They begin where their buffer does.

    With `total`, one int64, sums are int64 and the whole one is written there too; without it, or in int32 `starts`,
    the total must stay below 2**31. Two launches, two passes, for few counts one of each; nothing is waited for.
    """
    stride = counts.shape[1] if isinstance(counts, cla.Array) and counts.ndim > 1 else 1
    n, alone = counts.size // stride, session.profile.kind not in _SOME
    few = counts.size <= _SOME.get(session.profile.kind, _FEW)
    sums, out = INT if total is None else LONG, _CTYPE[starts.dtype]
    plan = plan_short_scan if few else plan_scan
    kernels, config = session.planned("scan", plan, total=_CTYPE[sums], out=out, stride=stride)
    size = config.work_group_size
    told: tuple[Any, ...] = () if total is None else (total.base_data, total.offset // LONG.itemsize)
    if few:
        span = max(1, n) if alone else size * config.items
        items = size * max(1, -(-n // span))
        session.launch(kernels["scan_few"], items, size, n, span, counts.base_data, starts.base_data, *told)
        return
    groups, span = share_out(session.profile, n, size * config.items)
    partials = session.scratch(groups, sums, purpose="the sums of shares")
    shares = (n, span, counts.base_data, partials.base_data)
    session.launch(kernels["sum_shares"], groups * size, size, *shares)
    session.launch(kernels["scan_shares"], groups * size, size, *shares, starts.base_data, *told)
