"""Rows: allocates the arrays of a list, enqueues the walk that writes them, and sorts and completes rows."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

from ...config import INT, LONG, SECTOR, components
from ...errors import DeviceMemoryError
from ...functions import WalkFunction
from ...methods.first_pass.base import FirstPass
from ...methods.request import QueryRequest
from ...methods.traversal import Traversal
from ...primitives.row_sort import sort_rows
from ...results import NeighborList
from ...runtime.launch_limits import sorts_within_turns, turns_refusal
from ...runtime.memory import ForPairs
from ...runtime.rendering import own_function
from .attributes import measure
from .budget import fits
from .columns import Columns

__all__ = ["Rows", "writer"]


@dataclasses.dataclass(slots=True, kw_only=True)  # one for each list: frozen ones take longer to make
class Rows:
    """The queries of a list, its columns, and the way of writing it."""

    traversal: Traversal
    request: QueryRequest
    columns: Columns
    #: whether the walk writes indices alone, and attributes are computed from them
    measured: bool
    #: whether the walk checks the capacity of the arrays, as pairs may be more than expected
    bounded: bool
    #: the points to compute attributes from, where the index may have been updated since
    points: cla.Array | None = None

    def with_row(self) -> Rows:
        """The same list, for which the walk writes all columns."""
        return dataclasses.replace(self, measured=False, points=None)

    def with_points(self) -> Rows:
        """The same list with the current points to compute attributes from.

        Where there is no memory for the points, the walk writes all columns.
        """
        if not self.measured or self.points is not None:
            return self
        try:
            points = self.traversal.structure.positions()
        except DeviceMemoryError:
            points = None
        return self.with_row() if points is None else dataclasses.replace(self, points=points)

    def allocate(self, offsets: cla.Array, pairs: int, *, capacity: int) -> dict[str, cla.Array]:
        """Allocate the arrays of a list of `pairs`, with memory for up to `capacity` pairs."""
        arrays = {"offsets": offsets}
        for name, (shape, dtype) in self.columns.of_pair.items():
            purpose = ForPairs(name, pairs)
            arrays[name] = self.traversal.session.allocate((pairs, *shape), dtype, purpose=purpose, rows=capacity)
        return arrays

    def fill(
        self, arrays: dict[str, cla.Array], *, first_pass: FirstPass | None = None, walk: bool = True
    ) -> dict[str, cla.Array]:
        """Enqueue the writing of all rows, from the first pass where it has them, and by the walk."""
        event = None
        if arrays["indices"].shape[0]:
            if first_pass is not None and first_pass.buffer is not None:
                event = first_pass.buffer.write(self.traversal.session, arrays["offsets"], arrays["indices"])
            if walk:
                event = self.walk(arrays, first_pass=first_pass)
        self.finish(arrays, event)
        return arrays

    def walk(self, arrays: dict[str, cla.Array], *, first_pass: FirstPass | None) -> cl.Event | None:
        """Enqueue the walk that writes the rows which the first pass does not write."""
        offsets, pairs = arrays["offsets"], arrays["indices"].shape[0]
        write = self._writer(offsets)
        capacity = pairs if offsets.dtype == INT else np.int64(pairs)
        given = {**arrays, "first_row": self.request.part[0] if self.request.part else 0, "capacity": capacity}
        values = [given[argument.name] for argument in write.parsed_arguments]
        return self.traversal.run(write, self.request, values, first_pass=first_pass)

    def _writer(self, offsets: cla.Array) -> WalkFunction:
        """The function that the walk runs to write rows."""
        columns = self.columns.indices_alone if self.measured else self.columns
        by_sectors = self.traversal.structure.list_facts.by_sectors and not columns.num_attributes
        return writer(columns, offsets.dtype, bounded=self.bounded, held=SECTOR if by_sectors else 0)

    def prepare(self, offsets: cla.Array, first_pass: FirstPass) -> None:
        """Compile the kernels that write rows from a first pass, and the walk after it, for later lists of a loop."""
        if first_pass.buffer is not None:
            first_pass.buffer.prepare(self.traversal.session, offsets)
        self.traversal.prepare(self._writer(offsets), self.request, first_pass)

    def finish(self, arrays: dict[str, cla.Array], event: cl.Event | None) -> None:
        """Enqueue the attributes and the order of the written rows, and make other queues wait for them."""
        columns, pairs = self.columns, arrays["indices"].shape[0]
        if self.measured and self.points is None and pairs:
            rows = self.with_points()
            if not rows.measured:  # no memory for the points: write all columns
                event = rows.walk(arrays, first_pass=None)
            rows.finish(arrays, event)
            return
        if pairs and (self.measured or columns.sort):
            # Distances that decide the order are computed before the sort, and other attributes after it, so that they
            # are not moved.
            early = ("distances",) if columns.sort == "distance" else ()
            event = self._measure(arrays, early) or event
            if columns.sort:
                event = self._sort(_some(arrays, ("indices", *early)) if self.measured else arrays)
            event = self._measure(arrays, tuple(name for name in columns.of_pair if name not in early)) or event
        self.traversal.session.publish(event, *map(arrays.__getitem__, columns.returned))

    def _measure(self, arrays: dict[str, cla.Array], names: tuple[str, ...]) -> cl.Event | None:
        """Enqueue the computation of the attributes among `names`."""
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
        """The arrays that the caller gets: their first `pairs`, `copied` to memory of that size where possible."""
        session, returned = self.traversal.session, self.columns.returned
        for name in returned[1:]:
            if arrays[name].shape[0] != pairs:
                session.shorten(arrays[name], pairs)
        found = {name: arrays[name] for name in returned}
        if not copied or not fits(session, self.columns, 0, pairs):
            return found
        try:
            copies = {
                name: session.allocate(found[name].shape, found[name].dtype, purpose=ForPairs(name, pairs))
                for name in returned[1:]
            }
        except DeviceMemoryError:
            return found
        for name, copy in copies.items():
            session.copy(found[name], copy)
        session.publish(None, *copies.values())
        return {**found, **copies}

    def as_list(self, arrays: Any) -> NeighborList:
        """The list of these arrays, or of a function that returns them when the list is first read."""
        request, columns = self.request, self.columns
        first, end = request.part or (0, request.m)
        return NeighborList(
            arrays,
            num_queries=end - first,
            num_points=self.traversal.num_points,
            dtype=columns.dtype,
            images=columns.images,
            of_points=request.queries is None and end - first == self.traversal.num_points,
            device=self.traversal.session.profile.name,
            session=self.traversal.session,
        )


def _some(arrays: dict[str, cla.Array], names: Iterable[str]) -> dict[str, cla.Array]:
    """The offsets and the named arrays of a list."""
    return {name: arrays[name] for name in ("offsets", *names)}


def _check_sort(traversal: Traversal, offsets: cla.Array, pairs: int) -> None:
    """Raise where the driver would end the sort of the longest row early."""
    profile, images = traversal.session.profile, traversal.problem.domain.most_images(traversal.radius)
    if sorts_within_turns(profile, min(pairs, int(images * traversal.num_points))):
        return
    longest = int(np.diff(traversal.session.read(offsets)).max(initial=0))
    if not sorts_within_turns(profile, longest):
        raise turns_refusal(profile, f"sorting a row of {longest:,} neighbors could take more")


@functools.lru_cache(maxsize=256)
def writer(columns: Columns, offsets: np.dtype[Any], *, bounded: bool, held: int) -> WalkFunction:
    """The function that writes lists of such columns, with offsets of this dtype: see :func:`own_function`."""
    shifts = "shifts" in columns.of_pair
    return own_function(
        "write",
        offset="long" if offsets == LONG else "int",
        distances="square" if columns.sort == "distance" else "root" if columns.distances else "",
        vectors=columns.vectors,
        shifts=shifts,
        # Indices that a work-item collects are bounded in any case, as a compiler made wrong lists otherwise
        # (see asv_benches/lab-book.md).
        bounded=bounded or held > 0,
        held=held,
        components=components(columns.dim) if columns.vectors or shifts else (),
    )
