"""Arguments of geometry: the clouds, normals and numbers that its functions take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyopencl.array as cla

from ..device_array import DeviceArray
from ..errors import InvalidInputError
from ..host.numbers import real_array, real_number, shown, whole_number
from ..points.argument_types import Rows
from ..points.on_device import as_points, to_device
from ..runtime.session import Session

__all__ = ["finite", "positive", "take_cloud", "take_normals", "whole"]

#: The dtypes of points.
_REAL = np.float32, np.float64


def take_cloud(
    session: Session, value: Rows, *, checked: bool = True
) -> tuple[DeviceArray[np.floating[Any]], int, int]:
    """Points of two or three coordinates on the device, their number and their dimension; raises for others.

    Unless points that lie there are to be `checked`, for which it waits, their numbers may be anything.
    """
    ready = not checked and isinstance(value, cla.Array) and value.ndim == 2 and value.dtype in _REAL
    array = to_device(value, name="points", session=session) if ready else as_points(value, session=session)
    n, dim = array.shape
    if dim not in (2, 3):
        raise InvalidInputError(
            f"expected 2 or 3 coordinates a point, got {dim}; project the points", argument="points"
        )
    return array, n, dim


def take_normals(session: Session, value: Any, points: DeviceArray[Any]) -> DeviceArray[Any]:
    """One normal for each point, in the points' dtype and on the device; NaN stands for no normal."""
    if isinstance(value, cla.Array):
        value = to_device(value, name="normals", session=session)
        if value.shape == points.shape and value.dtype == points.dtype:
            return value
        value = value.get()
    numbers = real_array(value)
    with np.errstate(all="ignore"):
        host = np.ascontiguousarray(np.empty(0) if numbers is None else numbers, points.dtype)
    if np.isinf(host).any():
        raise InvalidInputError(
            f"expected numbers within {points.dtype}, or NaN where there is no normal, got inf; divide each "
            "normal by its length",
            argument="normals",
        )
    if host.shape != points.shape:
        raise InvalidInputError(
            f"expected shape {points.shape}, a vector for each point, got {_shape(value)}; pass "
            "clfrnn.geometry.normals(points, radius).normals, say",
            argument="normals",
        )
    return to_device(host, name="normals", session=session)


def _shape(value: Any) -> str:
    """The shape of what was passed for an array, or its type."""
    shape = getattr(value, "shape", None)
    return str(shape) if isinstance(shape, tuple) else f"{type(value).__name__} {shown(value, 40)}"


def finite(name: str, value: Any, example: str = "1 or 2") -> float:
    """Return a finite number, or raise."""
    number = real_number(value)
    if not np.isfinite(number):
        raise InvalidInputError(f"expected a finite number, got {shown(value)}; pass {example}, say", argument=name)
    return number


def positive(name: str, value: Any, what: str) -> float:
    """Return a finite number above 0, or raise; `what` it means."""
    number = real_number(value)
    if not 0 < number < np.inf:
        raise InvalidInputError(f"expected a finite number above 0, got {shown(value)}; pass {what}", argument=name)
    return number


def whole(name: str, value: Any, what: str) -> int:
    """Return a whole number of at least 0, or raise; `what` it means."""
    number = whole_number(value)
    if number is None or number < 0:
        raise InvalidInputError(
            f"expected a whole number of at least 0, got {shown(value)}; pass {what}", argument=name
        )
    return number
