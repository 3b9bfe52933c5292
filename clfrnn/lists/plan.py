"""ListPlan: how one list is made, decided before anything is launched and nowhere else. Pure."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Literal

import numpy as np

from ..first_pass.base import ListFacts
from ..planning.configs import count_bits
from ..planning.tuning import Tuning
from ..profile import DeviceProfile
from ..runtime.scratch import INT, LONG
from .columns import Columns, is_wide

__all__ = ["ListPlan", "ListProblem", "plan_list"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ListProblem:
    """What a list is made of, as far as its plan depends on it."""

    #: queries, and points
    m: int
    n: int
    #: queries are another array than the points; walks read a copy of them in search order
    foreign: bool
    reads_copy: bool
    #: neighbors that are foreseen by the survey, in all
    pairs: float
    #: some axis is periodic
    periodic: bool


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ListPlan:
    """The four decisions about a list."""

    #: what the count leaves for the walk or launch behind it, and the words or slots of that for each query
    first_pass: Literal["none", "hit_mask", "neighbor_buffer"] = "none"
    size: int = 0
    #: the dtype that offsets are first scanned in; a total that it cannot hold has them scanned again
    offsets: np.dtype[Any] = INT
    #: distances, vectors and shifts are written together with the row, or measured afterwards from the indices
    attributes: Literal["with_row", "measured"] = "with_row"
    #: memory for exactly the pairs there are, after a wait for their number; or for some `pairs` before that number is
    #: known, as many as lists before had ("foreseen") or as the caller said ("hinted")
    capacity: Literal["exact", "foreseen", "hinted"] = "exact"
    pairs: int = 0
    #: the walk for queries that overflow a neighbor buffer is enqueued only when one is known to have
    overflow_waits: bool = False


def plan_list(
    problem: ListProblem,
    columns: Columns,
    facts: ListFacts,
    profile: DeviceProfile,
    tuning: Tuning,
    *,
    memory: tuple[int, int],
    foreseen: int | None = None,
    hint: int | None = None,
    overflows: bool = False,
) -> ListPlan:
    """The plan of a list, by the `memory` that one allocation and all together may take.

    `foreseen` is the number of pairs that lists before this one lead to expect, where there is memory for it; `hint`
    that of the caller. `overflows` says that the last such list overflowed its buffer.
    """
    measured = _is_measured(problem, columns, profile, tuning, pairs=foreseen or hint or problem.pairs)
    first_pass, size = _first_pass(problem, facts, tuning, memory, indices_alone=measured or not columns.carried)
    capacity: Literal["exact", "foreseen", "hinted"] = "exact"
    pairs = 0
    if hint is not None:
        capacity, pairs = "hinted", hint
    # Where the driver ends long loops, a sort has to look at the rows first, and waits.
    elif foreseen is not None and not (columns.sort and profile.loop_turns is not None):
        capacity, pairs = "foreseen", foreseen
    waits = first_pass == "neighbor_buffer" and capacity == "foreseen" and not columns.sort and not overflows
    return ListPlan(
        first_pass=first_pass,
        size=size,
        offsets=LONG if is_wide(pairs) else INT,
        attributes="measured" if measured else "with_row",
        capacity=capacity,
        pairs=pairs,
        overflow_waits=waits,
    )


def _is_measured(
    problem: ListProblem, columns: Columns, profile: DeviceProfile, tuning: Tuning, *, pairs: float
) -> bool:
    """Whether a list is sooner written as indices alone, and the rest of it found from these.

    A GPU takes as long for one number of a row as for a sector of memory: indices alone are written by sectors, and
    what follows from them pair by pair. Where a query may see two images of a point, an index does not say which.
    """
    if not columns.carried or columns.images or profile.kind != "gpu":
        return False
    numbers = tuning.lists
    return pairs * columns.carried >= numbers.attributes_apart + numbers.attributes_apart_of_point * problem.n


def _first_pass(
    problem: ListProblem, facts: ListFacts, tuning: Tuning, memory: tuple[int, int], *, indices_alone: bool
) -> tuple[Literal["none", "hit_mask", "neighbor_buffer"], int]:
    """What the count leaves: a buffer of few neighbors, else a mask of many, as far as there is memory."""
    largest, available = memory
    most = min(largest, int(available * tuning.lists.first_pass_share))
    m, slots = problem.m, facts.slots
    if indices_alone and slots and m and (not problem.foreign or problem.reads_copy):
        packs = (m - 1).bit_length() + count_bits(slots) <= 32
        if packs and m * slots * INT.itemsize <= most:
            return "neighbor_buffer", slots
    # A mask says which candidate is a neighbor, and not in what image.
    if facts.mask_words and m and (indices_alone or not problem.periodic):
        words = (most - m * INT.itemsize) // (m * facts.mask_word_bytes) - facts.mask_spare
        words = min(words, math.ceil(facts.mask_words))
        if words > 0:
            return "hit_mask", words
    return "none", 0
