"""Row sort: sorts the entries of each row of a list."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

from ..arrays import REAL_OF
from ..runtime.session import Session
from .config import plan_row_sort

__all__ = ["sort_rows"]


#: Work-items of a launch, at most.
_MOST_ITEMS = 1 << 30


def sort_rows(
    session: Session,
    offsets: cla.Array,
    indices: cla.Array,
    *,
    squares: cla.Array | None,
    distances: cla.Array | None,
    vectors: cla.Array | None,
    shifts: cla.Array | None,
    capacity: int,
    dtype: np.dtype[Any],
    dim: int,
    pairs: int,
) -> cl.Event | None:
    """Sort each row by (`squares`, index, `shifts`) where squared distances are given, else by (index, `shifts`).

    Where `shifts` are not given, no row may hold an index twice. Rows that end beyond `capacity` are not sorted. Where
    `squares` are also given as `distances`, they are overwritten with the rounded roots. One launch; a row of k entries
    costs k log k steps of one work-item. On a GPU, where no attributes move with the entries, two launches; in rows of
    up to 512 entries each entry then takes k steps, and `squares` that are not `distances` are overwritten.
    """
    rows = offsets.size - 1
    kernels, config = session.planned(
        "primitives/row_sort",
        plan_row_sort,
        dim=dim,
        real=REAL_OF[np.dtype(dtype)],
        by_distance=squares is not None,
        offset="long" if offsets.dtype == np.int64 else "int",
        distances=distances is not None,
        vectors=vectors is not None,
        shifts=shifts is not None,
    )
    attributes = (squares if squares is not None else distances, vectors, shifts)
    moved = [array.base_data for array in attributes if array is not None]
    size, limit = config.work_group_size, np.int64(capacity)
    if config.tile:
        # Work-items of a launch are counted in int32.
        part = _MOST_ITEMS // size * config.tile
        for start in range(0, capacity, part):
            here = min(part, capacity - start)
            session.launch_sliced(
                kernels["sort_short_rows"],
                -(-here // config.tile) * size,
                size,
                np.int32(rows),
                np.int64(start),
                offsets.base_data,
                indices.base_data,
                limit,
                *moved,
                pairs=float(pairs) * here / capacity * min(config.tile, 1 + pairs / max(1, rows)),
            )
    steps = pairs * 2.0 * max(1.0, np.log2(1 + pairs / max(1, rows)))
    return session.launch_sliced(
        kernels["sort_rows"],
        rows,
        size,
        offsets.base_data,
        indices.base_data,
        limit,
        *moved,
        pairs=8.0 * steps,
    )
