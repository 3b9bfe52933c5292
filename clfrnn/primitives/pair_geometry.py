"""Pairs: what a list carries of them besides their numbers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

from ..arrays import REAL_OF
from ..planning.primitives import plan_pairs
from ..runtime.scratch import LONG
from ..runtime.session import Session

__all__ = ["measure_pairs"]

_NAMES = ("distances", "vectors", "shifts")


def measure_pairs(
    session: Session,
    arrays: Mapping[str, cla.Array],
    *,
    points: cla.Array,
    queries: cla.Array,
    first_row: int,
    period: cla.Array | None,
    rooted: bool,
) -> cl.Event | None:
    """Enqueue what a list's `arrays` hold besides offsets (m + 1,) and indices: distances, vectors, shifts.

    `points` are (n, dim), of `queries` the list's first is number `first_row`. In a `period`, a pair is that of
    the images that are nearest, and no row holds another. Distances are squared unless `rooted`. Where pairs are more
    than there is room for, nothing is right. One launch, or slices that are waited for where that would be too long.
    """
    offsets, indices = arrays["offsets"], arrays["indices"]
    room, (n, dim) = indices.shape[0], points.shape
    kernels, config = session.planned(
        "primitives/pair_geometry",
        plan_pairs,
        dim=dim,
        real=REAL_OF[points.dtype],
        offset="long" if offsets.dtype == LONG else "int",
        distances="" if "distances" not in arrays else "root" if rooted else "square",
        vectors="vectors" in arrays,
        shifts="shifts" in arrays,
        periodic=period is not None,
    )
    size = config.work_group_size
    return session.launch_sliced(
        kernels["measure_pairs"],
        -(-room // (size * config.items)) * size,
        size,
        np.int32(offsets.shape[0] - 1),
        offsets.base_data,
        np.int64(room),
        np.int32(n),
        points.base_data,
        np.int32(first_row),
        queries.base_data,
        indices.base_data,
        *(() if period is None else (period.base_data,)),
        *(arrays[name].base_data for name in _NAMES if name in arrays),
        pairs=float(room),
    )
