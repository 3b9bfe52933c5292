"""Each row: runs the code of an application once for each of some rows, without neighbors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyopencl as cl

from ..arrays import REAL_OF
from ..device_array import DeviceArray
from ..functions import NeighborFunction, WalkFunction
from ..points.visit_arguments import Bound
from ..primitives.config import plan_gather
from ..runtime.session import Session
from .visit import run_function

__all__ = ["empty_rows", "run_for_rows"]


def empty_rows(session: Session, shape: int | tuple[int, ...], dtype: Any) -> DeviceArray[Any]:
    """An array on the device for such code to write, whose numbers are not set."""
    return session.allocate(shape, dtype, purpose="an array of rows")


def run_for_rows(
    session: Session,
    function: NeighborFunction,
    shape: tuple[int, int],
    arguments: Mapping[str, Any],
    *,
    dtype: np.dtype[Any],
) -> cl.Event:
    """Run the ``finish`` of a `function` for each of n rows; `shape` is (n, dim), and `dtype` that of ``real``.

    The arguments and the preamble of the function belong to it; ``state`` and ``per_neighbor`` are left out. Of the
    names that a visit knows the code sees ``i``, ``real`` and ``real_vec``. One launch; not waited for.
    """
    rows, dim = shape

    def launch(walked: WalkFunction, bound: Bound) -> cl.Event | None:
        config = plan_gather(session.profile, session.tuning, dim=dim, real=REAL_OF[dtype])
        kernels, config = session.kernels("answers/each_row", config, walked)
        return session.launch(kernels["each_row"], rows, config.work_group_size, rows, *bound.values)

    return run_function(session, function, arguments, launch, dtype=dtype, dim=dim, many=None)
