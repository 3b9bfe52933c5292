"""Lists: from a checked query to a NeighborList: counted, given places by a scan, written, sorted, within a budget."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyopencl.array as cla

from ..configs import components
from ..errors import DeviceMemoryError
from ..limits import sorts_within_turns, turns_refusal
from ..primitives.row_sort import sort_rows
from ..primitives.scan import ShareSums, finish_scan, sum_shares
from ..rendering import own_function
from ..results import NeighborList

if TYPE_CHECKING:
    from .ask import Ask
    from .index import Index
    from .marks import Marks

__all__ = ["ListSpec", "list_blocks", "list_now", "list_of_hint"]

_LARGEST_INT32 = 2**31 - 1

#: Neighbors' numbers that fill a sector of the memory of GPUs.
_SECTOR = 8

#: With less than this, parts are no way out.
_LEAST_BUDGET = 1 << 12


@dataclasses.dataclass(frozen=True, kw_only=True)
class ListSpec:
    """What a list carries, and the order inside its rows."""

    distances: bool
    vectors: bool
    sort: str | None
    #: some axis is periodic
    periodic: bool
    #: a row may hold several images of one point
    images: bool
    dim: int
    dtype: np.dtype[Any]

    def arrays(self, rows: int, pairs: int) -> dict[str, tuple[tuple[int, ...], np.dtype[Any]]]:
        """Shape and dtype of every array that making the list takes, by name."""
        integer = np.dtype(np.int32)
        wide = np.dtype(np.int64) if pairs > _LARGEST_INT32 else integer
        found: dict[str, tuple[tuple[int, ...], np.dtype[Any]]] = {
            "offsets": ((rows + 1,), wide),
            "indices": ((pairs,), integer),
        }
        if self.distances or self.sort == "distance":
            found["distances"] = ((pairs,), self.dtype)
        if self.vectors:
            found["vectors"] = ((pairs, self.dim), self.dtype)
        if (self.vectors and self.periodic) or (self.sort is not None and self.images):
            found["shifts"] = ((pairs, self.dim), integer)
        return found

    def sizes(self, rows: int, pairs: int) -> dict[str, int]:
        """Bytes of each of these arrays."""
        found = self.arrays(rows, pairs)
        return {name: math.prod(shape) * dtype.itemsize for name, (shape, dtype) in found.items()}

    def bytes(self, rows: int, pairs: int) -> int:
        """Bytes of them all."""
        return sum(self.sizes(rows, pairs).values())

    def kept(self) -> tuple[str, ...]:
        """The names of those that the caller gets."""
        asked = {"distances": self.distances, "vectors": self.vectors, "shifts": self.vectors and self.periodic}
        return tuple(name for name in self.arrays(0, 0) if asked.get(name, True))


def list_now(index: Index, ask: Ask, spec: ListSpec, *, max_bytes: int | None, spare: bool) -> NeighborList:
    """The list, after one wait for its number of pairs."""
    marks = index.make_marks(ask)
    sums = _count(index, ask, marks)
    pairs = int(index.watch.read_along(index.session, sums.total)[0])
    _check_budget(index, spec, ask.m, pairs, max_bytes)
    room = index.room_for(pairs) if spare else pairs
    if not _fits(index, spec, ask.m, room) or (max_bytes is not None and spec.bytes(ask.m, room) > max_bytes):
        room = pairs
    return _as_list(index, ask, spec, _write(index, ask, spec, sums, pairs, room=room, marks=marks))


def list_of_hint(index: Index, ask: Ask, spec: ListSpec, *, max_bytes: int | None, hint: int) -> NeighborList:
    """The list, written into room for `hint` pairs without waiting for their number.

    Whoever looks at it first waits. Pairs that are more than foreseen are written again, with the room they need.
    """
    if not _fits(index, spec, ask.m, hint) or (max_bytes is not None and spec.bytes(ask.m, hint) > max_bytes):
        return list_now(index, ask, spec, max_bytes=max_bytes, spare=True)
    ask = ask.kept(index.session)
    marks = index.make_marks(ask)
    sums = _count(index, ask, marks)
    arrays = _write(index, ask, spec, sums, None, room=hint, marks=marks)

    def settle() -> dict[str, Any]:
        # The checks of what this list is made from, whatever the index took in since.
        pairs = int(index.watch.judge(index.session, ask.checks, sums.total)[0])
        _check_budget(index, spec, ask.m, pairs, max_bytes)
        if pairs <= hint and spec.arrays(0, pairs)["offsets"] == spec.arrays(0, hint)["offsets"]:
            return {name: arrays[name] if name == "offsets" else _first(arrays[name], pairs) for name in spec.kept()}
        exact = _write(index, ask, spec, sums, pairs, room=pairs)
        return {name: exact[name] for name in spec.kept()}

    return _as_list(index, ask, spec, settle)


def list_blocks(index: Index, ask: Ask, spec: ListSpec, *, max_bytes: int) -> Iterator[NeighborList]:
    """Lists of consecutive ranges of the queries, each of at most `max_bytes`, in order. Counts are made at once."""
    ask = ask.kept(index.session)
    counts = index.count_asked(ask)
    per_row = index.session.read(counts).astype(np.int64)
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
        part = dataclasses.replace(ask, part=(first, end))
        _check_room(index, spec, end - first, pairs)
        offsets = (places[first : end + 1] - places[first]).astype(spec.arrays(0, pairs)["offsets"][1])
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


def _count(index: Index, ask: Ask, marks: Marks | None = None) -> ShareSums:
    return sum_shares(index.session, index.count_asked(ask, marks))


def _write(
    index: Index, ask: Ask, spec: ListSpec, sums: ShareSums, pairs: int | None, *, room: int, marks: Marks | None = None
) -> dict[str, cla.Array]:
    """The second half of the scan and the second visit, into room for so many pairs."""
    dtype = spec.arrays(0, room if pairs is None else pairs)["offsets"][1]
    offsets = index.session.allocate(ask.m + 1, dtype, purpose="the offsets of the list")
    finish_scan(index.session, sums, offsets)
    return _fill(index, ask, spec, offsets, pairs=pairs, room=room, marks=marks)


def _fill(
    index: Index,
    ask: Ask,
    spec: ListSpec,
    offsets: cla.Array,
    *,
    pairs: int | None,
    room: int,
    marks: Marks | None = None,
) -> dict[str, cla.Array]:
    """Every neighbor into its place; without `pairs`, their number is not known and may be more than `room`."""
    session = index.session
    known = room if pairs is None else pairs
    arrays = {"offsets": offsets}
    for name, (shape, dtype) in spec.arrays(ask.m, known).items():
        if name != "offsets":
            purpose = f"the {name} of {known:,} pairs"
            arrays[name] = session.allocate(shape, dtype, purpose=purpose, rows=room)
    by_distance = spec.sort == "distance"
    write = own_function(
        "write",
        offset="long" if offsets.dtype == np.int64 else "int",
        distances="square" if by_distance else "root" if spec.distances else "",
        vectors=spec.vectors,
        shifts="shifts" in arrays,
        bounded=pairs is None,
        held=_SECTOR if len(arrays) == 2 and index.writes_at_once() else 0,
        components=components(spec.dim) if spec.vectors or "shifts" in arrays else (),
    )
    numbers = {"first_row": np.int32(ask.part[0] if ask.part else 0), "capacity": offsets.dtype.type(known)}
    values = [{**arrays, **numbers}[argument.name] for argument in write.parsed_arguments]
    event = index.run(write, ask, values, marks=marks) if known else None
    if spec.sort and known:
        _check_sort(index, offsets, known)
        event = sort_rows(
            session,
            offsets,
            arrays["indices"],
            squares=arrays["distances"] if by_distance else None,
            distances=arrays["distances"] if spec.distances else None,
            vectors=arrays.get("vectors"),
            shifts=arrays.get("shifts"),
            capacity=known,
            dtype=spec.dtype,
            dim=spec.dim,
            pairs=known,
        )
    session.publish(event, *(arrays[name] for name in spec.kept()))
    return arrays


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
    kept = arrays if callable(arrays) else {name: arrays[name] for name in spec.kept()}
    return NeighborList(
        kept,
        num_queries=end - first,
        num_points=index.num_points,
        dtype=spec.dtype,
        images=spec.images,
        device=index.session.profile.name,
    )


def _first(array: cla.Array, pairs: int) -> cla.Array:
    """The first `pairs` rows of an array, in the same memory."""
    part = cla.Array(array.queue, (pairs, *array.shape[1:]), array.dtype, data=array.base_data)
    for event in array.events:
        part.add_event(event)
    return part


def _fits(index: Index, spec: ListSpec, rows: int, pairs: int) -> bool:
    sizes = spec.sizes(rows, pairs)
    largest, available = index.session.available()
    return max(sizes.values()) <= largest and sum(sizes.values()) <= available


def _check_budget(index: Index, spec: ListSpec, rows: int, pairs: int, max_bytes: int | None) -> None:
    """Raise when the list would exceed what the caller allows, or the device."""
    needed = spec.bytes(rows, pairs)
    if max_bytes is not None and needed > max_bytes:
        raise DeviceMemoryError(
            f"max_bytes: the list of {pairs:,} pairs needs {needed:,} bytes, {max_bytes:,} were allowed. Nothing was "
            f"truncated. index.query_blocks(max_bytes={max_bytes}) gives it in parts; index.count() needs no list",
            needed=needed,
            available=max_bytes,
        )
    _check_room(index, spec, rows, pairs)


def _check_room(index: Index, spec: ListSpec, rows: int, pairs: int) -> None:
    if _fits(index, spec, rows, pairs):
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
