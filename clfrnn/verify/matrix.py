"""Matrix: every method, dimension and dtype by where points lie and what is asked for, each compared or refused."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from ..errors import NoDeviceError
from ..methods import METHODS
from ..points.argument_types import MethodName
from ..runtime.session import Session
from .case import Case
from .kinds import KINDS
from .questions import Question, questions

__all__ = ["DOMAINS", "DTYPES", "Cell", "Row", "rows", "run_row"]

#: Where points lie: without a box, in a periodic box, in a cell that is not rectangular, in many systems at once.
DOMAINS = ("open", "periodic", "cell", "systems")

#: What may become of a search.
Outcome = Literal["passed", "refused", "failed"]

DTYPES = ("float32", "float64")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Row:
    """A method in a dimension and a dtype."""

    method: MethodName
    dim: int
    dtype: str

    @property
    def domains(self) -> tuple[str, ...]:
        """Where points of this dimension may lie."""
        return tuple(domain for domain in DOMAINS if domain != "cell" or self.dim in (2, 3))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cell:
    """What became of one kind of search in one domain.

    It "passed" where every search gave the reference's result to the last bit; it was "refused" where the device
    cannot make a search and says so; it "failed" where a result differs, or a search ended with another error.
    """

    domain: str
    kind: str
    outcome: Outcome
    #: the pairs of the reference in the clouds that were compared
    pairs: int
    #: why it was refused or failed, else ""
    reason: str = ""


def rows() -> list[Row]:
    """Every method in each of its dimensions and dtypes."""
    return [
        Row(method=method.name, dim=dim, dtype=dtype)
        for method in METHODS.values()
        for dim in sorted(method.dims)
        for dtype in DTYPES
    ]


def run_row(session: Session, row: Row, *, seed: int, points: int, quick: bool = True) -> list[Cell]:
    """Compare each kind of search in each domain of a row.

    Where `quick`, the method has its default options, and all points search alike: with one radius, themselves, without
    a condition. Else every variation of the method is asked every question.
    """
    if row.dtype == "float64" and not session.profile.fp64:
        return _alike(row, "refused", "the device has no float64")
    variations = ({},) if quick else METHODS[row.method].variations
    try:
        asked = [
            (case, question)
            for case in (_case(row, options, seed, points) for options in variations)
            for question in questions(session, case)
            if question.plain or not quick
        ]
    except Exception as error:  # noqa: BLE001 — clouds on edges are made with indices, and the other rows are compared
        return _alike(row, "failed", f"{type(error).__name__}: {error}")
    return list(_cells(session, row, asked))


def _alike(row: Row, outcome: Outcome, reason: str) -> list[Cell]:
    """The cells of a row in which nothing was compared."""
    facts: dict[str, Any] = {"outcome": outcome, "pairs": 0, "reason": reason}
    return [Cell(domain=domain, kind=kind, **facts) for domain in row.domains for kind in KINDS]


def _case(row: Row, options: dict[str, Any], seed: int, points: int) -> Case:
    dtype = np.dtype(row.dtype)
    return Case(method=row.method, options=options, dim=row.dim, dtype=dtype, seed=seed, points=points)


def _cells(session: Session, row: Row, asked: list[tuple[Case, Question]]) -> Iterator[Cell]:
    for domain in row.domains:
        here = [(case, question) for case, question in asked if question.kind_of_domain == domain]
        for kind in KINDS:
            compared = [each for each in here if kind != "nearest" or each[1].reaches]
            yield _cell(session, domain, kind, compared)


def _cell(session: Session, domain: str, kind: str, asked: list[tuple[Case, Question]]) -> Cell:
    """One kind of search, asked all questions of a domain."""
    wrong, refused, clouds, pairs = [], [], 0, 0
    for case, question in asked:
        try:
            wrong += [f"{case}: {line}" for line in KINDS[kind](session, case, question)]
        except NoDeviceError as refusal:
            refused.append(f"{question.name}: {refusal}")
            continue
        except Exception as error:  # noqa: BLE001 — whatever a driver makes of it, the other cells are compared
            wrong.append(f"{case}: {question.name}: {type(error).__name__}: {error}")
            continue
        clouds += 1
        pairs += len(question.expected.indices)
    reason = next(iter([*wrong, *refused]), "")
    if refused and not wrong and clouds:
        reason = f"{len(refused)} of {len(asked)} clouds; {reason}"
    outcome: Outcome = "failed" if wrong else "refused" if refused else "passed"
    return Cell(domain=domain, kind=kind, outcome=outcome, pairs=pairs, reason=reason)
