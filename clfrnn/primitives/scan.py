"""Scan: exclusive prefix sums of int32 counts, with int32 or int64 totals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyopencl.array as cla

from ..planning.primitives import plan_scan, plan_short_scan
from ..runtime.program import Kernel
from ..runtime.scratch import INT, LONG, Scratch
from ..runtime.session import Session
from .partition import share_out

__all__ = ["Counts", "Packed", "Shares", "counts_between", "exclusive_scan", "is_one_launch"]

_CTYPE = {INT: "int", LONG: "long"}


Counts: TypeAlias = cla.Array | Scratch


class Packed(NamedTuple):
    """The stash whose places counts are packed with, and its slots for each query.

    It also holds the counts of queries that have more neighbors than slots.
    """

    slots: int
    stash: Scratch


class Shares(NamedTuple):
    """Sums over shares of ``1 << shift`` counts, each in a sector of memory, and others to be cleared meanwhile."""

    shift: int
    sums: Scratch
    last: Scratch


def exclusive_scan(
    session: Session,
    counts: Counts,
    starts: Counts,
    total: Scratch | None = None,
    *,
    packed: Packed | None = None,
    shares: Shares | None = None,
) -> None:
    """Enqueue the exclusive scan of int32 `counts`, (n,), into `starts`, (n + 1,), int32 or int64, the total last.

    The `counts` begin where their buffer does, and may be `packed` with something else.

    With `total`, one int64, sums are int64 and the whole one is written there too; without it, or in int32 `starts`,
    the total must stay below 2**31. Two launches, two passes, for few counts and such as were added up in `shares` one
    of each; nothing is waited for.
    """
    lie = counts.size, packed.slots if packed else 0
    way = session.once(_find_way, lie, starts.dtype, total is not None, shares and shares.shift)
    told: tuple[Any, ...] = () if total is None else total.arguments
    read = (counts.base_data,) if packed is None else (counts.base_data, packed.stash.base_data)
    kernels, size, spans = way.kernels, way.work_group_size, (way.n, way.span, *read)
    if shares is not None:
        given = *spans, shares.sums.base_data, shares.last.base_data, starts.base_data, *told
        session.launch(kernels["scan_summed"], way.items, size, *given)
    elif way.few:
        session.launch(kernels["scan_few"], way.items, size, *spans, starts.base_data, *told)
    else:
        partials = session.scratch(way.items // size, way.sums, purpose="the sums of shares").base_data
        session.launch(kernels["sum_shares"], way.items, size, *spans, partials)
        session.launch(kernels["scan_shares"], way.items, size, *spans, partials, starts.base_data, *told)


def counts_between(session: Session, starts: cla.Array) -> Scratch:
    """Enqueue the counts that `starts`, (n + 1,), were found from, int32 ones that have come round 2**32 too."""
    kernels, config = session.planned("primitives/scan", plan_scan, total="long", out=_CTYPE[starts.dtype], stashed=0)
    n = starts.size - 1
    counts = session.scratch(n, INT, purpose="the lengths of rows")
    session.launch(kernels["counts_between"], n, config.work_group_size, n, starts.base_data, counts.base_data)
    return counts


def is_one_launch(session: Session, many: int) -> bool:
    """Whether so many numbers are scanned by one launch, of which each group sums up for itself what comes before."""
    return many <= session.tuning.primitives.one_launch_counts


class _Way(NamedTuple):
    """How so many counts are scanned: by groups of items with a span each, and by what they pass on, if any do.

    The span of counts that were added up is said as a power of two.
    """

    kernels: Mapping[str, Kernel]
    work_group_size: int
    items: int
    n: int
    span: int
    sums: np.dtype[Any]
    few: bool


def _find_way(session: Session, lie: tuple[int, int], starts: np.dtype[Any], whole: bool, shift: int | None) -> _Way:
    """For so many counts, in packed rows of a stash of so many slots; the `whole` sum is written apart, too.

    Of counts that were added up by shares of ``1 << shift`` each share is a group's.
    """
    # A GPU shares tiles among groups in one launch, too: to read what comes before takes each less than a launch.
    (n, stashed), alone = lie, session.profile.kind != "gpu"
    few = shift is None and is_one_launch(session, n)
    sums, out = LONG if whole else INT, _CTYPE[starts]
    plan = plan_short_scan if few else plan_scan
    kernels, config = session.planned("primitives/scan", plan, total=_CTYPE[sums], out=out, stashed=stashed)
    group, tile = config.work_group_size, config.work_group_size * config.items
    if shift is not None:
        span, groups = shift, -(-n >> shift)
    elif few:
        span = max(1, n) if alone else tile
        groups = max(1, -(-n // span))
    else:
        groups, span = share_out(session.profile, session.tuning, n, tile)
    return _Way(kernels=kernels, work_group_size=group, items=groups * group, n=n, span=span, sums=sums, few=few)
