"""Kinds of searches: how the lists, counts, nearest neighbors and functions of a question are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .. import reference
from ..api import build_index, nearest, search
from ..functions import NeighborFunction
from ..index import Index
from ..runtime.session import Session
from .case import Case
from .questions import NEAREST, Question

__all__ = ["KINDS"]

#: The sum of a query's neighbors, each mixed of its index, its squared distance and its first shift. Sums of integers
#: do not depend on the order of neighbors, and a pair that is missing, doubled or rounded otherwise changes them.
_MIX = "sum += (({bits}(d2) ^ (ulong){shift}) + 1) * ((ulong)j * 2654435761UL + 1);"

#: The factor of an index above.
_FACTOR = np.uint64(2654435761)


def _lists(session: Session, case: Case, asked: Question) -> Iterator[str]:
    """A sorted list with distances and vectors."""
    found = search(
        asked.points,
        asked.radius,
        **asked.domain,
        where=asked.where,
        method=case.method,
        sort="index",
        distances=True,
        vectors=True,
        session=session,
        **case.options,
    ).to_host()
    if difference := _difference(found, asked.expected, subnormals=session.profile.subnormals):
        radius = asked.radius if np.ndim(asked.radius) == 0 else "per query"
        yield f"{asked.name} (radius {radius}): {difference}"


def _nearest(session: Session, case: Case, asked: Question) -> Iterator[str]:
    """The k nearest neighbors, within each reach of the question."""
    given = {"method": case.method, "session": session, "vectors": True, **case.options, **asked.domain}
    for reach, expected in zip(asked.reaches, asked.nearest, strict=True):
        found = nearest(asked.points, NEAREST, radius=reach, **given).to_host()
        tiny = (expected.distances > 0) & (expected.distances < np.sqrt(np.finfo(case.dtype).tiny))
        if _flushes(session, case) and tiny.any():
            continue  # squares that vanish change the order
        if different := _differing(found, expected, ("indices", "distances", "vectors", "shifts")):
            reached = "no radius" if reach is None else "within the radius"
            yield f"{asked.name} ({reached}): {', '.join(different)} of the {NEAREST} nearest neighbors differ"


def _counts(session: Session, case: Case, asked: Question) -> Iterator[str]:
    """The number of neighbors of each query."""
    index, asking = _index(session, case, asked)
    found, expected = index.count(**asking).get(), np.diff(asked.expected.offsets)
    index.check()
    if not np.array_equal(found, expected) and not _vanishing(session, case, asked):
        query = int(np.flatnonzero(found != expected)[0])
        yield f"{asked.name}: query {query} has {expected[query]} neighbors, counted were {found[query]}"


def _user_code(session: Session, case: Case, asked: Question) -> Iterator[str]:
    """A user's function that mixes what it is given of each neighbor into one number for each query."""
    index, asking = _index(session, case, asked)
    single = case.dtype == np.float32
    mixed = NeighborFunction(
        arguments="global ulong *mixed",
        state="ulong sum = 0;",
        per_neighbor=_MIX.format(
            bits="(ulong)as_uint" if single else "as_ulong", shift="shift" if case.dim == 1 else "shift.s0"
        ),
        finish="mixed[i] = sum;",
    )
    expected = _mixed(asked.expected, np.uint32 if single else np.uint64)
    found = index.zeros(len(expected), np.uint64)
    index.visit(mixed, mixed=found, **asking)
    index.check()
    different = np.flatnonzero(found.get() != expected)
    if len(different) and not _vanishing(session, case, asked):
        yield f"{asked.name}: a function of the neighbors of query {different[0]} differs"


#: What users want of an index, by the name of a kind, and the function that gives a line for each difference.
KINDS: dict[str, Callable[[Session, Case, Question], Iterator[str]]] = {
    "lists": _lists,
    "counts": _counts,
    "nearest": _nearest,
    "user code": _user_code,
}


def _index(session: Session, case: Case, asked: Question) -> tuple[Index, dict[str, Any]]:
    """An index of the points, and the arguments of its queries."""
    domain = dict(asked.domain)
    queries = domain.pop("queries", None)
    reach = float(np.max(asked.radius))
    index = build_index(asked.points, reach, method=case.method, session=session, **domain, **case.options)
    return index, {"queries": queries, "radius": asked.radius, "where": asked.where}


def _mixed(expected: reference.Neighbors, word: Any) -> Any:
    """What the function of :func:`_user_code` sums up, by numpy."""
    shifts = expected.shifts[:, 0].astype(np.int64).astype(np.uint64)
    each = (expected.squares.view(word).astype(np.uint64) ^ shifts) + np.uint64(1)
    each *= expected.indices.astype(np.uint64) * _FACTOR + np.uint64(1)
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(each)])
    return sums[expected.offsets[1:]] - sums[expected.offsets[:-1]]


def _flushes(session: Session, case: Case) -> bool:
    return not session.profile.subnormals and case.dtype == np.float32


def _vanishing(session: Session, case: Case, asked: Question) -> bool:
    """Whether pairs may differ as the device flushes their squared distances to zero."""
    squares = asked.expected.squares
    return _flushes(session, case) and bool(((squares > 0) & (squares < np.finfo(np.float32).tiny)).any())


def _differing(found: Any, expected: Any, names: tuple[str, ...]) -> list[str]:
    """The names of the arrays of a result that differ; results do not have all of them."""
    there = [name for name in names if getattr(found, name) is not None]
    return [name for name in there if not np.array_equal(getattr(found, name), getattr(expected, name))]


def _difference(found: Any, expected: reference.Neighbors, *, subnormals: bool) -> str:
    """The first difference, or "". Without `subnormals`, float32 pairs with subnormal squares are not compared."""
    different = _differing(found, expected, ("offsets", "indices", "distances", "vectors", "shifts"))
    if not different:
        return ""
    mine = set(zip(*(ids.tolist() for ids in found.to_coo()), strict=True))
    rows = np.repeat(np.arange(len(expected.offsets) - 1), np.diff(expected.offsets))
    theirs = dict(zip(zip(rows.tolist(), expected.indices.tolist(), strict=True), expected.squares, strict=True))
    missing, surplus = sorted(theirs.keys() - mine), sorted(mine - theirs.keys())
    if not subnormals and expected.squares.dtype == np.float32 and (missing or surplus):
        tiny = np.finfo(np.float32).tiny
        missing = [pair for pair in missing if not 0 < theirs[pair] < tiny]
        different = different if missing or surplus else []
    if missing or surplus:
        query, point = (missing or surplus)[0]
        return f"{len(missing)} pairs missing, {len(surplus)} too many; query {query} and point {point}"
    if len(found.indices) != len(mine):
        return f"{len(found.indices) - len(mine)} pairs more than once"
    return f"{', '.join(different)} differ" if different else ""
