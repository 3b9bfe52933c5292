"""Stash: the numbers of a query's first neighbors, put by in the order of search by a count for the list's rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

from ..errors import DeviceMemoryError
from ..planning.configs import count_bits
from ..planning.primitives import plan_buffer_to_rows
from ..planning.problem import Problem
from ..primitives.scan import Packed
from ..runtime.program import Kernel
from ..runtime.scratch import INT, LONG, Scratch
from ..runtime.session import Session
from .block_sums import Summing

if TYPE_CHECKING:
    from ..index import Index
    from ..inputs.request import QueryRequest

__all__ = ["NeighborBuffer", "make_neighbor_buffer", "slots_for", "slots_that_pay", "stash_for"]

_FLAG = np.dtype(np.uint8)

#: A stash takes no more than this share of what the device has left.
_SHARE = 1 / 8

#: A stash that takes no more bytes is kept for the next list, as long as nobody else needs its memory.
_MOST_KEPT = 1 << 25

#: Numbers that are stored together.
_TOGETHER = 4

#: Slots for so many deviations more than the mean, so that nobody at all has more of them; else so that few do.
_NOBODY, _FEW = 6, 3

#: A stash says by its number that somebody had more neighbors than slots, which nobody has to clear: once that was
#: heard, the next has another. Of what was never heard, as its list failed, a later list may take the number for its
#: own: that is a visit too many, once. Numbers lie far from each other below a prime, so that what memory happened to
#: hold before the first is seldom one of them.
_NUMBERS = itertools.count(1)
_LAST_NUMBER, _APART = 2**31 - 1, 0x9E3779B1


def _draw_number() -> int:
    return next(_NUMBERS) * _APART % _LAST_NUMBER + 1


class NeighborBuffer(Summing):
    """Room for the numbers of up to `slots` neighbors of each unit of a launch."""

    places_rows: ClassVar[bool] = True
    #: what no stash is known to have said: as long as none does, launches have one argument less to set
    unsaid: ClassVar[int] = _draw_number()

    def __init__(self, numbers: Scratch, full: Scratch, slots: int, units: int) -> None:
        self.numbers = numbers
        #: whether a unit has more of them
        self.full = full
        self.slots, self.units = slots, units
        #: see :class:`~clfrnn.first_pass.base.FirstPass`
        self.packed = Packed(slots, numbers)
        #: the neighbors of each query, packed with its place here
        self.rows: cla.Array | None = None
        #: behind this the count leaves the stash's number when a unit has more
        self._total: Scratch | None = None
        self.number = NeighborBuffer.unsaid
        #: what writes rows, by whether their offsets are wide
        self._writers: dict[bool, tuple[Mapping[str, Kernel], int]] = {}

    @property
    def arguments(self) -> tuple[Any, ...]:
        """As kernels take them."""
        total = self._total
        assert total is not None, "nobody has said where to tell the host"
        buffer, place = total.arguments
        told = buffer, place + 1, self.number
        return self.numbers.base_data, self.full.base_data, self.units, *told, *self.sum_arguments

    def tell(self, total: Scratch) -> None:
        """See :class:`~clfrnn.first_pass.base.FirstPass`."""
        self._total, self.number = total, NeighborBuffer.unsaid

    def has_rest(self, told: int) -> bool:
        """Whether a unit had more neighbors than slots. A number that was said is that of no stash from then on."""
        if told != self.number:
            return False
        NeighborBuffer.unsaid = _draw_number()
        return True

    def variant(self, *, light: bool) -> dict[str, Any]:
        """What is compiled into a visit that fills it, or into one for those whom it has no room for."""
        return {"marks": "stashed" if light else "rest", "stashed": self.slots, "summed": self.adds_up}

    def counts(self, session: Session, m: int) -> cla.Array:
        """Room for packed rows: counts, each with the query's place in the stash."""
        if self.rows is None:
            self.rows = session.allocate(m, INT, purpose="the neighbor counts")
        return self.rows

    def write(self, session: Session, offsets: cla.Array, indices: cla.Array) -> cl.Event | None:
        """Enqueue the rows of queries that it had room for, as far as `indices` go; one launch."""
        rows, (kernels, size), capacity = self._writer(session, offsets, indices)
        given = rows.base_data, self.numbers.base_data, offsets.base_data, indices.base_data
        return session.launch(kernels["stashed_rows"], self.units, size, self.units, capacity, *given)

    def place(self, session: Session, offsets: cla.Array, indices: cla.Array) -> cl.Event | None:
        """See :class:`~clfrnn.first_pass.base.FirstPass`."""
        total = self._total
        assert total is not None, "nobody has said where to tell the host"
        rows, (kernels, size), capacity = self._writer(session, offsets, indices)
        return self.read_sums(
            session,
            lambda sums, own, last: session.launch(
                kernels["place_stashed_rows"],
                sums.shares * size,
                size,
                self.units,
                sums.shift,
                capacity,
                rows.base_data,
                self.numbers.base_data,
                own.base_data,
                last.base_data,
                offsets.base_data,
                indices.base_data,
                *total.arguments,
            ),
        )

    def _writer(self, session: Session, offsets: cla.Array, indices: cla.Array) -> tuple[cla.Array, Any, Any]:
        """The rows, kernels and the size of their groups, and how far `indices` go."""
        assert self.rows is not None, "nobody has counted yet"
        wide, pairs = offsets.dtype == LONG, indices.shape[0]
        writer = self._writers.get(wide) or self._find_writer(session, wide=wide)
        return self.rows, writer, np.int64(pairs) if wide else pairs

    def _find_writer(self, session: Session, *, wide: bool) -> tuple[Mapping[str, Kernel], int]:
        offset = "long" if wide else "int"
        kernels, config = session.planned(
            "first_pass/buffer_to_rows", plan_buffer_to_rows, stashed=self.slots, offset=offset
        )
        self._writers[wide] = writer = kernels, config.work_group_size
        return writer

    def prepare(self, session: Session, offsets: cla.Array) -> None:
        """See :class:`~clfrnn.first_pass.base.FirstPass`."""
        self._find_writer(session, wide=offsets.dtype == LONG)

    @property
    def buffers(self) -> dict[str, cla.Array | Scratch]:
        """What it keeps on the device, by name."""
        kept = {"stash_numbers": self.numbers, "stash_full": self.full}
        return kept if self.rows is None else {**kept, "stash_rows": self.rows}

    def give_back(self, index: Index) -> None:
        """See :class:`~clfrnn.first_pass.base.FirstPass`."""
        self._total = None
        if self.units * (INT.itemsize * (self.slots + 1) + _FLAG.itemsize) <= _MOST_KEPT:
            index.kept_stash = self


