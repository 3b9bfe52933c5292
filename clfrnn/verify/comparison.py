"""Comparison of the searches of a case with the reference."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import reference
from ..api import search
from ..errors import NoDeviceError
from ..k_nearest import nearest
from ..runtime.session import Session
from .case import Case
from .questions import NEAREST, Question, questions

__all__ = ["Outcome", "run_case"]


@dataclasses.dataclass(kw_only=True)
class Outcome:
    """The result of a case: the number of pairs, a line for each cloud with a difference, and one for each refused."""

    case: Case
    pairs: int
    differences: list[str]
    #: the searches that the device cannot make without losing pairs, which say so
    refused: list[str] = dataclasses.field(default_factory=list)


def run_case(session: Session, case: Case) -> Outcome:
    """Compare counts, pairs, distances and vectors with numpy's, to the last bit, for each question of the case.

    The k nearest neighbors are compared too, within the radius, and without one where a point lies far away.
    """
    outcome = Outcome(case=case, pairs=0, differences=[])
    for asked in questions(session, case):
        try:
            differences = list(_differences(session, case, asked))
        except NoDeviceError as refusal:
            outcome.refused.append(f"{asked.name}: {refusal}")
            continue
        outcome.differences.extend(differences)
        outcome.pairs += len(asked.expected.indices)
    return outcome


def _differences(session: Session, case: Case, asked: Question) -> Iterator[str]:
    """A line for each kind of result that differs."""
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
    for reach, expected in zip(asked.reaches, asked.nearest, strict=True):
        if difference := _nearest_difference(session, case, asked, reach, expected):
            yield f"{asked.name} ({'no radius' if reach is None else 'within the radius'}): {difference}"


def _nearest_difference(session: Session, case: Case, asked: Question, reach: Any, expected: reference.Nearest) -> str:
    """The first difference of the k nearest neighbors, or ""."""
    given = {"method": case.method, "session": session, "vectors": True, **case.options, **asked.domain}
    found = nearest(asked.points, NEAREST, radius=reach, **given).to_host()
    tiny = (expected.distances > 0) & (expected.distances < np.sqrt(np.finfo(case.dtype).tiny))
    if not session.profile.subnormals and case.dtype == np.float32 and tiny.any():
        return ""  # squares that vanish change the order
    fields = (name for name in ("indices", "distances", "vectors", "shifts") if getattr(found, name) is not None)
    different = [name for name in fields if not np.array_equal(getattr(found, name), getattr(expected, name))]
    return f"{', '.join(different)} of the {NEAREST} nearest neighbors differ" if different else ""


def _difference(found: Any, expected: reference.Neighbors, *, subnormals: bool) -> str:
    """The first difference, or "". Without `subnormals`, float32 pairs with subnormal squares are not compared."""
    fields = ("offsets", "indices", "distances", "vectors", "shifts")
    given = [name for name in fields if getattr(found, name) is not None]
    different = [name for name in given if not np.array_equal(getattr(found, name), getattr(expected, name))]
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
