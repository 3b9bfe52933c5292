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

__all__ = ["fill_cells"]


def fill_cells(
    session: Session,
    points: cla.Array,
    grid: CellGrid,
    filling: Filling,
    numbers: tuple[Any, ...],
    *,
    starts: Scratch,
    places: Scratch,
    box: PendingBox,
    periodic: bool,
) -> None:
    """Enqueue the sort of `points` into `places`, records in the order of cells, and of where each cell `starts`.

    `numbers` are those of the grid, and of a periodic box, as kernels take them. Finds the box of the points also.
    Atomics: the order inside a cell is not repeatable. With buckets a second copy of the points besides, and 4 bytes
    for each bucket and group; those of the buckets stay at zero in the session for the next time.
    """
    n, dim = points.shape
    facts: dict[str, Any] = {"dim": dim, "real": REAL_OF[points.dtype], "periodic": periodic}
    kernels, config = session.planned("buckets", plan_buckets, **facts)
    size, placed = config.work_group_size, (starts.base_data, places.base_data)
    if filling.way == "at once":
        few = (np.int32(n), np.int32(grid.cells), points.base_data, *numbers, *placed)
        session.launch(kernels["place_cells"], size, size, *few, *box.arguments)
        return
    fillers, narrow = session.planned("bucket_cells", plan_bucket_cells, **facts)
    groups, buckets, shift = counting_groups(session.profile, n, size), filling.buckets, np.int32(filling.shift)
    boxes = session.scratch(groups * (2 * dim + 1), points.dtype, purpose="the bounding boxes of groups")
    before = session.scratch(groups * buckets, INT, purpose="the counts of groups")
    ends = session.scratch(buckets, INT, purpose="the ends of buckets")
    records = session.scratch(4 * n, points.dtype, purpose="the points in the order of buckets")
    counts = cleared(session, buckets, purpose="the counts of buckets")
    counted = (counts.base_data, before.base_data)
    seen = (np.int32(n), shift, np.int32(buckets), points.base_data, *numbers, *counted)
    session.launch(kernels["count_buckets"], groups * size, size, *seen, boxes.base_data)
    session.launch(kernels["sort_buckets"], groups * size, size, *seen, ends.base_data, records.base_data)
    session.launch(
        fillers["fill_cells"],
        buckets * narrow.work_group_size,
        narrow.work_group_size,
        shift,
        np.int32(grid.cells),
        np.int32(groups),
        *numbers,
        ends.base_data,
        records.base_data,
        boxes.base_data,
        *placed,
        counts.base_data,
        *box.arguments,
    )
    session.keep_cleared(counts)