def slots_for(neighbors: float, spread: float, most: int) -> tuple[int, ...]:
    """Slots that nobody has more neighbors than, and such that few have, by their mean and standard deviation.

    None of them that are more than `most`.
    """
    if not neighbors < most:
        return ()
    some = (_TOGETHER * math.ceil((neighbors + many * spread) / _TOGETHER) for many in (_NOBODY, _FEW))
    return tuple(slots for slots in some if slots <= most)


def slots_that_pay(session: Session, problem: Problem, *, most: int) -> int:
    """Slots of a stash for lists of numbers alone, up to `most`; 0 where none is sooner.

    Not on a CPU: there points lie in columns, and writes to places anywhere wait for nobody.
    """
    if session.profile.kind == "cpu":
        return 0
    survey = problem.survey
    wanted = slots_for(survey.neighbors(problem.radius), survey.spread(problem.radius), most)
    return next(iter(wanted), 0)


def stash_for(index: Index, ask: QueryRequest, slots: int) -> NeighborBuffer | None:
    """A stash of so many slots for a list of numbers alone, where that is sooner: the one before, if it serves."""
    if not slots or (ask.queries is not None and not ask.copied):
        return None
    kept, index.kept_stash = index.kept_stash, None
    if kept is not None and (kept.units, kept.slots) == (ask.m, slots):
        return kept
    del kept  # back to the pool, for the next
    return make_neighbor_buffer(index.session, units=ask.m, slots=slots)


def make_neighbor_buffer(session: Session, *, units: int, slots: int) -> NeighborBuffer | None:
    """Memory for a stash, where that is not much, and all places in it can be told in packed rows."""
    largest, available = session.available()
    told = (units - 1).bit_length() + count_bits(slots) <= 32
    if not told or units * slots * INT.itemsize > min(largest, available * _SHARE):
        return None
    purpose = "the numbers of neighbors"
    try:
        numbers = session.scratch(units * slots, INT, purpose=purpose)
        return NeighborBuffer(numbers, session.scratch(units, _FLAG, purpose=purpose), slots, units)
    except DeviceMemoryError:  # a list can do without
        return None
