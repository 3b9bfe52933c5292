"""Pair geometry: the distances, vectors and shifts of the pairs of a list."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

from ..arrays import REAL_OF
from ..config import LONG
from ..runtime.session import Session
from .config import plan_pairs

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
    periodic: str,
    systems: cla.Array | None = None,
    rooted: bool,
) -> cl.Event | None:
    """Enqueue the computation of the distances, vectors and shifts in `arrays` from the offsets (m + 1,) and indices.

    `points` are (n, dim), and the first row of the list is that of query `first_row` of `queries`. In a `period`, of
    the kind `periodic`, a pair is that of the nearest images, and no row may hold another image. `systems` are those of
    queries, each with a period of its own. Distances are squared
    unless `rooted`. Where the pairs exceed the capacity of the arrays, the results are meaningless. One launch, or
    slices that are waited for.
    """
    offsets, indices = arrays["offsets"], arrays["indices"]
    capacity, (n, dim) = indices.shape[0], points.shape
    kernels, config = session.planned(
        "primitives/pair_geometry",
        plan_pairs,
        dim=dim,
        real=REAL_OF[points.dtype],
        offset="long" if offsets.dtype == LONG else "int",
        distances="" if "distances" not in arrays else "root" if rooted else "square",
        vectors="vectors" in arrays,
        shifts="shifts" in arrays,
        periodic=periodic,
    )
    size = config.work_group_size
    return session.launch_sliced(
        kernels["measure_pairs"],
        -(-capacity // (size * config.items)) * size,
        size,
        np.int32(offsets.shape[0] - 1),
        offsets.base_data,
        np.int64(capacity),
        np.int32(n),
        points.base_data,
        np.int32(first_row),
        queries.base_data,
        indices.base_data,
        *(() if period is None else (period.base_data,)),
        *(() if systems is None else (systems.base_data,)),
        *(arrays[name].base_data for name in _NAMES if name in arrays),
        pairs=float(capacity),
    )
