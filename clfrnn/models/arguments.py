"""Checks of the arguments that models have in common."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

import clfrnn

from ..host.numbers import real_array, real_number, shown, whole_number

__all__ = [
    "between",
    "dimension",
    "even_side",
    "positive",
    "real",
    "repeatable_options",
    "rounded",
    "rows",
    "shape_of",
    "whole",
]

#: Area and volume of a ball of radius 1.
_BALL = {2: math.pi, 3: 4 / 3 * math.pi}

#: Methods that visit neighbors in the same order in every run, whatever their options are.
_ORDERED = ("brute_force", "aabb_tree")


def repeatable_options(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options under which sums over neighbors have the same order in every run.

    Parameters
    ----------
    options : of :func:`clfrnn.build_index`, as the user has given them

    Raises
    ------
    InvalidInputError
        The options name a method or a construction whose sums differ from run to run.
    """
    method = options.get("method", "auto")
    if method in _ORDERED:
        return options
    if method == "fenns":
        raise clfrnn.InvalidInputError(
            "expected one that sums in the same order in every run for repeatable=True, got 'fenns'; take "
            "'strips', 'uniform_grid', 'aabb_tree' or 'brute_force', or repeatable=False",
            argument="method",
        )
    if options.get("construction", "sort") != "sort":
        raise clfrnn.InvalidInputError(
            f"expected 'sort' for repeatable=True, got {options['construction']!r}, whose sums differ "
            "from run to run; leave it out, or take repeatable=False",
            argument="construction",
        )
    return {**options, "method": "strips" if method == "auto" else method, "construction": "sort"}


def real(dtype: npt.DTypeLike) -> np.dtype[Any]:
    """Return `dtype`, or raise where particles cannot have it."""
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = np.dtype(object)
    if found not in (np.float32, np.float64):
        raise clfrnn.InvalidInputError(
            f"expected float32 or float64, got {dtype!r}; pass numpy.float32", argument="dtype"
        )
    return found


def whole(value: object, name: str, *, least: int, advice: str) -> int:
    """Return a whole number of at least `least`, or raise an error that names the argument and ends in `advice`."""
    number = whole_number(value)
    if number is None or number < least:
        raise clfrnn.InvalidInputError(
            f"expected a whole number of at least {least}, got {shown(value)}; {advice}", argument=name
        )
    return number


def positive(value: object, name: str, dtype: npt.DTypeLike, advice: str) -> float:
    """Return a positive, finite number rounded to `dtype`, or raise an error that names the argument."""
    number = rounded(value, np.dtype(dtype))
    if not 0 < number < math.inf:
        raise clfrnn.InvalidInputError(
            f"expected a finite number above 0 in {np.dtype(dtype)}, got {shown(value)}; {advice}", argument=name
        )
    return number


def rounded(value: object, dtype: np.dtype[Any]) -> float:
    """Return a number rounded to `dtype`; NaN for what is not a number."""
    with np.errstate(over="ignore"):
        return float(dtype.type(real_number(value)))


def between(
    value: object, name: str, dtype: npt.DTypeLike, *, low: float = 0, high: float = math.inf, advice: str
) -> float:
    """Return a finite number from `low` to `high` rounded to `dtype`, or raise an error that names the argument."""
    # The ends are rounded as well, else an end itself could be out of range.
    least, most = (rounded(end, np.dtype(dtype)) for end in (low, high))
    number = rounded(value, np.dtype(dtype))
    if not (least <= number <= most and math.isfinite(number)):
        expected = (
            f" from {low:g} to {high:g}" if high < math.inf else f" of at least {low:g}" if low > -math.inf else ""
        )
        raise clfrnn.InvalidInputError(
            f"expected a finite number{expected}, got {shown(value)}; {advice}", argument=name
        )
    return number


def dimension(value: object, meaning: str = "the number of dimensions") -> int:
    """Return 2 or 3, or raise."""
    number = whole_number(value)
    if number not in (2, 3):
        raise clfrnn.InvalidInputError(f"expected 2 or 3, got {shown(value)}; pass {meaning}", argument="dim")
    return number


def rows(value: npt.ArrayLike, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return finite numbers of this shape, one row for each particle, or raise an error that names the argument."""
    numbers = real_array(value)
    with np.errstate(over="ignore"):
        found = np.empty(0, dtype) if numbers is None else np.ascontiguousarray(numbers, dtype)
    if found.shape != shape or not np.isfinite(found).all():
        came = shape_of(value) if found.shape != shape else "NaN or inf"
        raise clfrnn.InvalidInputError(
            f"expected finite numbers of shape {shape}, got {came}; pass one row for each particle", argument=name
        )
    return found


def shape_of(value: npt.ArrayLike) -> str:
    """What an error says of an array that has another shape than was expected."""
    try:
        return f"shape {np.shape(value)}"
    except ValueError:  # numpy has no shape for rows of unequal lengths
        return "rows of unequal lengths"


def even_side(n: int, neighbors: float, radius: float, dim: int, dtype: np.dtype[Any]) -> float:
    """Return the edge of a square or cube in which a ball of `radius` holds `neighbors` of the others in the mean.

    Parameters
    ----------
    n : number of particles, spread evenly
    neighbors, radius : checked, positive
    dim : 2 or 3
    dtype : to which the edge is rounded

    Raises
    ------
    InvalidInputError
        The edge is beyond `dtype`; the error names `neighbors`.
    """
    # One particle has no others, and any edge serves.
    side = radius * (max(1, n - 1) * _BALL[dim] / neighbors) ** (1 / dim)
    if not 0 < side < float(np.finfo(dtype).max):
        raise clfrnn.InvalidInputError(
            f"expected a mean that leads to a side within {dtype}, got {neighbors:g} and the radius "
            f"{radius:g}, for which the side is {side:g}; choose other numbers",
            argument="neighbors",
        )
    return float(dtype.type(side))
