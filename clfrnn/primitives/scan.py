"""Scan: exclusive prefix sums of int32 counts, with int32 or int64 sums."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyopencl.array as cla

from ..config import INT, LONG
from ..groups import share_out
from ..runtime.program import Kernel
from ..runtime.scratch import Scratch
from ..runtime.session import Selection, Session
from .config import plan_scan, plan_short_scan

__all__ = ["Counts", "Packed", "counts_between", "exclusive_scan", "scan_selection"]

_CTYPE = {INT: "int", LONG: "long"}


Counts: TypeAlias = cla.Array | Scratch


class Packed(NamedTuple):
    """The neighbor buffer that counts are packed with: its slots for each query, and its memory."""

    slots: int
    buffer: Scratch


def exclusive_scan(
    session: Session, counts: Counts, starts: Counts, total: Scratch | None = None, *, packed: Packed | None = None
) -> None:
    """Enqueue the exclusive scan of int32 `counts`, (n,), into `starts`, (n + 1,), int32 or int64, the sum last.

    The `counts` begin where their buffer does, and may be `packed`. With `total`, one int64, sums are int64 and the sum
    of all counts is also written there; without it, or with int32 `starts`, the sum must stay below 2**31. Two launches
    and two passes, or one of each for few counts; nothing is waited for.
    """
    slots = packed.slots if packed else 0
    plan = session.once(_plan_scan, counts.size, slots, starts.dtype, total is not None)
    to_total: tuple[Any, ...] = ()
    if total is not None:
        to_total = total.arguments
    elif plan.sums is LONG:
        to_total = session.scratch(1, LONG, purpose="a total that the starts end with").base_data, 0
    read = (counts.base_data,) if packed is None else (counts.base_data, packed.buffer.base_data)
    kernels, size, spans = plan.kernels, plan.work_group_size, (plan.n, plan.span, *read)
    if plan.few:
        session.launch(kernels["scan_few"], plan.items, size, *spans, starts.base_data, *to_total)
    else:
        partials = session.scratch(plan.items // size, plan.sums, purpose="the sums of shares").base_data
        session.launch(kernels["sum_shares"], plan.items, size, *spans, partials)
        session.launch(kernels["scan_shares"], plan.items, size, *spans, partials, starts.base_data, *to_total)


def counts_between(session: Session, starts: cla.Array) -> Scratch:
    """Enqueue the computation of the int32 counts whose scan is `starts`, (n + 1,), even if starts overflowed."""
    kernels, config = session.planned(
        "primitives/scan", plan_scan, "counts_between", total="long", out=_CTYPE[starts.dtype], buffer_slots=0
    )
    n = starts.size - 1
    counts = session.scratch(n, INT, purpose="the lengths of rows")
    session.launch(kernels["counts_between"], n, config.work_group_size, n, starts.base_data, counts.base_data)
    return counts


class _ScanPlan(NamedTuple):
    """The plan of a scan: groups of work-items with a span of counts each."""

    kernels: Mapping[str, Kernel]
    work_group_size: int
    items: int
    n: int
    span: int
    sums: np.dtype[Any]
    few: bool


def scan_selection(session: Session, n: int, starts: np.dtype[Any]) -> Selection:
    """The kernels that scan n counts without a `total`, so that others can be compiled with them."""
    selection, _ = _select(session, n, 0, starts, whole=False)
    return selection


def _select(
    session: Session, n: int, buffer_slots: int, starts: np.dtype[Any], whole: bool
) -> tuple[Selection, np.dtype[Any]]:
    """The kernels that scan `n` counts, see :func:`_plan_scan`, and the dtype of their sums.

    On a CPU sums are of type long in any case: scans take no longer, and one program serves them all.
    """
    profile, tuning = session.profile, session.tuning
    few = n <= tuning.primitives.one_launch_counts
    sums = LONG if whole or profile.kind == "cpu" else INT
    plan = plan_short_scan if few else plan_scan
    config = plan(profile, tuning, total=_CTYPE[sums], out=_CTYPE[starts], buffer_slots=buffer_slots)
    return Selection("primitives/scan", config, ("scan_few",) if few else ("sum_shares", "scan_shares")), sums


def _plan_scan(session: Session, n: int, buffer_slots: int, starts: np.dtype[Any], whole: bool) -> _ScanPlan:
    """The plan for `n` counts, packed where a buffer has slots; the `whole` sum is also written by itself."""
    # On a GPU groups share the tiles of one launch too: reading all earlier counts takes each group less than a launch.
    alone = session.profile.kind != "gpu"
    selection, sums = _select(session, n, buffer_slots, starts, whole)
    few = "scan_few" in selection.names
    kernels, config = session.selected(selection)
    group, tile = config.work_group_size, config.work_group_size * config.items
    if few:
        span = max(1, n) if alone else tile
        groups = max(1, -(-n // span))
    else:
        groups, span = share_out(session.profile, session.tuning, n, tile)
    return _ScanPlan(kernels=kernels, work_group_size=group, items=groups * group, n=n, span=span, sums=sums, few=few)
