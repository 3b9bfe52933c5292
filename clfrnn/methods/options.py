"""Checks of the options of methods."""

from __future__ import annotations

import numbers
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import InvalidInputError

__all__ = ["CONSTRUCTIONS", "check_construction", "check_leaf_size", "check_shape", "check_threshold", "check_width"]


CONSTRUCTIONS = ("counting", "sort")


def check_construction(
    value: object,
    known: tuple[str, ...] = CONSTRUCTIONS,
    advice: str = "take 'sort' where the order of neighbors must be repeatable, else leave it out",
) -> str:
    """Return `value` where it is one of the `known` constructions, and raise otherwise."""
    if not isinstance(value, str) or value not in known:
        expected = " or ".join(map(repr, known))
        raise InvalidInputError(f"construction: expected {expected}, got {value!r}; {advice}")
    return str(value)


def check_width(value: object) -> float | None:
    """Return a bin width in units of the radius, or None for the default."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not 1e-3 <= float(value) <= 1e6:
        raise InvalidInputError(
            f"bin_width: expected cell side / radius, a number from 0.001 to 1,000,000, got {value!r}; "
            "leave it out to have it chosen from the data"
        )
    return float(value)


_LARGEST_LEAF = 1 << 16


def check_leaf_size(value: object) -> int | None:
    """Return the number of points of a leaf, or None for the default of the device."""
    if value is None:
        return None
    try:
        size = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        size = 0
    if isinstance(value, bool) or not 1 <= size <= _LARGEST_LEAF:
        raise InvalidInputError(
            f"leaf_size: expected a number of points from 1 to {_LARGEST_LEAF:,}, got {value!r}; leave it out for that "
            "of the device"
        )
    return size


def check_threshold(value: object) -> float:
    """Return the ratio of volumes above which a tree is built again."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not float(value) >= 1:
        raise InvalidInputError(
            f"rebuild_threshold: expected a ratio of volumes of at least 1, got {value!r}; "
            "pass math.inf to never build the tree again"
        )
    return float(value)


def check_shape(value: object) -> tuple[int, ...] | None:
    """Return a coarse shape as a tuple, of one number where a single number is given, or None for the default."""
    if value is None:
        return None
    try:
        given: Sequence[Any] = value if isinstance(value, (Sequence, np.ndarray)) else (value,)  # type: ignore[assignment]
        shape = tuple(operator.index(each) for each in given)
    except TypeError:
        shape = ()
    if not shape or min(shape) < 1 or isinstance(value, (bool, str)):
        raise InvalidInputError(
            f"coarse_shape: expected a number of cells, or one for each axis, all at least 1, got {value!r}; "
            "leave it out for as many as the points are worth"
        )
    return shape
