"""The order of points in a balanced tree that is divided at medians, level by level (Xing 2016, §3.1)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .build_plan import count_leaves

__all__ = ["order_by_medians"]


def order_by_medians(points: np.ndarray[Any, Any], leaf_size: int) -> np.ndarray[Any, Any]:
    """The indices of `points`, (n, dim), leaf by leaf: (n,) int32.

    A node is divided across the longest side of its box, and its left child is full. Cost: a partition of all points
    for each level of the tree, on the host.
    """
    n = len(points)
    order = np.arange(n, dtype=np.int32)
    size = count_leaves(n, leaf_size) * leaf_size
    while size > leaf_size:
        full = n // size * size
        for first, end, many in ((0, full, size), (full, n, n - full)):
            if end > first and many > size // 2:
                nodes = order[first:end].reshape(-1, many)
                order[first:end] = _divided(points, nodes, size // 2).ravel()
        size //= 2
    return order


def _divided(points: np.ndarray[Any, Any], nodes: np.ndarray[Any, Any], left: int) -> np.ndarray[Any, Any]:
    """Reorder each row of `nodes`, the indices of a node's points: the `left` points of the left child first."""
    coordinates = np.nan_to_num(points[nodes]) / 2  # halved, as the width of the box may overflow
    axes = np.ptp(coordinates, axis=1).argmax(axis=1)
    values = np.take_along_axis(coordinates, axes[:, None, None], axis=2)[:, :, 0]
    return np.take_along_axis(nodes, np.argpartition(values, left, axis=1), axis=1)
