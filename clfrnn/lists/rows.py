"""Rows: the arrays of a list being made: memory for them, the walk that writes them, their order and attributes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

from ..errors import DeviceMemoryError
from ..first_pass.base import FirstPass
from ..functions import WalkFunction
from ..inputs.request import QueryRequest
from ..methods.traversal import Traversal
from ..planning.configs import SECTOR
from ..primitives.row_sort import sort_rows
from ..results import NeighborList
from ..runtime.launch_limits import sorts_within_turns, turns_refusal
from ..runtime.scratch import INT
from .attributes import measure
from .budget import fits
from .columns import Columns

__all__ = ["Rows"]


@dataclasses.dataclass(slots=True, kw_only=True)  # one for each list: frozen ones take longer to make
class Rows:
    """Whose neighbors are listed, what the list carries, and how it comes to be written."""

    traversal: Traversal
    request: QueryRequest
    columns: Columns
    #: the walk writes indices alone, by which the other columns are measured then
    measured: bool
    #: the walk stays within the memory of the list: its number of pairs may come to be larger than foreseen
    bounded: bool
    #: the points to measure by, where the index may have moved on
    points: cla.Array | None = None

    def with_row(self) -> Rows:
        """The same list, of which the walk writes all columns."""
        return dataclasses.replace(self, measured=False, points=None)

    def with_points(self) -> Rows:
        """The same with the points to measure by as they are now; written with the row where these have no memory."""
        if not self.measured or self.points is not None:
            return self
        try:
            points = self.traversal.structure.positions()
        except DeviceMemoryError:
            points = None
        return self.with_row() if points is None else dataclasses.replace(self, points=points)

    def allocate(self, offsets: cla.Array, pairs: int, *, room: int) -> dict[str, cla.Array]:
        """The arrays of a list of so many pairs, whose memory has `room` for some more."""
        arrays = {"offsets": offsets}
        for name, (shape, dtype) in self.columns.of_pair.items():
            purpose = f"the {name} of {pairs:,} pairs"
            arrays[name] = self.traversal.session.allocate((pairs, *shape), dtype, purpose=purpose, rows=room)
        return arrays

    def fill(
        self, arrays: dict[str, cla.Array], *, first_pass: FirstPass | None = None, walk: bool = True
    ) -> dict[str, cla.Array]:
        """Enqueue every neighbor into its place: from the first pass what that has, then by the walk."""
        event = None
        if arrays["indices"].shape[0]:
            if first_pass is not None:
                event = first_pass.write(self.traversal.session, arrays["offsets"], arrays["indices"])
            if walk:
                event = self.walk(arrays, first_pass=first_pass)
        self.finish(arrays, event)
        return arrays

    def walk(self, arrays: dict[str, cla.Array], *, first_pass: FirstPass | None) -> cl.Event | None:
        """Enqueue the walk that writes rows, as far as a first pass has left them to it."""
        offsets, pairs = arrays["offsets"], arrays["indices"].shape[0]
        write = self._writer(offsets)
        capacity = pairs if offsets.dtype == INT else np.int64(pairs)
        given = {**arrays, "first_row": self.request.part[0] if self.request.part else 0, "capacity": capacity}
        values = [given[argument.name] for argument in write.parsed_arguments]
        return self.traversal.run(write, self.request, values, first_pass=first_pass)

    def _writer(self, offsets: cla.Array) -> WalkFunction:
        """The function that the walk runs to write rows."""
        columns = self.columns.indices_alone if self.measured else self.columns
        by_sectors = self.traversal.structure.list_facts.by_sectors and not columns.carried
        return columns.writer(offsets.dtype, bounded=self.bounded, held=SECTOR if by_sectors else 0)

    def prepare(self, offsets: cla.Array, first_pass: FirstPass) -> None:
        """Compile what writes rows from a first pass, and the walk behind it, so that no later list of a loop has to."""
        first_pass.prepare(self.traversal.session, offsets)
        self.traversal.prepare(self._writer(offsets), self.request, first_pass)

    def finish(self, arrays: dict[str, cla.Array], event: cl.Event | None) -> None:
        """Enqueue what is left when rows are written: attributes, and the order; tell other queues when it is done."""
        columns, pairs = self.columns, arrays["indices"].shape[0]
        if self.measured and self.points is None and pairs:
            rows = self.with_points()
            if not rows.measured:  # no memory for the points: once more, with all that the list carries
                event = rows.walk(arrays, first_pass=None)
            rows.finish(arrays, event)
            return
        if pairs and (self.measured or columns.sort):
            # What decides about the order is measured before it, and the rest behind: then it need not be moved.
            early = ("distances",) if columns.sort == "distance" else ()
            event = self._measure(arrays, early) or event
            if columns.sort:
                event = self._sort(_some(arrays, ("indices", *early)) if self.measured else arrays)
            event = self._measure(arrays, tuple(name for name in columns.of_pair if name not in early)) or event
        self.traversal.session.publish(event, *(arrays[name] for name in columns.returned))

    def _measure(self, arrays: dict[str, cla.Array], names: tuple[str, ...]) -> cl.Event | None:
        """Enqueue those of these columns that follow from the indices."""
        wanted = {"indices", *names}
        if self.points is None or len(wanted) == 1:
            return None
        return measure(self.traversal, self.request, self.columns, self.points, _some(arrays, wanted))

    def _sort(self, arrays: dict[str, cla.Array]) -> cl.Event | None:
        """Enqueue the sort of each row."""
        columns, offsets, pairs = self.columns, arrays["offsets"], arrays["indices"].shape[0]
        _check_sort(self.traversal, offsets, pairs)
        return sort_rows(
            self.traversal.session,
            offsets,
            arrays["indices"],
            squares=arrays["distances"] if columns.sort == "distance" else None,
            distances=arrays.get("distances") if columns.distances else None,
            vectors=arrays.get("vectors"),
            shifts=arrays.get("shifts"),
            capacity=pairs,
            dtype=columns.dtype,
            dim=columns.dim,
            pairs=pairs,
        )

    def cut(self, arrays: dict[str, cla.Array], pairs: int, *, copied: bool = False) -> dict[str, cla.Array]:
        """What the caller gets of a list with room for more: its first `pairs`, `copied` into memory of their size."""
        session, returned = self.traversal.session, self.columns.returned
        for name in returned[1:]:
            session.shorten(arrays[name], pairs)
        found = {name: arrays[name] for name in returned}
        if not copied or not fits(session, self.columns, 0, pairs):
            return found
        for name in returned[1:]:
            copy = session.allocate(found[name].shape, found[name].dtype, purpose=f"the {name} of {pairs:,} pairs")
            session.copy(found[name], copy)
            found[name] = copy
        session.publish(None, *found.values())
        return found

    def as_list(self, arrays: Any) -> NeighborList:
        """The list of these arrays, or of what a function gives for them when somebody looks at the list."""
        request, columns = self.request, self.columns
        first, end = request.part or (0, request.m)
        return NeighborList(
            arrays,
            num_queries=end - first,
            num_points=self.traversal.num_points,
            dtype=columns.dtype,
            images=columns.images,
            device=self.traversal.session.profile.name,
        )


def _some(arrays: dict[str, cla.Array], names: Iterable[str]) -> dict[str, cla.Array]:
    """The offsets and these of a list's arrays."""
    return {name: arrays[name] for name in ("offsets", *names)}


def _check_sort(traversal: Traversal, offsets: cla.Array, pairs: int) -> None:
    """Raise where the driver would end the sort of the longest row too early."""
    profile, box = traversal.session.profile, traversal.problem.box
    images = 1.0 if box is None else box.most_images(traversal.radius)
    if sorts_within_turns(profile, min(pairs, int(images * traversal.num_points))):
        return
    longest = int(np.diff(traversal.session.read(offsets)).max(initial=0))
    if not sorts_within_turns(profile, longest):
        raise turns_refusal(profile, f"sorting a row of {longest:,} neighbors could take more")
