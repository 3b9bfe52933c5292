"""Lists: from a checked query to a NeighborList: counted, given places by a scan, written, sorted, within a budget."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

from ..errors import DeviceMemoryError
from ..limits import sorts_within_turns, turns_refusal
from ..primitives.row_sort import sort_rows
from ..primitives.scan import Counts, exclusive_scan
from ..results import NeighborList
from ..session import INT, LONG, Scratch
from .list_spec import ListSpec, is_wide, most_alike, offset_type

if TYPE_CHECKING:
    from .ask import Ask
    from .handover import Handover
    from .index import Index

__all__ = ["Counted", "list_blocks", "list_now", "list_of_hint"]

#: Neighbors' numbers that fill a sector of the memory of GPUs.
_SECTOR = 8

#: With less than this, parts are no way out.
_LEAST_BUDGET = 1 << 12


class Counted(NamedTuple):
    """The neighbors of each query, where rows begin by offsets that are `wide` or not, and where the sum lies."""

    counts: Counts
    offsets: cla.Array
    total: Scratch
    wide: bool
    #: which candidates they are, where the count has marked them, or their numbers, where it has put them by
    marks: Handover | None

    @property
    def puts_by(self) -> bool:
        """Whether the count says when it has put by all numbers there are."""
        return self.marks is not None and not self.marks.has_rest(0)

    def has_rest(self, told: int) -> bool:
        """Whether another visit is needed, by what came to the host with the sum."""
        return self.marks is None or self.marks.has_rest(told)

    def offsets_for(self, index: Index, pairs: int) -> cla.Array:
        """The offsets, anew where those there are cannot count so many pairs, or could count more than they need."""
        if self.wide == is_wide(pairs):
            return self.offsets
        rows = self.offsets.shape[0] - 1
        return _place(index, rows, self.counts, self.total, None, wide=not self.wide).offsets


def list_now(index: Index, ask: Ask, spec: ListSpec, *, max_bytes: int | None, spare: bool) -> NeighborList:
    """The list, after one wait for its number of pairs.

    With `spare` it has some room to spare, and by what the lists before it had it is written before the wait.
    """
    total = index.watch.total()
    counts, marks = _count(index, ask, spec, total)
    room = _room_foreseen(index, ask, spec, max_bytes) if spare else None
    counted = _place(index, ask.m, counts, total, marks, wide=room is not None and is_wide(room))
    sent = index.watch.send(ask.m)
    # Rows that the count has put by are written ahead of others, if there are any: seldom where the last list had none.
    later = room is not None and not spec.sort and counted.puts_by and not index.rooms.overflows(ask.kind)
    arrays = None if room is None else _fill_foreseen(index, ask, spec, counted, room, later=later)
    pairs, told = index.watch.receive(sent)
    rest = counted.has_rest(told)
    if counted.puts_by:
        index.rooms.settle_overflow(ask.kind, rest)
    wanted = index.rooms.settle(ask.kind, pairs, most_alike(pairs)) if spare else pairs
    if room is not None and arrays is not None and pairs <= room and counted.wide == is_wide(pairs):
        if later and rest:
            event = _visit(index, ask, spec, arrays, pairs=None, marks=counted.marks)
            index.session.publish(event, *(arrays[name] for name in spec.kept))
        arrays = _cut(index, spec, arrays, pairs, copied=2 * pairs < room)
    else:
        arrays = None  # its memory is what the list takes that is written now
        held = counted.offsets.nbytes
        if not _fits(index, spec, ask.m, pairs, held=held):
            counted = counted._replace(marks=None)  # their memory may be what is missing
        _check_budget(index, spec, ask.m, pairs, max_bytes, held=held)
        if not _affords(index, spec, ask.m, wanted, max_bytes, held=held):
            wanted = pairs
        offsets = counted.offsets_for(index, pairs)
        later = not rest and counted.marks is not None
        arrays = _fill(index, ask, spec, offsets, pairs=pairs, room=wanted, marks=counted.marks, later=later)
    return _as_list(index, ask, spec, arrays)


def list_of_hint(index: Index, ask: Ask, spec: ListSpec, *, max_bytes: int | None, hint: int) -> NeighborList:
    """The list, written into room for `hint` pairs without waiting for their number.

    Whoever looks at it first waits. Pairs that are more than foreseen are written again, with the room they need.
    """
    if not _affords(index, spec, ask.m, hint, max_bytes):
        return list_now(index, ask, spec, max_bytes=max_bytes, spare=True)
    ask, checks, bad = ask.kept(index.session), (*index.watch.of_points(), *ask.checks), index.watch.bad_points()
    total = index.session.scratch(2, LONG, purpose="the number of pairs")
    counts, marks = _count(index, ask, spec, total)
    counted = _place(index, ask.m, counts, total, marks, wide=is_wide(hint))
    written = _fill_foreseen(index, ask, spec, counted, hint)
    counted = counted._replace(marks=None)  # back to the pool, however long nobody looks at the list
    # Where there was no memory, that of the marks may be what was missing.
    arrays = written or _fill(index, ask, spec, counted.offsets, pairs=None, room=hint)

    def settle() -> dict[str, Any]:
        # The checks of what this list is made from, whatever the index took in since.
        if bad is not None:
            raise bad
        pairs = int(index.watch.judge(index.session, checks, total)[0])
        held = sum(array.nbytes for array in arrays.values())
        _check_budget(index, spec, ask.m, pairs, max_bytes, held=held)
        if pairs <= hint and counted.wide == is_wide(pairs):
            return _cut(index, spec, arrays, pairs)
        arrays.clear()  # its memory is what the list takes that is written now
        exact = _fill(index, ask, spec, counted.offsets_for(index, pairs), pairs=pairs, room=pairs)
        return {name: exact[name] for name in spec.kept}

    return _as_list(index, ask, spec, settle)


def list_blocks(index: Index, ask: Ask, spec: ListSpec, *, max_bytes: int) -> Iterator[NeighborList]:
    """Lists of consecutive ranges of the queries, each of at most `max_bytes`, in order. Counts are made at once."""
    ask = ask.kept_for_parts(index.session)
    per_row = index.session.read(index.count_asked(ask)).astype(np.int64)
    index.watch.settle()
    return _blocks(index, ask, spec, np.concatenate([[0], np.cumsum(per_row)]), max_bytes)


def _blocks(index: Index, ask: Ask, spec: ListSpec, places: Any, max_bytes: int) -> Iterator[NeighborList]:
    first = 0
    while first < ask.m:
        end = _last_row_that_fits(spec, places, first, max_bytes)
        pairs = int(places[end] - places[first])
        if end == first:
            pairs = int(places[first + 1] - places[first])
            needed = spec.bytes(1, pairs)
            raise DeviceMemoryError(
                f"max_bytes: row {first} alone has {pairs:,} pairs and needs {needed:,} bytes, {max_bytes:,} were "
                f"allowed. Nothing was truncated. Pass max_bytes={needed}, or take a smaller radius",
                needed=needed,
                available=max_bytes,
            )
        part = index.part_of(ask, first, end)
        _check_room(index, spec, end - first, pairs)
        offsets = (places[first : end + 1] - places[first]).astype(offset_type(pairs))
        placed = index.session.upload(offsets, purpose="the offsets of a block")
        arrays = _fill(index, part, spec, placed, pairs=pairs, room=pairs)
        yield _as_list(index, part, spec, arrays)
        first = end


def _last_row_that_fits(spec: ListSpec, places: Any, first: int, max_bytes: int) -> int:
    """The row behind the last one of the longest block from `first` on; `first` itself where no row fits."""
    low, high = first, len(places) - 1
    while low < high:
        middle = (low + high + 1) // 2
        if spec.bytes(middle - first, int(places[middle] - places[first])) <= max_bytes:
            low = middle
        else:
            high = middle - 1
    return low


def _count(index: Index, ask: Ask, spec: ListSpec, total: Scratch) -> tuple[Counts, Handover | None]:
    """The first visit: what it counts, and what it leaves for the second; where the sum will lie is `total`."""
    marks = index.make_marks(ask, numbers=len(spec.of_pair) == 1)
    if marks is not None:
        marks.tell(total)
    return index.count_asked(ask, marks), marks


def _place(index: Index, rows: int, counts: Counts, total: Scratch, marks: Handover | None, *, wide: bool) -> Counted:
    """The scan of what was counted; the sum comes to lie in `total`."""
    offsets = index.session.allocate(rows + 1, LONG if wide else INT, purpose="the offsets of the list")
    exclusive_scan(index.session, counts, offsets, total)
    return Counted(counts=counts, offsets=offsets, total=total, wide=wide, marks=marks)


def _room_foreseen(index: Index, ask: Ask, spec: ListSpec, max_bytes: int | None) -> int | None:
    """Pairs that the list is given room for before their number is known; None where that has to be known first."""
    room = index.rooms.foreseen(ask.kind)
    if room is None or not _affords(index, spec, ask.m, room, max_bytes):
        return None
    # Where the driver ends loops too early, sorting waits for offsets: better for a total, and what it tells.
    return None if spec.sort and index.session.profile.loop_turns is not None else room


def _fill_foreseen(
    index: Index, ask: Ask, spec: ListSpec, counted: Counted, room: int, *, later: bool = False
) -> dict[str, cla.Array] | None:
    """The list, should it be no longer than foreseen; None where there is not even memory for that."""
    try:
        return _fill(index, ask, spec, counted.offsets, pairs=None, room=room, marks=counted.marks, later=later)
    except DeviceMemoryError:
        return None


def _fill(
    index: Index,
    ask: Ask,
    spec: ListSpec,
    offsets: cla.Array,
    *,
    pairs: int | None,
    room: int,
    marks: Handover | None = None,
    later: bool = False,
) -> dict[str, cla.Array]:
    """Every neighbor into its place; without `pairs`, their number is not known and may be more than `room`.

    What the count has not put by is left for `later`, or to nobody where there is none.
    """
    session = index.session
    known = room if pairs is None else pairs
    arrays = {"offsets": offsets}
    for name, (shape, dtype) in spec.of_pair.items():
        purpose = f"the {name} of {known:,} pairs"
        arrays[name] = session.allocate((known, *shape), dtype, purpose=purpose, rows=room)
    event = None
    if known and marks is not None:
        event = marks.write(session, offsets, arrays["indices"])
    if known and not later:
        event = _visit(index, ask, spec, arrays, pairs=pairs, marks=marks)
    if spec.sort and known:
        _check_sort(index, offsets, known)
        event = sort_rows(
            session,
            offsets,
            arrays["indices"],
            squares=arrays["distances"] if spec.sort == "distance" else None,
            distances=arrays["distances"] if spec.distances else None,
            vectors=arrays.get("vectors"),
            shifts=arrays.get("shifts"),
            capacity=known,
            dtype=spec.dtype,
            dim=spec.dim,
            pairs=known,
        )
    session.publish(event, *(arrays[name] for name in spec.kept))
    return arrays


def _visit(
    index: Index, ask: Ask, spec: ListSpec, arrays: dict[str, cla.Array], *, pairs: int | None, marks: Handover | None
) -> cl.Event | None:
    """The visit that writes rows, or those that are left."""
    offsets, known = arrays["offsets"], arrays["indices"].shape[0]
    held = _SECTOR if len(arrays) == 2 and index.writes_at_once() else 0
    write = spec.writer(offsets.dtype, bounded=pairs is None or index.loops, held=held)
    capacity = known if offsets.dtype == INT else np.int64(known)
    given = {**arrays, "first_row": ask.part[0] if ask.part else 0, "capacity": capacity}
    return index.run(write, ask, [given[argument.name] for argument in write.parsed_arguments], marks=marks)


def _check_sort(index: Index, offsets: cla.Array, pairs: int) -> None:
    """Raise where the driver would end the sort of the longest row too early."""
    profile, box = index.session.profile, index.problem.box
    images = 1.0 if box is None else box.most_images(index.radius)
    if sorts_within_turns(profile, min(pairs, int(images * index.num_points))):
        return
    longest = int(np.diff(index.session.read(offsets)).max(initial=0))
    if not sorts_within_turns(profile, longest):
        raise turns_refusal(profile, f"sorting a row of {longest:,} neighbors could take more")


def _as_list(index: Index, ask: Ask, spec: ListSpec, arrays: Any) -> NeighborList:
    first, end = ask.part or (0, ask.m)
    kept = arrays if callable(arrays) else {name: arrays[name] for name in spec.kept}
    return NeighborList(
        kept,
        num_queries=end - first,
        num_points=index.num_points,
        dtype=spec.dtype,
        images=spec.images,
        device=index.session.profile.name,
    )


def _cut(
    index: Index, spec: ListSpec, arrays: dict[str, cla.Array], pairs: int, *, copied: bool = False
) -> dict[str, cla.Array]:
    """What the caller gets of a list with room for more: the first `pairs` rows, `copied` where they are few."""
    session = index.session
    found = {name: arrays[name] if name == "offsets" else session.first(arrays[name], pairs) for name in spec.kept}
    if not copied or not _fits(index, spec, 0, pairs):
        return found
    for name in spec.kept[1:]:
        copy = session.allocate(found[name].shape, found[name].dtype, purpose=f"the {name} of {pairs:,} pairs")
        session.copy(found[name], copy)
        found[name] = copy
    session.publish(None, *found.values())
    return found


def _fits(index: Index, spec: ListSpec, rows: int, pairs: int, *, held: int = 0) -> bool:
    """Whether the device has room for the list, `held` bytes of which there are already."""
    largest, available = index.session.available()
    return spec.largest(rows, pairs) <= largest and spec.bytes(rows, pairs) <= available + held


def _affords(index: Index, spec: ListSpec, rows: int, pairs: int, max_bytes: int | None, *, held: int = 0) -> bool:
    """Whether the list is within what the caller allows, and the device."""
    return _fits(index, spec, rows, pairs, held=held) and (max_bytes is None or spec.bytes(rows, pairs) <= max_bytes)


def _check_budget(index: Index, spec: ListSpec, rows: int, pairs: int, max_bytes: int | None, *, held: int = 0) -> None:
    """Raise when the list would exceed what the caller allows, or the device."""
    needed = spec.bytes(rows, pairs)
    if max_bytes is not None and needed > max_bytes:
        raise DeviceMemoryError(
            f"max_bytes: the list of {pairs:,} pairs needs {needed:,} bytes, {max_bytes:,} were allowed. Nothing was "
            f"truncated. index.query_blocks(max_bytes={max_bytes}) gives it in parts; index.count() needs no list",
            needed=needed,
            available=max_bytes,
        )
    _check_room(index, spec, rows, pairs, held=held)


def _check_room(index: Index, spec: ListSpec, rows: int, pairs: int, *, held: int = 0) -> None:
    if _fits(index, spec, rows, pairs, held=held):
        return
    sizes = spec.sizes(rows, pairs)
    largest, available = index.session.available()
    greatest = max(sizes, key=lambda name: sizes[name])
    budget = min(largest, available // 2)
    advice = f"index.query_blocks(max_bytes={budget}) gives it in parts"
    if budget < _LEAST_BUDGET:
        advice = "Drop arrays and lists that are no longer needed"
    raise DeviceMemoryError(
        f"the list of {pairs:,} pairs needs {sum(sizes.values()):,} bytes, {sizes[greatest]:,} of them in one "
        f"allocation for its {greatest}; {index.session.profile} allows {largest:,} bytes in one and has about "
        f"{available:,} left. Nothing was truncated. {advice}; index.count() needs no list; a smaller radius finds "
        "fewer pairs",
        needed=sum(sizes.values()),
        available=available,
        largest_allocation=largest,
    )
