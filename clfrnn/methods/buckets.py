"""Points into the order of cells by way of buckets, in three launches; few points in one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyopencl.array as cla

from ..arrays import REAL_OF
from ..blocks import counting_groups
from ..buckets import Filling, plan_bucket_cells, plan_buckets
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
        facts: dict[str, Any] = {"dim": dim, "real": REAL_OF[dtype], "periodic": periodic, "layout": layout}
        self.session, self.dtype, self.numbers = session, dtype, numbers
        self._n, self._cells, self._filling = n, grid.cells, filling
        self._sorters, config = session.planned("buckets", plan_buckets, **facts)
        self._fillers, narrow = session.planned("bucket_cells", plan_bucket_cells, **facts)
        self._wide, self._narrow = config.work_group_size, narrow.work_group_size
        self._groups = counting_groups(session.profile, n, self._wide)
        #: numbers of the boxes that groups find, and what groups count
        self._bounds, self._counters = self._groups * (2 * dim + 1), self._groups * filling.buckets
        self._passing: tuple[Scratch, Scratch, Scratch] | None = None

    def points(
        self, points: cla.Array, starts: Scratch, places: Scratch, box: PendingBox, images: Scratch | None = None
    ) -> None:
        """Enqueue the sort of `points` into `places`, the copy in the order of cells, and of where each cell `starts`.

        Finds the box of the points also. Atomics: the order inside a cell is not repeatable. With buckets a second copy
        of the points besides, and 4 bytes for each bucket and group; those of the buckets stay at zero in the session
        for the next time.
        """
        numbers = self.numbers if images is None else (*self.numbers, images.base_data)
        placed = starts.base_data, places.base_data
        if self._filling.way == "at once":
            size = self._wide
            few = (self._n, self._cells, points.base_data, *numbers, *placed)
            self.session.launch(self._sorters["place_cells"], size, size, *few, *box.arguments)
        else:
            self._by_way_of_buckets(points, numbers, placed, box)

    def _by_way_of_buckets(
        self, points: cla.Array, numbers: tuple[Any, ...], placed: tuple[Any, Any], box: PendingBox
    ) -> None:
        session, size, groups = self.session, self._wide, self._groups
        buckets, shift = self._filling.buckets, self._filling.shift
        boxes, before, ends = self._passing or self._take_passing()
        records = session.scratch(4 * self._n, self.dtype, purpose="the points in the order of buckets")
        counts = cleared(session, buckets, purpose="the counts of buckets")
        seen = (self._n, shift, buckets, points.base_data, *numbers, counts.base_data, before.base_data)
        session.launch(self._sorters["count_buckets"], groups * size, size, *seen, boxes.base_data)
        session.launch(self._sorters["sort_buckets"], groups * size, size, *seen, ends.base_data, records.base_data)
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
            boxes.base_data,
            *placed,
            counts.base_data,
            *box.arguments,
        )
        session.keep_cleared(counts)

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
