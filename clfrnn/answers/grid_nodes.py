"""Nodes of a regular grid: their positions on the device, some at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import REAL_OF
from ..device_array import DeviceArray
from ..primitives.config import plan_gather
from ..runtime.session import Session

__all__ = ["grid_nodes"]


def grid_nodes(
    session: Session, axes: DeviceArray[np.floating[Any]], shape: tuple[int, ...], *, first: int, count: int
) -> DeviceArray[np.floating[Any]]:
    """The positions of `count` nodes from `first` on, (count, dim), the last axis fastest; not waited for.

    `axes` are the coordinates of the nodes along each axis, one axis behind the other, as many as `shape` says.
    """
    dim = len(shape)
    nodes = session.allocate((count, dim), axes.dtype, purpose="the nodes of a grid")
    kernels, config = session.planned("answers/grid_nodes", plan_gather, dim=dim, real=REAL_OF[axes.dtype])
    given = np.int32(count), np.int64(first), *map(np.int32, shape), axes.base_data, nodes.base_data
    session.publish(session.launch(kernels["grid_nodes"], count, config.work_group_size, *given), nodes)
    return nodes
