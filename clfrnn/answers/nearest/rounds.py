"""Nearest rows: finds the rows of k nearest neighbors that are not full, and measures vectors and shifts of rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

from ...arrays import REAL_OF
from ...config import INT
from ...primitives.fill import fill
from ...runtime.session import Session
from .plan import plan_row_program

__all__ = ["ShortRows", "find_short_rows", "measure_rows"]

_STEM = "answers/nearest/rounds"

#: Largest number of work-items of a launch that measures rows; a work-item then serves several entries.
_MOST_ITEMS = 1 << 30


class ShortRows(NamedTuple):
    """The rows that are not full, (found,), in any order, and their queries, (found, dim)."""

    rows: cla.Array
    positions: cla.Array


def find_short_rows(
    session: Session, indices: cla.Array, queries: cla.Array, among: ShortRows | None = None
) -> ShortRows | None:
    """Find the rows of `indices`, (m, k), that are not full, of all rows or `among` some; None where all are full.

    `queries` are (m, dim). Waits for the number of rows. Cost: a pass over the last column, and another where rows are
    found.
    """
    (m, k), dim, real = indices.shape, queries.shape[1], REAL_OF[queries.dtype]
    asked = m if among is None else among.rows.size
    if not asked:
        return None
    kernels, config = session.planned(
        _STEM, plan_row_program, "count_short_rows", "take_short_rows", dim=dim, real=real, again=among is not None
    )
    counters = session.scratch(2, INT, purpose="the number of rows that are not full")
    fill(session, counters)
    shared = asked, k, indices.base_data, *(() if among is None else (among.rows.base_data,))
    session.launch(kernels["count_short_rows"], asked, config.work_group_size, *shared, counters.base_data)
    found = int(session.read(counters, 0, 1)[0])
    if not found:
        return None
    rows = session.allocate(found, INT, purpose="the rows that are not full")
    positions = session.allocate((found, dim), queries.dtype, purpose="the queries of rows that are not full")
    given = queries.base_data, counters.base_data, rows.base_data, positions.base_data
    session.launch(kernels["take_short_rows"], asked, config.work_group_size, *shared, *given)
    return ShortRows(rows, positions)


def measure_rows(
    session: Session,
    indices: cla.Array,
    *,
    points: cla.Array,
    queries: cla.Array,
    period: cla.Array | None,
    periodic: str,
    vectors: cla.Array,
    shifts: cla.Array | None,
    known: bool,
    systems: cla.Array | None = None,
) -> cl.Event | None:
    """Enqueue the computation of `vectors`, (m, k, dim), of `indices`, (m, k), and of `shifts` in a `period`.

    `periodic` is the kind of the period. Where shifts are `known`, they are read; otherwise each pair is that of the
    nearest images. One launch.
    """
    n, dim = points.shape
    kernels, config = session.planned(
        _STEM,
        plan_row_program,
        "measure_rows",
        dim=dim,
        real=REAL_OF[points.dtype],
        periodic=periodic,
        known=known,
    )
    return session.launch(
        kernels["measure_rows"],
        min(indices.size, _MOST_ITEMS),
        config.work_group_size,
        indices.shape[1],
        indices.base_data,
        n,
        # Behind the last neighbor the first point is read, and left out; where there is none, a query.
        (points if n else queries).base_data,
        queries.base_data,
        *(() if period is None or shifts is None else (period.base_data, shifts.base_data)),
        *(() if period is None or shifts is None or systems is None else (systems.base_data,)),
        vectors.base_data,
        np.int64(indices.size),
    )
