"""Comparison of the searches of a case with the reference."""

from __future__ import annotations

import dataclasses

from ..errors import NoDeviceError
from ..runtime.session import Session
from .case import Case
from .kinds import KINDS
from .questions import questions

__all__ = ["Outcome", "run_case"]

#: The kinds of searches that a case compares: counts are the lengths of the rows of lists.
_KINDS = ("lists", "nearest")


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
            differences = [line for kind in _KINDS for line in KINDS[kind](session, case, asked)]
        except NoDeviceError as refusal:
            outcome.refused.append(f"{asked.name}: {refusal}")
            continue
        outcome.differences.extend(differences)
        outcome.pairs += len(asked.expected.indices)
    return outcome
