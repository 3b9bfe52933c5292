"""Points into the order of cells by way of buckets, in three launches and then two; few points one, very many five.

And rows of which nobody looks up where a cell starts, as that of queries, in three: however many are in one place.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyopencl.array as cla

from ...arrays import REAL_OF
from ...domain import CellGrid
from ...errors import DeviceMemoryError
from ...planning.binning import BinningPlan
from ...planning.bucket_sort import (
    bucket_groups,
    plan_bucket_cells,
    plan_buckets,
    plan_regions,
    plan_select_cells,
    plan_serial_cells,
)
from ...planning.configs import ROOM
from ...primitives.fill import cleared
from ...primitives.readback import PendingBox
from ...runtime.scratch import INT, Scratch
from ...runtime.session import Session

__all__ = ["BucketSort"]

_LARGEST_INT32 = 2**31 - 1

#: Rooms of no more bytes than this stay with their sort from one step to the next, or until others need the memory: to
#: take them from the pool costs the host as much as a launch.
_LITTLE = 1 << 25


class BucketSort:
    """A sort of `n` points into the cells of a grid, for as many clouds as come.

    `numbers` are those of the grid, and of a periodic box, as kernels take them. Unless it `finds_starts`, buckets are
    sorted tile by tile.
    """

    def __init__(
        self,
        session: Session,
        grid: CellGrid,
        filling: BinningPlan,
        *,
        n: int,
        dtype: np.dtype[Any],
        numbers: tuple[Any, ...],
        periodic: bool,
        layout: str,
        finds_starts: bool = True,
    ) -> None:
        dim = len(grid.shape)
        read: dict[str, Any] = {"dim": dim, "real": REAL_OF[dtype], "periodic": periodic}
        facts = {**read, "layout": layout}
        self.session, self.dtype, self.numbers = session, dtype, numbers
        self._n, self._cells, self._filling = n, grid.cells, filling
        #: an int32 of the device, 0 where the last points came nearly sorted, if there are regions to ask it for
        self.disorder: Scratch | None = None
        if filling.way == "in turn":
            self._pickers, _ = session.planned("grid/serial_cells", plan_serial_cells, **facts)
            return
        if filling.way == "at once":
            self._pickers, picking = session.planned("grid/select_cells", plan_select_cells, **facts)
            self._wide = picking.work_group_size
            return
        self._sorters, config = session.planned("grid/bucket_pass", plan_buckets, **read)
        stem = "grid/bucket_to_cells" if finds_starts else "grid/bucket_to_tiles"
        self._fillers, narrow = session.planned(stem, plan_bucket_cells, **facts)
        self._wide, self._narrow, self._filled = config.work_group_size, narrow.work_group_size, narrow.tile
        self._groups = bucket_groups(session.profile, session.tuning, n, self._wide)
        if filling.regions:
            self._tilers, tiled = session.planned("grid/region_pass", plan_regions, **read)
            self._tiled, self._tile = tiled.work_group_size, tiled.tile
        self._boxes = session.scratch(self._groups * (2 * dim + 1), dtype, purpose="the bounding boxes of groups")
        #: where buckets ended the time before, when that is known, and memory for where they end the next time
        self._ends: tuple[Scratch | None, Scratch | None] = None, None
        #: see :meth:`_take_rooms`, where these are kept
        self._rooms: tuple[Scratch, Scratch, Scratch] | None = None
        session.keepers.add(self)

    def points(
        self, points: cla.Array, starts: Scratch, places: Scratch, box: PendingBox, images: Scratch | None = None
    ) -> None:
        """Enqueue the sort of `points` into `places`, the copy in the order of cells, and of where each cell `starts`.

        Finds the box of the points also. Atomics: the order inside a cell is not repeatable. With buckets a second copy
        of the points besides, and 4 bytes for each bucket and group; counters of buckets stay at zero in the session
        for the next time. From the second time on buckets have room by what they held before: the copy takes a quarter
        more and 64 places a bucket, and besides 4 bytes for each point, and 12 for each bucket and group; where that is
        too much, points go as they did the first time. With regions the device decides, by how the points come,
        whether these or one pass serve them.
        """
        numbers = self.numbers if images is None else (*self.numbers, images.base_data)
        filling, launch = self._filling, self.session.launch
        cells = (self._cells, points.base_data, *numbers, starts.base_data, places.base_data)
        if filling.way == "in turn":
            launch(self._pickers["place_in_turn"], 1, 1, self._n, *cells, *box.arguments)
        elif filling.way == "at once":
            items, shift = (filling.buckets + 1) * self._wide, filling.shift
            launch(self._pickers["pick_cells"], items, self._wide, self._n, shift, *cells, *box.arguments)
        else:
            self._by_way_of_buckets(points, numbers, starts, places, box)

    def tiles(self, rows: cla.Array, places: Scratch, box: PendingBox, images: Scratch | None = None) -> None:
        """The same of `rows` whose cells nobody looks up: in the order of buckets, and of cells in each tile of these.

        By way of buckets, and without rooms. However many are in one place, they are shared out among groups.
        """
        numbers = self.numbers if images is None else (*self.numbers, images.base_data)
        session, filling, buckets = self.session, self._filling, self._filling.buckets
        ends = session.scratch(buckets + 1, INT, purpose="the ends of buckets")
        counts = self._take_counts()
        seen = (self._n, filling.shift, buckets, rows.base_data, *numbers, counts.base_data)
        records = self._count_and_sort(seen, ends, places)
        tiles = self._n // self._filled + buckets  # each bucket ends with one of its own
        session.launch(
            self._fillers["sort_tiles"],
            tiles * self._narrow,
            self._narrow,
            self._n,
            filling.shift,
            buckets,
            self._groups,
            *numbers,
            ends.base_data,
            records.base_data,
            self._boxes.base_data,
            places.base_data,
            counts.base_data,
            *box.arguments,
        )
        session.keep_cleared(counts)

    def _by_way_of_buckets(
        self, points: cla.Array, numbers: tuple[Any, ...], starts: Scratch, places: Scratch, box: PendingBox
    ) -> None:
        session, filling, buckets = self.session, self._filling, self._filling.buckets
        ends_before, spare = self._ends
        ends = spare or session.scratch(buckets + 1, INT, purpose="the ends of buckets")
        memory = None if ends_before is None else self._take_rooms()
        counts = self._take_counts()
        seen = (self._n, filling.shift, buckets, points.base_data, *numbers, counts.base_data)
        if ends_before is None or memory is None:
            records = self._count_and_sort(seen, ends, places)
            shared = (0, *[ends.base_data] * 3)
        else:
            records, *others = memory
            self._share(seen, ends_before, ends, memory)
            shared = (1, ends_before.base_data, *(scratch.base_data for scratch in others))
        session.launch(
            self._fillers["fill_cells"],
            buckets * self._narrow,
            self._narrow,
            self._n,
            filling.shift,
            self._cells,
            self._groups,
            *numbers,
            ends.base_data,
            records.base_data,
            *shared,
            points.base_data,
            self._boxes.base_data,
            starts.base_data,
            places.base_data,
            counts.base_data,
            *box.arguments,
        )
        session.keep_cleared(counts)
        self._ends = (ends, ends_before) if self._gives_room else (None, ends)

    def _take_counts(self) -> Scratch:
        """Counters at zero: of buckets, and what :meth:`_count_and_sort` and :meth:`_share` count besides."""
        regions, buckets = self._filling.regions, self._filling.buckets
        passed = 2 * regions + 1 if regions else buckets + 2
        return cleared(self.session, buckets + passed, purpose="the counts of buckets")

    @property
    def _room(self) -> int:
        """Records that all buckets have room for, as the kernels give it to them."""
        return self._n + self._n // ROOM["spare"] + ROOM["little"] * self._filling.buckets

    @property
    def _gives_room(self) -> bool:
        """Whether buckets have room by what they held the time before.

        Places behind all rooms, as many as points, are integers too.
        """
        return not self._filling.regions and self._room + self._n <= _LARGEST_INT32

    def _take_rooms(self) -> tuple[Scratch, Scratch, Scratch] | None:
        """Memory for records in rooms, and for the numbers of points without and their runs; None if that is too much.

        Where points went into buckets the time before they can do so again.
        """
        if self._rooms is not None:
            return self._rooms
        session, runs = self.session, self._groups * self._filling.buckets
        try:
            rooms = (
                session.scratch(4 * self._room, self.dtype, purpose="the points in the order of buckets"),
                session.scratch(self._n, INT, purpose="the points that buckets have no room for"),
                session.scratch(3 * runs, INT, purpose="the runs of these points"),
            )
        except DeviceMemoryError:
            return None
        if sum(scratch.size * scratch.dtype.itemsize for scratch in rooms) <= _LITTLE:
            self._rooms = rooms
        return rooms

    def let_go(self) -> bool:
        """See :class:`~clfrnn.runtime.memory.Keeper`."""
        rooms, self._rooms = self._rooms, None
        return rooms is not None

    @property
    def kept(self) -> dict[str, Scratch]:
        """What stays from one step to the next, by name, where that is more than a number for each bucket and group."""
        rooms = self._rooms if self._filling.way == "buckets" else None
        names = "bucket_records", "bucket_strays", "bucket_runs"
        return {} if rooms is None else dict(zip(names, rooms, strict=True))

    def _share(self, seen: tuple[Any, ...], ends_before: Scratch, ends: Scratch, memory: tuple[Scratch, ...]) -> None:
        """The records of points whose buckets have room, and the numbers of others: see :meth:`_take_rooms`."""
        size, of = self._wide, [scratch.base_data for scratch in (ends_before, ends, *memory, self._boxes)]
        self.session.launch(self._sorters["share_buckets"], self._groups * size, size, *seen, *of)

    def _count_and_sort(self, seen: tuple[Any, ...], ends: Scratch, places: Scratch) -> Scratch:
        """The records of the points in the order of buckets, whose ends are found first."""
        session, size, groups, filling = self.session, self._wide, self._groups, self._filling
        records = session.scratch(4 * self._n, self.dtype, purpose="the points in the order of buckets")
        before = session.scratch(groups * filling.buckets, INT, purpose="the counts of groups")
        seen, boxes = (*seen, before.base_data), self._boxes.base_data
        divided = (filling.regions, filling.span, filling.entered)
        session.launch(self._sorters["count_buckets"], groups * size, size, *seen, boxes, *divided)
        passed = (ends.base_data, records.base_data, filling.regions, filling.entered)
        session.launch(self._sorters["sort_buckets"], groups * size, size, *seen, *passed)
        if filling.regions:
            if places.size >= records.size:
                between = places  # where the sorted copy will lie
            else:
                between = session.scratch(records.size, self.dtype, purpose="the points in the order of regions")
            self._by_way_of_regions(seen[3:-1], ends, between, records)
        return records

    def _by_way_of_regions(self, seen: tuple[Any, ...], ends: Scratch, between: Scratch, records: Scratch) -> None:
        """The records of the points in the order of buckets in two passes, from what has been `seen` of them."""
        session, size, tilers = self.session, self._tiled, self._tilers
        filling, tiles = self._filling, -(-self._n // self._tile)
        parts = self._n // self._tile + filling.regions  # tiles that end where a region does
        points, *numbers, counts = seen
        starts = session.scratch(filling.regions + 2, INT, purpose="the starts of regions")
        divided = filling.shift, filling.span, filling.buckets, filling.regions
        passed = counts, starts.base_data, ends.base_data, between.base_data
        sort, within = tilers["sort_regions"], tilers["sort_within_regions"]
        session.launch(sort, tiles * size, size, self._n, *divided, points, *numbers, *passed, self._filling.entered)
        session.launch(within, parts * size, size, *divided, *numbers, *passed, records.base_data)
        self.disorder = Scratch(starts.base_data, 1, INT, INT.itemsize * (filling.regions + 1))
