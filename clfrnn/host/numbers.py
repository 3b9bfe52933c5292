"""Numbers that callers pass, as Python's or as float64, and what an error says of those that are none."""

from __future__ import annotations

import decimal
import math
import numbers
import operator
import re
import sys
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["briefly", "is_masked", "real_array", "real_number", "shown", "whole_number"]

#: What Python or numpy count among the integers.
_NO_NUMBERS = (bool, np.bool_, np.timedelta64)


def is_masked(value: object) -> bool:
    """Whether `value` is an array of which something is masked, or a list with something masked in it."""
    # Masked arrays exist only where numpy.ma is loaded; to load it takes longer than most searches.
    if "numpy.ma" not in sys.modules:
        return False
    if isinstance(value, (list, tuple)):
        return any(is_masked(each) for each in value)
    return isinstance(value, np.ma.MaskedArray) and bool(np.ma.is_masked(value))


def real_number(value: object) -> float:
    """`value` as a float: NaN where it is no real number, infinite where no float is as large."""
    array = np.zeros(()) if isinstance(value, (int, float)) else real_array(value)
    if array is None or array.ndim:
        return math.nan
    return _as_float(value) if isinstance(value, (int, float)) else float(array)


def real_array(value: object) -> npt.NDArray[np.float64] | None:
    """`value` as an array of float64; None where not all of it are real numbers, as in masked and ragged arrays.

    bools, strings and complex numbers are none; fractions and decimals are. A number beyond float64 becomes infinite.
    """
    if is_masked(value) or _has_bool(value):
        return None
    try:
        array = np.asarray(value)
    except (ValueError, TypeError, RuntimeError, OverflowError):
        return None
    if array.dtype.kind not in "fiuO":
        return None
    if array.dtype.kind != "O":
        with np.errstate(all="ignore"):
            return array.astype(np.float64)
    items = array.ravel().tolist()
    if not all(_is_real(each) for each in items):
        return None
    return np.array([_as_float(each) for each in items], np.float64).reshape(array.shape)


def whole_number(value: object) -> int | None:
    """`value` as an int; None where it is no whole number, as bools and floats are not."""
    try:
        return None if isinstance(value, (bool, np.bool_)) or is_masked(value) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def shown(value: object, most: int = 60) -> str:
    """What an error says of a value: its repr, cut to `most` signs and an ellipsis, or its type where it has none.

    Arrays stand in one line.
    """
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - Python refuses to write integers of more than 4,300 digits, and users' types err
        return f"a value of type {type(value).__name__}"
    if hasattr(value, "dtype"):
        text = re.sub(r"\s+", " ", text)
    return text if len(text) <= most else f"{text[:most]}…"


def briefly(value: object) -> str:
    """What an error says of a value: its repr, or its type and the beginning of a longer one."""
    text = shown(value)
    return text if len(text) <= 60 else f"{type(value).__name__} {text[:50]}…"


def _has_bool(value: object) -> bool:
    """Whether `value` is a bool, or a list with one in it, which numpy takes for 0 or 1 beside numbers."""
    if not isinstance(value, (list, tuple)):
        return isinstance(value, (bool, np.bool_))
    return any(map(_has_bool, value))


def _is_real(value: object) -> bool:
    return isinstance(value, (numbers.Real, decimal.Decimal)) and not isinstance(value, _NO_NUMBERS)


def _as_float(value: Any) -> float:
    """A real number as a float, the nearest one or an infinite one; NaN for a bool."""
    if not _is_real(value):
        return math.nan
    try:
        return float(value)
    except OverflowError:  # of an integer or a fraction
        return math.inf if value > 0 else -math.inf
    except ValueError:  # of a decimal that signals
        return math.nan
