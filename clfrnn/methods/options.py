"""Checks of the options of methods."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import InvalidInputError
from ..host.numbers import real_number, shown, whole_number

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
        raise InvalidInputError(f"expected {expected}, got {shown(value)}; {advice}", argument="construction")
    return str(value)


def check_width(value: object) -> float | None:
    """Return a bin width in units of the radius, or None for the default."""
    if value is None:
        return None
    width = real_number(value)
    if not 1e-3 <= width <= 1e6:
        raise InvalidInputError(
            f"expected cell side / radius, a number from 0.001 to 1,000,000, got {shown(value)}; "
            "leave it out to have it chosen from the data",
            argument="bin_width",
        )
    return width


_LARGEST_LEAF = 1 << 16


def check_leaf_size(value: object) -> int | None:
    """Return the number of points of a leaf, or None for the default of the device."""
    if value is None:
        return None
    size = whole_number(value)
    if size is None or not 1 <= size <= _LARGEST_LEAF:
        raise InvalidInputError(
            f"expected a number of points from 1 to {_LARGEST_LEAF:,}, got {shown(value)}; leave it out for "
            "that of the device",
            argument="leaf_size",
        )
    return size


def check_threshold(value: object) -> float:
    """Return the ratio of volumes above which a tree is built again."""
    ratio = real_number(value)
    if not ratio >= 1 or (ratio == math.inf and value != math.inf):  # an integer beyond float64
        raise InvalidInputError(
            f"expected a ratio of volumes of at least 1, got {shown(value)}; "
            "pass math.inf to never build the tree again",
            argument="rebuild_threshold",
        )
    return ratio


def check_shape(value: object) -> tuple[int, ...] | None:
    """Return a coarse shape as a tuple, of one number where a single number is given, or None for the default."""
    if value is None:
        return None
    listed = isinstance(value, Sequence) or (isinstance(value, np.ndarray) and value.ndim > 0)
    given: Sequence[Any] = value if listed else (value,)  # type: ignore[assignment]
    shape = tuple(whole_number(each) or 0 for each in given)
    if not shape or min(shape) < 1 or max(shape) >= 2**31:
        raise InvalidInputError(
            f"expected a number of cells, or one for each axis, all from 1 to 2**31 - 1, got "
            f"{shown(value)}; leave it out for as many as the points are worth",
            argument="coarse_shape",
        )
    return shape
