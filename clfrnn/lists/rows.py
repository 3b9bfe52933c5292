"""Listing: a list being made: room for its rows, the visit that writes them, their order, and what the caller gets."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

from ..errors import DeviceMemoryError
from ..first_pass.block_sums import row_sums_for
from ..functions import NeighborFunction
from ..planning.configs import SECTOR
from ..primitives.row_sort import sort_rows
from ..primitives.scan import Counts, is_one_launch
from ..queries.count_nearest import count_for_list
from ..results import NeighborList
from ..runtime.launch_limits import sorts_within_turns, turns_refusal
from ..runtime.scratch import INT, Scratch
from .attributes import measure, pays_to_measure
from .budget import fits
from .columns import Columns, is_wide

if TYPE_CHECKING:
    from ..first_pass.base import FirstPass
    from ..index import Index
    from ..inputs.request import QueryRequest

__all__ = ["Rows", "begin_rows"]


@dataclasses.dataclass(slots=True, kw_only=True)  # one for each list: frozen ones take longer to make
class Rows:
    """What is listed, and what a list carries of it."""

    index: Index
    ask: QueryRequest
    spec: Columns
    #: whether the visit writes numbers alone, by which pairs are measured then
    measured: bool
    #: the points to measure by, for those who come back when the index has others
    points: cla.Array | None = None

    def visited(self) -> Rows:
        """The same list, of which the visit writes all."""
        return dataclasses.replace(self, measured=False, points=None)

    def with_points(self) -> Rows:
        """The same with the points to measure by as they are now; visited where there is no memory for them."""
        if not self.measured or self.points is not None:
            return self
        try:
            points = self.index.positions()
        except DeviceMemoryError:
            points = None
        return self.visited() if points is None else dataclasses.replace(self, points=points)

    def count(self, total: Scratch, *, loops: bool = False) -> tuple[Counts, FirstPass | None]:
        """The first visit: what it counts, and what it leaves for the second; where the sum will lie is `total`.

        In a loop rows are added up by it where that saves a launch, as the sums of one list are cleared by the next.
        """
        marks = self.index.make_hit_mask(self.ask, numbers=self.measured or not self.spec.carried)
        if marks is not None:
            marks.tell(total)
            session = self.index.session
            if loops and (self.may_place_rows(marks) or not is_one_launch(session, self.ask.m)):
                marks.add_up(session, lambda: row_sums_for(self.index, self.ask))
        return count_for_list(self.index, self.ask, marks), marks

    def places_rows(self, marks: FirstPass | None, room: int) -> bool:
        """Whether rows are written into so much room, and where they begin is found, by one launch: numbers alone."""
        return marks is not None and marks.adds_up and self.may_place_rows(marks) and room > 0 and not is_wide(room)

    def may_place_rows(self, marks: FirstPass) -> bool:
        """Whether they may be: where nobody waits for their number to go on with them."""
        return marks.places_rows and not (self.measured or self.spec.sort)

    def fill_foreseen(
        self, offsets: cla.Array, room: int, *, marks: FirstPass | None, later: bool = False, scanned: bool = True
    ) -> dict[str, cla.Array] | None:
        """The list, should it be no longer than foreseen; None where there is not even memory for that."""
        try:
            return self.fill(offsets, pairs=None, room=room, marks=marks, later=later, scanned=scanned)
        except DeviceMemoryError:
            return None

    def fill(
        self,
        offsets: cla.Array,
        *,
        pairs: int | None,
        room: int,
        marks: FirstPass | None = None,
        later: bool = False,
        scanned: bool = True,
    ) -> dict[str, cla.Array]:
        """Every neighbor into its place; without `pairs`, their number is not known and may be more than `room`.

        What the count has not put by is left for `later`, or to nobody where there is none. Offsets that
        nobody has `scanned` are found meanwhile.
        """
        session = self.index.session
        known = room if pairs is None else pairs
        arrays = {"offsets": offsets}
        for name, (shape, dtype) in self.spec.of_pair.items():
            purpose = f"the {name} of {known:,} pairs"
            arrays[name] = session.allocate((known, *shape), dtype, purpose=purpose, rows=room)
        event = None
        if known and marks is not None:
            event = (marks.write if scanned else marks.place)(session, offsets, arrays["indices"])
        if known and not later:
            event = self._visit(arrays, pairs=pairs, marks=marks)
        self.complete(arrays, event)
        return arrays

    def write_rows(self, arrays: dict[str, cla.Array], *, marks: FirstPass | None = None) -> None:
        """All rows, or with `marks` those that were left for later."""
        self.complete(arrays, self._visit(arrays, pairs=None, marks=marks))

    def complete(self, arrays: dict[str, cla.Array], event: cl.Event | None) -> None:
        """Rows that are written put in order and measured: first measured, where that says the order."""
        spec, known = self.spec, arrays["indices"].shape[0]
        if self.measured and self.points is None and known:
            listing = self.with_points()
            if listing.measured:
                listing.complete(arrays, event)
            else:  # not even memory for points: once more, with all that the list carries
                listing.write_rows(arrays)
            return
        if known and (self.measured or spec.sort):
            # What says the order is measured before, and the rest behind: it need not be carried along.
            early = ("distances",) if spec.sort == "distance" else ()
            event = self._measure(arrays, early) or event
            if spec.sort:
                event = self._sort(_some(arrays, ("indices", *early)) if self.measured else arrays)
            event = self._measure(arrays, tuple(name for name in spec.of_pair if name not in early)) or event
        self.index.session.publish(event, *(arrays[name] for name in spec.kept))

    def _visit(self, arrays: dict[str, cla.Array], *, pairs: int | None, marks: FirstPass | None) -> cl.Event | None:
        """The visit that writes rows, or those that are left: their numbers alone, where these are measured."""
        index, ask, offsets, known = self.index, self.ask, arrays["offsets"], arrays["indices"].shape[0]
        write = self._writer(offsets, bounded=pairs is None or index.loops)
        capacity = known if offsets.dtype == INT else np.int64(known)
        given = {**arrays, "first_row": ask.part[0] if ask.part else 0, "capacity": capacity}
        return index.run(write, ask, [given[argument.name] for argument in write.parsed_arguments], marks=marks)

    def _writer(self, offsets: cla.Array, *, bounded: bool) -> NeighborFunction:
        """What a visit runs to write rows, as far as there is room where that is `bounded`."""
        spec = self.spec.numbers if self.measured else self.spec
        held = SECTOR if self.index.writes_at_once() and not spec.carried else 0
        return spec.writer(offsets.dtype, bounded=bounded, held=held)

    def prepare(self, offsets: cla.Array, marks: FirstPass) -> None:
        """Compile what writes rows, and what a count has not put by, so that no later list of a loop has to."""
        marks.prepare(self.index.session, offsets)
        self.index.prepare(self._writer(offsets, bounded=True), self.ask, marks)

    def _measure(self, arrays: dict[str, cla.Array], names: tuple[str, ...]) -> cl.Event | None:
        """Of these what numbers say, if they have been written alone."""
        wanted = {"indices", *names}
        if self.points is None or len(wanted) == 1:
            return None
        return measure(self.index, self.ask, self.spec, self.points, _some(arrays, wanted))

    def _sort(self, arrays: dict[str, cla.Array]) -> cl.Event | None:
        """Each row in ascending order."""
        spec, offsets, known = self.spec, arrays["offsets"], arrays["indices"].shape[0]
        _check_sort(self.index, offsets, known)
        return sort_rows(
            self.index.session,
            offsets,
            arrays["indices"],
            squares=arrays["distances"] if spec.sort == "distance" else None,
            distances=arrays.get("distances") if spec.distances else None,
            vectors=arrays.get("vectors"),
            shifts=arrays.get("shifts"),
            capacity=known,
            dtype=spec.dtype,
            dim=spec.dim,
            pairs=known,
        )

    def cut(self, arrays: dict[str, cla.Array], pairs: int, *, copied: bool = False) -> dict[str, cla.Array]:
        """What the caller gets of a list with room for more: the first `pairs` rows, `copied` where they are few."""
        session, kept = self.index.session, self.spec.kept
        for name in kept[1:]:
            session.shorten(arrays[name], pairs)
        found = {name: arrays[name] for name in kept}
        if not copied or not fits(self.index, self.spec, 0, pairs):
            return found
        for name in kept[1:]:
            copy = session.allocate(found[name].shape, found[name].dtype, purpose=f"the {name} of {pairs:,} pairs")
            session.copy(found[name], copy)
            found[name] = copy
        session.publish(None, *found.values())
        return found

    def hand_over(self, arrays: Any) -> NeighborList:
        """The list of these arrays, or of what they are called for when somebody looks at it."""
        ask, spec = self.ask, self.spec
        first, end = ask.part or (0, ask.m)
        return NeighborList(
            arrays,
            num_queries=end - first,
            num_points=self.index.num_points,
            dtype=spec.dtype,
            images=spec.images,
            device=self.index.session.profile.name,
        )


def begin_rows(index: Index, ask: QueryRequest, spec: Columns) -> Rows:
    """The list that is asked for."""
    return Rows(index=index, ask=ask, spec=spec, measured=pays_to_measure(index, ask, spec))


def _some(arrays: dict[str, cla.Array], names: Iterable[str]) -> dict[str, cla.Array]:
    """The offsets and these of a list's arrays."""
    return {name: arrays[name] for name in ("offsets", *names)}


def _check_sort(index: Index, offsets: cla.Array, pairs: int) -> None:
    """Raise where the driver would end the sort of the longest row too early."""
    profile, box = index.session.profile, index.problem.box
    images = 1.0 if box is None else box.most_images(index.radius)
    if sorts_within_turns(profile, min(pairs, int(images * index.num_points))):
        return
    longest = int(np.diff(index.session.read(offsets)).max(initial=0))
    if not sorts_within_turns(profile, longest):
        raise turns_refusal(profile, f"sorting a row of {longest:,} neighbors could take more")
