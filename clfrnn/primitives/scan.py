"""Scan: exclusive prefix sums of int32 counts, with int32 or int64 totals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyopencl.array as cla

from ..planning.primitives import plan_scan, plan_short_scan
from ..runtime.program import Kernel
from ..runtime.scratch import INT, LONG, Scratch
from ..runtime.session import Selection, Session
from .partition import share_out

__all__ = ["Counts", "Packed", "Shares", "counts_between", "exclusive_scan", "is_one_launch", "scan_selection"]

#: So many counts one group has scanned before two launches would have, where those of several do not pay (measured).
_FEW = 1 << 14

#: So many are scanned in one launch by groups of which each sums up what comes before its tile, by kind of device: on a
#: GPU these reads take less than the launch does that they spare (measured).
_SOME = {"gpu": 1 << 17}

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
    if total is None and way.sums is LONG:
        total = session.scratch(1, LONG, purpose="a total that the starts end with")
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
    kernels, config = session.planned(
        "primitives/scan", plan_scan, "counts_between", total="long", out=_CTYPE[starts.dtype], stashed=0
    )
    n = starts.size - 1
    counts = session.scratch(n, INT, purpose="the lengths of rows")
    session.launch(kernels["counts_between"], n, config.work_group_size, n, starts.base_data, counts.base_data)
    return counts


def is_one_launch(session: Session, many: int) -> bool:
    """Whether so many numbers are scanned by one launch, of which each group sums up for itself what comes before."""
    return many <= _SOME.get(session.profile.kind, _FEW)


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


def scan_selection(session: Session, n: int, starts: np.dtype[Any]) -> Selection:
    """What :func:`exclusive_scan` launches for n counts without a `total`, to be compiled with other kernels."""
    return _select(session, (n, 0), starts, whole=False, shift=None)[0]


def _select(
    session: Session, lie: tuple[int, int], starts: np.dtype[Any], whole: bool, shift: int | None
) -> tuple[Selection, np.dtype[Any]]:
    """The kernels that scan so many counts, see :func:`_find_way`, and the type of their sums.

    That is long on a CPU in any case: one program then serves all scans there, and they take no longer.
    """
    (n, stashed), profile = lie, session.profile
    few = shift is None and is_one_launch(session, n)
    names = ("scan_summed",) if shift is not None else ("scan_few",) if few else ("sum_shares", "scan_shares")
    sums = LONG if whole or profile.kind == "cpu" else INT
    plan = plan_short_scan if few else plan_scan
    config = plan(profile, total=_CTYPE[sums], out=_CTYPE[starts], stashed=stashed)
    return Selection("primitives/scan", config, names), sums


def _find_way(session: Session, lie: tuple[int, int], starts: np.dtype[Any], whole: bool, shift: int | None) -> _Way:
    """For so many counts, in packed rows of a stash of so many slots; the `whole` sum is written apart, too.

    Of counts that were added up by shares of ``1 << shift`` each share is a group's.
    """
    n, alone = lie[0], session.profile.kind not in _SOME
    selection, sums = _select(session, lie, starts, whole, shift)
    few = "scan_few" in selection.names
    kernels, config = session.selected(selection)
    group, tile = config.work_group_size, config.work_group_size * config.items
    if shift is not None:
        span, groups = shift, -(-n >> shift)
    elif few:
        span = max(1, n) if alone else tile
        groups = max(1, -(-n // span))
    else:
        groups, span = share_out(session.profile, n, tile)
    return _Way(kernels=kernels, work_group_size=group, items=groups * group, n=n, span=span, sums=sums, few=few)
