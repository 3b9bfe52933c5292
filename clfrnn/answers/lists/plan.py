"""ListPlan: how one list is made, decided in one place before anything is launched. Pure."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Literal

import numpy as np

from ...config import INT, LONG, count_bits
from ...methods.first_pass.plan import ListFacts
from ...profile import DeviceProfile
from ...tuning import Tuning
from .columns import Columns, is_wide

__all__ = ["ListPlan", "ListProblem", "plan_list"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ListProblem:
    """The facts of a list that its plan depends on."""

    #: the numbers of queries and of points
    m: int
    n: int
    #: whether queries are another array than the points, and whether walks read a copy of them in search order
    foreign: bool
    reads_copy: bool
    #: the number of pairs that the survey leads to expect
    pairs: float
    #: whether some axis is periodic
    periodic: bool


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ListPlan:
    """The decisions about how a list is made."""

    #: what the count stores for the walk or launch after it, and the words or slots of that for each query
    first_pass: Literal["none", "hit_mask", "neighbor_buffer"] = "none"
    size: int = 0
    #: the dtype in which offsets are scanned first; where it cannot hold the total, they are scanned again
    offsets: np.dtype[Any] = INT
    #: whether distances, vectors and shifts are written together with the row, or computed from the indices afterwards
    attributes: Literal["with_row", "measured"] = "with_row"
    #: whether memory is allocated for the exact number of pairs, after a wait for that number, or before for `pairs`:
    #: as many as earlier lists had ("foreseen"), or as the caller gave ("hinted")
    capacity: Literal["exact", "foreseen", "hinted"] = "exact"
    pairs: int = 0
    #: whether the walk for queries that overflow a neighbor buffer is enqueued only after one is known to overflow
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
    """Plan a list, within the `memory` that one allocation and all allocations together may take.

    `foreseen` is the number of pairs that earlier lists lead to expect, where there is memory for it; `hint` is that of
    the caller. `overflows` says that the last such list overflowed its neighbor buffer.
    """
    likely = problem.pairs if foreseen is None else foreseen
    measured = _is_measured(problem, columns, profile, tuning, pairs=likely if hint is None else hint)
    first_pass, size = _first_pass(problem, facts, tuning, memory, indices_alone=measured or not columns.num_attributes)
    capacity: Literal["exact", "foreseen", "hinted"] = "exact"
    pairs = 0
    if hint is not None:
        capacity, pairs = "hinted", hint
    # Where the driver bounds loops, a sort reads the lengths of rows first, and waits.
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
    """Whether it is faster to write indices alone and to compute the attributes from them.

    A GPU takes as long to write one number of a row as a sector of memory. Indices alone are written by sectors, and
    attributes pair by pair. Where a query may see two images of a point, an index does not say which image it is.
    """
    if not columns.num_attributes or columns.images or profile.kind != "gpu":
        return False
    numbers = tuning.lists
    return pairs * columns.num_attributes >= numbers.attributes_apart + numbers.attributes_apart_of_point * problem.n


def _first_pass(
    problem: ListProblem, facts: ListFacts, tuning: Tuning, memory: tuple[int, int], *, indices_alone: bool
) -> tuple[Literal["none", "hit_mask", "neighbor_buffer"], int]:
    """What the count stores: a buffer where neighbors are few, else a hit mask, as far as there is memory."""
    largest, available = memory
    most = min(largest, int(available * tuning.lists.first_pass_share))
    m, slots = problem.m, facts.slots
    if indices_alone and slots and m and (not problem.foreign or problem.reads_copy):
        packs = (m - 1).bit_length() + count_bits(slots) <= 32
        if packs and m * slots * INT.itemsize <= most:
            return "neighbor_buffer", slots
    # A hit mask says which candidate is a neighbor, but not in which image.
    if facts.mask_words and m and (indices_alone or not problem.periodic):
        words = (most - m * INT.itemsize) // (m * facts.mask_word_bytes) - facts.mask_spare
        words = min(words, math.ceil(facts.mask_words))
        if words > 0:
            return "hit_mask", words
    return "none", 0
