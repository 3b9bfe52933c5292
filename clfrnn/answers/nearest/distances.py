"""Distances of the nearest neighbors without their indices, and the mean of each row of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyopencl.array as cla

from ...arrays import REAL_OF
from ...device_array import DeviceArray
from ...methods.named import check_method
from ...primitives.config import plan_gather
from ...runtime.session import Session
from .rows import check_k
from .unbounded import UnboundedSearch

__all__ = ["check_k", "mean_of_rows", "nearest_distances"]


def nearest_distances(
    session: Session, points: Any, k: int, *, method: str, options: Mapping[str, Any], queries: Any = None
) -> cla.Array:
    """The distances of :func:`clfrnn.nearest`, (m, k), without its warning of those whose squares overflow."""
    search = UnboundedSearch(
        session,
        points,
        k,
        named=check_method(method, options),
        domain=(None, None, None),
        options=dict(options),
        queries=queries,
    )
    found = search.run(queries, include_self=False, vectors=False, where=None)
    search.warn_of_rounding()
    return found.distances


def mean_of_rows(session: Session, rows: cla.Array, *, least: int, first: int = 0) -> DeviceArray[np.floating[Any]]:
    """The mean of the finite numbers of each row from column `first` on; NaN where these are fewer than `least`."""
    n, taken = rows.shape
    means = session.allocate(n, rows.dtype, purpose="the mean distances")
    kernels, config = session.planned("answers/nearest/row_means", plan_gather, dim=1, real=REAL_OF[rows.dtype])
    given = n, taken, first, least, rows.base_data, means.base_data
    session.publish(session.launch(kernels["row_means"], n, config.work_group_size, *given), means)
    return means
