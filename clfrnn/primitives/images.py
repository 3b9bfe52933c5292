"""Images: the numbers by which a periodic walk tells where points lie in their box."""

from __future__ import annotations

import numpy as np

from ..arrays import REAL_OF
from ..domain import PeriodicBox
from ..plan import plan_images
from ..session import Scratch, Session

__all__ = ["measure_images"]


def measure_images(session: Session, box: PeriodicBox, starts: tuple[float, ...], bounds: Scratch) -> Scratch:
    """Enqueue what periodic kernels read: for points between `bounds`, (2, dim), in a `box` that begins at `starts`.

    Returns (7 * dim + 1,) numbers, see ``images.cl.mako``. One launch of one work-item; nothing is waited for.
    """
    dim = len(box.lengths)
    kernels, config = session.planned("images", plan_images, dim=dim, real=REAL_OF[bounds.dtype])
    inverses = [1.0 / length if length else 0.0 for length in box.lengths]
    numbers = np.array([box.lengths, inverses, starts], bounds.dtype).ravel()
    period = session.upload(numbers, purpose="the periodic box")
    images = session.scratch(7 * dim + 1, bounds.dtype, purpose="the periodic images")
    session.launch(
        kernels["measure_images"],
        1,
        config.work_group_size,
        period.base_data,
        bounds.base_data,
        images.base_data,
    )
    return images
