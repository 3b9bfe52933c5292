"""Lists: from a checked query to a NeighborList: counted, given places by a scan, written, within a budget."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, NamedTuple

import pyopencl.array as cla

from ..primitives.scan import Counts, Shares, counts_between, exclusive_scan
from ..results import NeighborList
from ..runtime.scratch import INT, LONG, Scratch
from .budget import affords, check_budget, fits
from .columns import Columns, is_wide, most_alike, offset_type
from .rows import Rows, begin_rows

if TYPE_CHECKING:
    from ..first_pass.base import FirstPass
    from ..first_pass.block_sums import RowSums
    from ..index import Index
    from ..inputs.request import QueryRequest

__all__ = ["Counted", "list_now", "list_of_hint"]


class Counted(NamedTuple):
    """Room for where rows begin, where the sum of their neighbors lies, and what else the count has left of these."""

    offsets: cla.Array
    total: Scratch
    #: which candidates they are, where the count has marked them, or their numbers, where it has put them by
    marks: FirstPass | None

    @property
    def puts_by(self) -> bool:
        """Whether the count says when it has put by all numbers there are."""
        return self.marks is not None and not self.marks.has_rest(0)

    def has_rest(self, told: int) -> bool:
        """Whether another visit is needed, by what came to the host with the sum."""
        return self.marks is None or self.marks.has_rest(told)

    def scan(self, index: Index, counts: Counts) -> None:
        """Find out where rows begin, and their sum: of counts that were added up by one launch."""
        session, total, marks = index.session, self.total, self.marks
        packed = None if marks is None else marks.packed
        if marks is None or not marks.adds_up:
            exclusive_scan(session, counts, self.offsets, total, packed=packed)
            return

        def launch(found: RowSums, sums: Scratch, last: Scratch) -> None:
            shares = Shares(found.shift, sums, last)
            exclusive_scan(session, counts, self.offsets, total, packed=packed, shares=shares)

        marks.read_sums(session, launch)


def list_now(index: Index, ask: QueryRequest, spec: Columns, *, max_bytes: int | None, spare: bool) -> NeighborList:
    """The list, after one wait for its number of pairs.

    With `spare` it has some room to spare, and by what the lists before it had it is written before the wait.
    """
    kind, total, listing = ask.kind, index.watch.total(), begin_rows(index, ask, spec)
    counts, marks = listing.count(total, loops=spare)
    room = _room_foreseen(index, kind, ask.m, spec, max_bytes) if spare else None
    scanned = room is None or not listing.places_rows(marks, room)
    counted = _place(index, ask.m, counts, total, marks, wide=room is not None and is_wide(room), scanned=scanned)
    sent = index.watch.send(ask.m) if scanned else None
    # Rows that the count has put by are written ahead of others, if there are any: seldom where the last list had none.
    later = room is not None and not spec.sort and counted.puts_by and not index.rooms.overflows(kind)
    arrays = None
    if room is not None:
        arrays = _fill_foreseen(listing, counted, room, counts=counts, later=later, scanned=scanned)
    del counts  # nothing needs them any more
    if sent is None:  # whoever wrote rows has found their number, too
        sent = index.watch.send(0)  # behind them on the session's own queue, as no kernel is left to run beside it
    pairs, told = index.watch.receive(sent)
    rest = counted.has_rest(told)
    if counted.puts_by:
        index.rooms.settle_overflow(kind, rest)
    wanted = index.rooms.settle(kind, pairs, most_alike(pairs)) if spare else pairs
    if room is not None and arrays is not None and pairs <= room and counted.offsets.dtype == offset_type(pairs):
        if later and rest:
            listing.write_rows(arrays, marks=marks)
        arrays = listing.cut(arrays, pairs, copied=2 * pairs < room)
    else:
        arrays = None  # its memory is what the list takes that is written now
        if not fits(index, spec, ask.m, pairs, held=counted.offsets.nbytes):
            # Memory of marks, or for points, may be what is missing.
            counted, marks, listing = counted._replace(marks=None), None, listing.visited()
        arrays = _fill_exactly(listing, counted, pairs, wanted=wanted, rest=rest, max_bytes=max_bytes)
    if marks is not None:
        marks.give_back(index)
    return listing.hand_over(arrays)


def _offsets_for(index: Index, offsets: cla.Array, pairs: int) -> cla.Array:
    """The `offsets`, anew where they cannot count so many pairs, or could count more than they need."""
    exact, session = offset_type(pairs), index.session
    if offsets.dtype == exact:
        return offsets
    found = session.allocate(offsets.shape[0], exact, purpose="the offsets of the list")
    counts = counts_between(session, offsets)
    exclusive_scan(session, counts, found, session.scratch(1, LONG, purpose="the number of pairs"))
    return found


def _fill_foreseen(
    listing: Rows, counted: Counted, room: int, *, counts: Counts, later: bool = False, scanned: bool = True
) -> dict[str, cla.Array] | None:
    """The list, should it be no longer than foreseen; None without memory for it, but offsets all the same."""
    arrays = listing.fill_foreseen(counted.offsets, room, marks=counted.marks, later=later, scanned=scanned)
    if arrays is None and not scanned:
        counted.scan(listing.index, counts)
    return arrays


def _fill_exactly(
    listing: Rows, counted: Counted, pairs: int, *, wanted: int, rest: bool, max_bytes: int | None
) -> dict[str, cla.Array]:
    """The list of so many pairs, with the room that is wanted if it is there, after the count has come."""
    index, spec, rows, held = listing.index, listing.spec, listing.ask.m, counted.offsets.nbytes
    check_budget(index, spec, rows, pairs, max_bytes, held=held)
    if not affords(index, spec, rows, wanted, max_bytes, held=held):
        wanted = pairs
    offsets, marks = _offsets_for(index, counted.offsets, pairs), counted.marks
    if marks is not None and not rest and index.loops:
        listing.prepare(offsets, marks)
    later = not rest and marks is not None
    return listing.cut(listing.fill(offsets, pairs=pairs, room=wanted, marks=marks, later=later), pairs)


def list_of_hint(index: Index, ask: QueryRequest, spec: Columns, *, max_bytes: int | None, hint: int) -> NeighborList:
    """The list, written into room for `hint` pairs without waiting for their number.

    Whoever looks at it first waits. Pairs that are more than foreseen are written again, with the room they need.
    """
    if not affords(index, spec, ask.m, hint, max_bytes):
        return list_now(index, ask, spec, max_bytes=max_bytes, spare=True)
    checks, bad = (*index.watch.of_points(), *ask.checks), index.watch.bad_points()
    ask = ask.kept(index.session)
    listing = begin_rows(index, ask, spec)
    total = index.session.scratch(2, LONG, purpose="the number of pairs")
    counts, marks = listing.count(total, loops=index.loops)
    scanned = not listing.places_rows(marks, hint)
    counted = _place(index, ask.m, counts, total, marks, wide=is_wide(hint), scanned=scanned)
    written = _fill_foreseen(listing, counted, hint, counts=counts, scanned=scanned)
    if marks is not None:
        marks.give_back(index)
    # Not held, however long nobody looks at the list; and where there was no memory, that of the marks, or of points to
    # measure by, may be what was missing.
    offsets, listing = counted.offsets, listing.visited()
    del counts, counted, marks
    arrays = written or listing.fill(offsets, pairs=None, room=hint)

    def settle() -> dict[str, Any]:
        # The checks of what this list is made from, whatever the index took in since.
        if bad is not None:
            raise bad
        pairs = int(index.watch.judge(index.session, checks, total)[0])
        held = sum(array.nbytes for array in arrays.values())
        check_budget(index, spec, ask.m, pairs, max_bytes, held=held)
        if pairs <= hint and offsets.dtype == offset_type(pairs):
            return listing.cut(arrays, pairs)
        arrays.clear()  # its memory is what the list takes that is written now
        return listing.cut(listing.fill(_offsets_for(index, offsets, pairs), pairs=pairs, room=pairs), pairs)

    return listing.hand_over(settle)


def _place(
    index: Index,
    rows: int,
    counts: Counts,
    total: Scratch,
    marks: FirstPass | None,
    *,
    wide: bool,
    scanned: bool = True,
) -> Counted:
    """What was counted, with room for offsets, `scanned` unless rows do without; the sum comes to lie in `total`."""
    offsets = index.session.allocate(rows + 1, LONG if wide else INT, purpose="the offsets of the list")
    counted = Counted(offsets=offsets, total=total, marks=marks)
    if scanned:
        counted.scan(index, counts)
    return counted


def _room_foreseen(index: Index, kind: Hashable, rows: int, spec: Columns, max_bytes: int | None) -> int | None:
    """Pairs that the list is given room for before their number is known; None where that has to be known first."""
    room = index.rooms.foreseen(kind)
    if room is None or not affords(index, spec, rows, room, max_bytes):
        return None
    # Where the driver ends loops too early, sorting waits for offsets: better for a total, and what it tells.
    return None if spec.sort and index.session.profile.loop_turns is not None else room
