"""DBSCAN of points with weights: a point is core where the weights within reach, its own among them, are enough."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..api import build_index
from ..cluster.searches import friends_of_friends
from ..conditions import Condition
from ..device_array import DeviceArray
from ..functions import NeighborFunction

__all__ = ["weighted_dbscan"]

_WEIGHTS_IN_REACH = NeighborFunction(
    arguments="global const real *weights, global real *sums",
    state="real sum = weights[i];",
    per_neighbor="sum += weights[j];",
    finish="sums[i] = sum;",
)
_LOWEST_CLUSTER = NeighborFunction(
    arguments="global const int *of_core, global int *labels",
    state="int lowest = of_core[i] < 0 ? INT_MAX : of_core[i];",
    per_neighbor="if (of_core[j] >= 0 && of_core[i] < 0) lowest = min(lowest, of_core[j]);",
    finish="labels[i] = lowest == INT_MAX ? -1 : lowest;",
)


def weighted_dbscan(
    points: DeviceArray[Any], eps: float, min_samples: float, weights: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.bool_]]:
    """The labels of points, -1 for noise, and which of them are core, as :func:`clfrnn.cluster.dbscan` numbers them."""
    index = build_index(points, eps)
    sums = index.empty(index.num_points)
    index.visit(_WEIGHTS_IN_REACH, weights=weights.astype(index.dtype), sums=sums)
    core = sums.get() >= min_samples
    linked = Condition("core[i] && core[j]", core=core)
    groups = friends_of_friends(points, eps, where=linked).labels.get()
    of_core = np.full(len(core), -1, np.int32)
    of_core[core] = np.unique(groups[core], return_inverse=True)[1]
    labels = index.empty(index.num_points, np.int32)
    index.visit(_LOWEST_CLUSTER, of_core=of_core, labels=labels)
    return labels.get(), core
