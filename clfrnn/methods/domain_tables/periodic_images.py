"""Periodic images: the table by which a walk finds the images of points in a periodic box, and heights in a cell."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyopencl as cl
import pyopencl.array as cla

from ...arrays import REAL_OF
from ...domain.box import CELLS, SLACK, PeriodicBox
from ...primitives.readback import PendingBox
from ...primitives.reduce import images_of
from ...runtime.scratch import Scratch
from ...runtime.session import Session
from .plan import plan_images

__all__ = ["measure_images", "period_numbers", "place_points"]


def period_numbers(
    session: Session, box: PeriodicBox, starts: tuple[float, ...], dtype: np.dtype[Any]
) -> tuple[cla.Array, cl.Event]:
    """Copy a `box` with the low corner `starts` to the device: lengths, inverse lengths, starts.

    A cell has more rows: see ``domain/period_numbers.mako``. The copy is not waited for, as boxes may change in each
    step. Its event holds the numbers on the host. It waits when it is dropped, which is a step later.
    """
    inverses = tuple(1.0 / length if length else 0.0 for length in box.lengths)
    rows: list[npt.ArrayLike] = [box.lengths, inverses, starts]
    if box.kind in CELLS:
        # Images that the host distinguishes, kernels distinguish despite rounding.
        most, frame = [2 * limit for limit in box.limits(REAL_OF[dtype])], box.frame
        rows += [frame.weights, most, box.extents, *frame.normals, *frame.vectors]
        if box.kind == CELLS[1]:
            rows += [*frame.combinations]
    with np.errstate(over="ignore"):  # what is infinite is no limit
        numbers = np.array(rows, np.float64).astype(dtype).ravel()
    period = session.allocate(numbers.shape, dtype, purpose="the periodic box")
    return period, cl.enqueue_copy(session.queue, period.base_data, numbers, is_blocking=False)


def measure_images(session: Session, period: cla.Array, bounds: PendingBox, *, dim: int, periodic: str) -> Scratch:
    """Enqueue the computation of the image table, for points between `bounds` in the box of `period`.

    Returns (7 * dim + 1,) numbers, or more in a cell, where `bounds` are those of heights: see
    ``domain/period_numbers.mako``. One launch of one work-item; nothing is waited for.
    """
    kernels, config = _kernels(session, period, dim, periodic)
    images = session.scratch(images_of(dim, periodic), period.dtype, purpose="the periodic images")
    session.launch(
        kernels["measure_images"],
        1,
        config.work_group_size,
        period.dtype.type(SLACK),
        period.base_data,
        *bounds.arguments,
        images.base_data,
    )
    return images


def place_points(session: Session, points: cla.Array, period: cla.Array) -> cla.Array:
    """Enqueue the computation of the heights of `points`, (n, dim), in the cell of `period`: (n, dim). One launch."""
    n, dim = points.shape
    kernels, config = _kernels(session, period, dim, CELLS[0])
    heights = session.allocate(points.shape, points.dtype, purpose="the heights of points in a cell")
    session.launch(
        kernels["place_points"],
        n,
        config.placing_group,
        np.int32(n),
        points.base_data,
        period.base_data,
        heights.base_data,
    )
    return heights


def _kernels(session: Session, period: cla.Array, dim: int, periodic: str) -> tuple[Any, Any]:
    real = REAL_OF[period.dtype]
    return session.planned("methods/domain_tables/periodic_images", plan_images, dim=dim, real=real, periodic=periodic)
