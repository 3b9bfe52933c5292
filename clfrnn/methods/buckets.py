"""Points into the order of cells by way of buckets, in three launches; few points in one, very many in five."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyopencl.array as cla

from ..arrays import REAL_OF
from ..blocks import counting_groups
from ..buckets import Filling, plan_bucket_cells, plan_buckets, plan_picks, plan_regions
from ..domain import CellGrid
from ..primitives.fill import cleared
from ..primitives.reduce import PendingBox
from ..session import INT, Scratch, Session

__all__ = ["BucketSort"]

#: So many counters of groups are kept from one sort to the next: 1 MiB.
_LITTLE = 1 << 18


class BucketSort:
    """A sort of `n` points into the cells of a grid, for as many clouds as come.

    `numbers` are those of the grid, and of a periodic box, as kernels take them.
    """

    def __init__(
        self,
        session: Session,
        grid: CellGrid,
        filling: Filling,
        *,
        n: int,
        dtype: np.dtype[Any],
        numbers: tuple[Any, ...],
        periodic: bool,
        layout: str,
    ) -> None:
        dim = len(grid.shape)
        read: dict[str, Any] = {"dim": dim, "real": REAL_OF[dtype], "periodic": periodic}
        facts = {**read, "layout": layout}
        self.session, self.dtype, self.numbers = session, dtype, numbers
        self._n, self._cells, self._filling = n, grid.cells, filling
        if filling.way == "at once":
            self._pickers, picking = session.planned("picks", plan_picks, **facts)
            self._wide = picking.work_group_size
            return
        self._sorters, config = session.planned("buckets", plan_buckets, **read)
        self._fillers, narrow = session.planned("bucket_cells", plan_bucket_cells, **facts)
        self._wide, self._narrow = config.work_group_size, narrow.work_group_size
        self._groups = counting_groups(session.profile, n, self._wide)
        if filling.regions:
            self._tilers, tiled = session.planned("regions", plan_regions, **read)
            self._tiled, self._tile = tiled.work_group_size, tiled.tile
        #: numbers of the boxes that groups find, and what groups count
        self._bounds = self._groups * (2 * dim + 1)
        self._counters = self._groups * filling.buckets
        self._passing: tuple[Scratch, Scratch, Scratch] | None = None

    def points(
        self, points: cla.Array, starts: Scratch, places: Scratch, box: PendingBox, images: Scratch | None = None
    ) -> None:
        """Enqueue the sort of `points` into `places`, the copy in the order of cells, and of where each cell `starts`.

        Finds the box of the points also. Atomics: the order inside a cell is not repeatable. With buckets a second copy
        of the points besides, and 4 bytes for each bucket and group; those of the buckets stay at zero in the session
        for the next time. With regions the device decides, by how the points come, whether these or one pass serve
        them.
        """
        numbers = self.numbers if images is None else (*self.numbers, images.base_data)
        filling, size = self._filling, self._wide
        if filling.way == "at once":
            few = (self._n, filling.shift, self._cells, points.base_data, *numbers, starts.base_data, places.base_data)
            self.session.launch(self._pickers["pick_cells"], filling.buckets * size, size, *few, *box.arguments)
        else:
            self._by_way_of_buckets(points, numbers, starts, places, box)

    def _by_way_of_buckets(
        self, points: cla.Array, numbers: tuple[Any, ...], starts: Scratch, places: Scratch, box: PendingBox
    ) -> None:
        session, size, groups = self.session, self._wide, self._groups
        buckets, shift = self._filling.buckets, self._filling.shift
        regions, room = self._filling.regions, self._filling.room
        boxes, before, ends = self._passing or self._take_passing()
        held = buckets * room or self._n
        records = session.scratch(4 * held, self.dtype, purpose="the points in the order of buckets")
        counts = cleared(session, buckets + (2 * regions + 1 if regions else 1), purpose="the counts of buckets")
        seen = (self._n, shift, buckets, points.base_data, *numbers, counts.base_data)
        if room:
            passed = (room, ends.base_data, records.base_data, boxes.base_data)
            session.launch(self._sorters["share_buckets"], groups * size, size, *seen, *passed)
        else:
            seen = (*seen, before.base_data)
            divided = (regions, self._filling.span)
            session.launch(self._sorters["count_buckets"], groups * size, size, *seen, boxes.base_data, *divided)
            passed = (ends.base_data, records.base_data, regions, self._filling.entered)
            session.launch(self._sorters["sort_buckets"], groups * size, size, *seen, *passed)
        if regions:
            if places.size >= records.size:
                between = places  # where the sorted copy will lie
            else:
                between = session.scratch(records.size, self.dtype, purpose="the points in the order of regions")
            self._by_way_of_regions(seen[3:-1], ends, between, records)
        session.launch(
            self._fillers["fill_cells"],
            buckets * self._narrow,
            self._narrow,
            self._n,
            shift,
            self._cells,
            groups,
            *numbers,
            ends.base_data,
            records.base_data,
            room,
            points.base_data,
            boxes.base_data,
            starts.base_data,
            places.base_data,
            counts.base_data,
            *box.arguments,
        )
        session.keep_cleared(counts)

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

    def _take_passing(self) -> tuple[Scratch, Scratch, Scratch]:
        """What one kernel leaves for the next: boxes of groups, what these count, and where buckets end.

        The kernels of a session run in order, so the next sort may have the same memory: where that is little, it is
        not asked for again.
        """
        session = self.session
        boxes = session.scratch(self._bounds, self.dtype, purpose="the bounding boxes of groups")
        before = session.scratch(self._counters, INT, purpose="the counts of groups")
        ends = session.scratch(self._filling.buckets, INT, purpose="the ends of buckets")
        if self._counters <= _LITTLE:
            self._passing = boxes, before, ends
        return boxes, before, ends
