"""Weights: which points are core where points count by their weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...arrays import is_device_array
from ...errors import InvalidInputError
from ...functions import NeighborFunction
from ...host.numbers import real_array, shown

__all__ = ["LEAST_RATING", "WEIGHTS_IN_REACH", "in_two", "take_weights"]

#: The rating of a core point is one below this, as a point counts itself.
LEAST_RATING = 3

#: Rates points: 2 where the weights within reach, its own among them, are enough, 1 where it has a neighbor, else 0.
#: Sums begin at what is to be reached, with a minus. They are compensated (Neumaier 1974), and each weight is the sum
#: of two numbers of the points' dtype, so that neither the order of neighbors nor the dtype decides at the threshold.
WEIGHTS_IN_REACH = NeighborFunction(
    arguments="global const real *weights, const real begin, const real rest, global int *ratings",
    preamble="""
#define CLFRNN_ADD(weight, k) { \\
    const real clfrnn_next = clfrnn_sum + weight[2 * (k)]; \\
    clfrnn_lost += fabs(clfrnn_sum) >= fabs(weight[2 * (k)]) \\
        ? (clfrnn_sum - clfrnn_next) + weight[2 * (k)] : (weight[2 * (k)] - clfrnn_next) + clfrnn_sum; \\
    clfrnn_lost += weight[2 * (k) + 1]; \\
    clfrnn_sum = clfrnn_next; \\
}
""",
    state="real clfrnn_sum = begin, clfrnn_lost = rest; int clfrnn_found = 0; CLFRNN_ADD(weights, (size_t)i)",
    per_neighbor="clfrnn_found = 1; CLFRNN_ADD(weights, (size_t)j)",
    finish="ratings[i] = clfrnn_sum + clfrnn_lost >= 0 ? 2 : clfrnn_found;",
)


def take_weights(value: Any, n: int, dtype: np.dtype[Any]) -> npt.NDArray[np.float64]:
    """One weight for each of `n` points, or one for all, as (n,) float64; raises for others."""
    host = value.get() if is_device_array(value) else value
    numbers = real_array(host.astype(np.float64) if getattr(host, "dtype", None) == np.bool_ else host)
    weights = np.empty((0, 0)) if numbers is None else np.asarray(numbers)
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.shape != (n,):
        shape = getattr(value, "shape", None)
        got = f"shape {shape}" if isinstance(shape, tuple) else shown(value)
        raise InvalidInputError(
            f"expected a number for each point, of shape ({n},), got {got}; pass one weight for each point, or leave "
            "it out",
            argument="sample_weight",
        )
    largest = float(np.finfo(dtype).max) / max(1, 4 * n)
    if (bad := ~(np.abs(weights) <= largest)).any():
        row = int(np.argmax(bad))
        raise InvalidInputError(
            f"expected finite numbers up to {largest:.2g}, whose sums {dtype} holds, got {weights[row]} for point "
            f"{row}; divide weights by one number, and min_samples too",
            argument="sample_weight",
        )
    return weights


def in_two(numbers: npt.NDArray[np.float64], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Numbers as sums of two of `dtype`, (n, 2): rounded, and what is left."""
    rounded = numbers.astype(dtype)
    return np.stack([rounded, (numbers - rounded.astype(np.float64)).astype(dtype)], axis=1)
