"""Periodic images: the table by which a walk finds the images of points in a periodic box."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

from ..arrays import REAL_OF
from ..period import SLACK, PeriodicBox
from ..planning.primitives import plan_images
from ..runtime.scratch import Scratch
from ..runtime.session import Session
from .readback import PendingBox
from .reduce import images_of

__all__ = ["measure_images", "period_numbers"]


def period_numbers(
    session: Session, box: PeriodicBox, starts: tuple[float, ...], dtype: np.dtype[Any]
) -> tuple[cla.Array, cl.Event]:
    """Copy a `box` with the low corner `starts` to the device: lengths, inverse lengths, starts.

    The copy is not waited for, as boxes may change in each step. Its event holds the numbers on the host. It waits when
    it is dropped, which is a step later.
    """
    inverses = [1.0 / length if length else 0.0 for length in box.lengths]
    numbers = np.array([box.lengths, inverses, starts], dtype).ravel()
    period = session.allocate(numbers.shape, dtype, purpose="the periodic box")
    return period, cl.enqueue_copy(session.queue, period.base_data, numbers, is_blocking=False)


def measure_images(session: Session, period: cla.Array, bounds: PendingBox) -> Scratch:
    """Enqueue the computation of the image table, for points between `bounds` in the box of `period`.

    Returns (7 * dim + 1,) numbers, see ``primitives/periodic_images.cl.mako``. One launch of one work-item; nothing is
    waited for.
    """
    dim = period.size // 3
    kernels, config = session.planned("primitives/periodic_images", plan_images, dim=dim, real=REAL_OF[period.dtype])
    images = session.scratch(images_of(dim), period.dtype, purpose="the periodic images")
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
