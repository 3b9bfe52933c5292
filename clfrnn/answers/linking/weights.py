"""Weights: which points are core where points count by their weights."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from ...arrays import is_device_array
from ...errors import InvalidInputError
from ...functions import NeighborFunction
from ...host.numbers import real_array, shown

__all__ = ["LEAST_RATING", "WEIGHTS_IN_REACH", "in_words", "take_weights"]

#: The rating of a core point is one below this, as a point counts itself.
LEAST_RATING = 3

#: Rates points: 2 where the weights within reach, its own among them, are enough, 1 where it has a neighbor, else 0.
#: Sums begin at what is to be reached, with a minus. Weights are whole numbers of 128 bits in two words, whose sums are
#: exact, so that neither the order of neighbors nor the dtype of points decides at the threshold.
WEIGHTS_IN_REACH = NeighborFunction(
    arguments="global const ulong *weights, const ulong low, const ulong high, global int *ratings",
    preamble="""
#define CLFRNN_ADD(k) { \\
    const ulong clfrnn_more = weights[2 * (k)]; \\
    clfrnn_low += clfrnn_more; \\
    clfrnn_high += weights[2 * (k) + 1] + (clfrnn_low < clfrnn_more); \\
}
""",
    state="ulong clfrnn_low = low, clfrnn_high = high; int clfrnn_found = 0; CLFRNN_ADD((size_t)i)",
    per_neighbor="clfrnn_found = 1; CLFRNN_ADD((size_t)j)",
    finish="ratings[i] = clfrnn_high >> 63 ? clfrnn_found : 2;",
)

_WORD = 2**64


def take_weights(value: Any, n: int) -> npt.NDArray[np.float64]:
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
    largest = float(np.finfo(np.float64).max) / max(1, 4 * n)
    if (bad := ~(np.abs(weights) <= largest)).any():
        row = int(np.argmax(bad))
        raise InvalidInputError(
            f"expected finite numbers up to {largest:.2g}, whose sums float64 holds, got {weights[row]} in row "
            f"{row}; divide weights by one number, and min_samples too",
            argument="sample_weight",
        )
    return weights


def in_words(
    weights: npt.NDArray[np.float64], least: int, images: float = 1.0
) -> tuple[npt.NDArray[np.uint64], tuple[int, int]]:
    """Weights as whole numbers of 128 bits, (n, 2) words with the low one first, and what is to be reached, negative.

    A sum reaches `least` where it does so rounded to float64. Numbers are counted in a unit of which all of them
    together are less than 2**125, each as often as it has `images` at the most, so that of a weight only what is below
    2**-125 of their sum is left out.
    """
    unit = math.frexp(float(np.abs(weights).sum()) + least)[1] + math.ceil(math.log2(images)) - 125
    mantissas, exponents = np.frexp(np.abs(weights))
    numbers, up = np.ldexp(mantissas, 53).astype(np.uint64), exponents - 53 - unit
    numbers >>= np.clip(-up, 0, 63).astype(np.uint64)
    left, right, far = (np.clip(each, 0, 63).astype(np.uint64) for each in (up, 64 - up, up - 64))
    low = np.where(up < 64, numbers << left, 0).astype(np.uint64)
    # A shift by all 64 bits has no meaning: of what is not shifted up, nothing reaches the high word.
    high = np.where(up >= 64, numbers << far, np.where(up > 0, numbers >> right, 0)).astype(np.uint64)
    minus = weights < 0
    low = np.where(minus, ~low + np.uint64(1), low)
    high = np.where(minus, ~high + (low == 0), high)
    rounded_up_from = Fraction(least) - (Fraction(least) - Fraction(math.nextafter(least, 0))) / 2
    begin = -math.ceil(rounded_up_from / Fraction(2) ** unit)
    return np.stack([low, high], axis=1), (begin % _WORD, begin // _WORD % _WORD)
