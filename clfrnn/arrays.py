"""Arrays of callers on the host: checks points, queries and radii, and converts them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pyopencl.array as cla

from .errors import InvalidInputError, PrecisionWarning
from .host.numbers import briefly, is_masked, real_array, real_number
from .host.objects import refuse_objects
from .host.warning import warn

__all__ = [
    "DTYPE_OF",
    "REAL_OF",
    "check_finite",
    "check_radii",
    "host_points",
    "is_device_array",
    "is_masked",
    "is_scalar",
    "one_radius",
    "raise_non_finite",
    "round_radii",
    "too_wide",
]

#: The name in OpenCL C of each dtype in which distances are computed.
REAL_OF: dict[np.dtype[Any], str] = {np.dtype(np.float32): "float", np.dtype(np.float64): "double"}
DTYPE_OF: dict[str, np.dtype[Any]] = {real: dtype for dtype, real in REAL_OF.items()}

#: Largest number of rows: kernels count rows in int32, and round their number up.
MOST_ROWS = 2**31 - 2**22

#: Points have at most as many coordinates, as no method serves more.
MOST_COORDINATES = 12

#: Integers up to these powers of two are exact, by dtype.
_EXACT = {np.dtype(np.float32): 24, np.dtype(np.float64): 53}

#: Radii between this and its inverse have finite squares, and inverses that do not vanish, in every dtype.
_ORDINARY = 1e18


def is_device_array(value: object) -> bool:
    """Whether `value` is a pyopencl array."""
    return isinstance(value, cla.Array)


def host_points(
    value: object, name: str, *, real: np.dtype[Any] | None = None, fp64: bool = True
) -> npt.NDArray[np.floating[Any]]:
    """Return `value` as a C-contiguous float32 or float64 array of shape (rows, dim), in native byte order.

    float16 becomes float32, and an array that would lose digits is refused. Integers become `real`, or else float64,
    where there is `fp64`; without it float32, with a warning. Lists become `real` where that is given.
    """
    refuse_objects(value, name)
    try:
        array = np.asarray(value)
    except (ValueError, TypeError, RuntimeError) as error:
        raise InvalidInputError(
            f"expected an array of shape (rows, dim), got {type(value).__name__} that numpy cannot "
            f"convert ({error}); pass a rectangular array in host memory, or a pyopencl.array.Array",
            argument=name,
        ) from None
    if is_masked(value):
        raise InvalidInputError("expected plain rows, got a masked array; drop the masked rows first", argument=name)
    check_shape(array, name)
    if real is not None and isinstance(value, (list, tuple)) and array.dtype == np.float64:
        with np.errstate(over="ignore"):  # what becomes infinite is refused later
            return array.astype(real)
    return np.ascontiguousarray(_as_real(array, name, real, fp64=fp64))


def check_shape(array: Any, name: str) -> Any:
    """Return `array`, or raise unless it has two axes and at least one column."""
    if array.dtype.kind not in "fiubc":
        raise InvalidInputError(
            f"expected float32 or float64 numbers of shape (rows, dim), got dtype {array.dtype} "
            f"of shape {array.shape}; convert it to a rectangular array of numbers",
            argument=name,
        )
    if array.shape == (0,):
        raise InvalidInputError(
            f"expected shape (rows, dim), got none of either; pass numpy.zeros((0, dim)) for no {name}", argument=name
        )
    if array.ndim == 1:
        raise InvalidInputError(
            f"expected shape (rows, dim), got {array.shape}; use reshape(-1, 1) for points on a line, "
            "or reshape(1, -1) for a single point",
            argument=name,
        )
    if array.ndim != 2 or array.shape[1] == 0:
        raise InvalidInputError(
            f"expected shape (rows, dim) with dim at least 1, got {array.shape}; "
            "pass one row of coordinates for each point",
            argument=name,
        )
    if array.shape[1] > MOST_COORDINATES:
        raise InvalidInputError(too_wide(array.shape[1], name, rows=array.shape[0]), argument=name)
    if array.shape[0] > MOST_ROWS:
        raise InvalidInputError(
            f"expected at most {MOST_ROWS:,} rows, got {array.shape[0]:,}; split the array", argument=name
        )
    return array


def too_wide(dim: int, name: str = "points", *, rows: int = 0) -> str:
    """What an error says of points with more coordinates than any method serves, and of `rows` points if known."""
    remedy = "leave out columns that are no coordinates, or project the points"
    if 0 < rows <= MOST_COORDINATES:
        remedy = f"pass {name}.T if each column is a point, or else {remedy}"
    return f"expected at most {MOST_COORDINATES} coordinates a point, got {dim}; no method serves that many: {remedy}"


def _as_real(
    array: npt.NDArray[Any], name: str, real: np.dtype[Any] | None, *, fp64: bool
) -> npt.NDArray[np.floating[Any]]:
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind == "f" and size in (4, 8):
        return array.astype(array.dtype.newbyteorder("="), copy=False)
    if kind == "f" and size == 2:
        return array.astype(np.float32)
    if kind in "iu":
        if real is None and not fp64:
            warn(
                f"{name}: integers are searched in float32, as the device has no float64, and squares of distances are "
                f"rounded; pass {name}.astype(numpy.float32) where that is meant",
                PrecisionWarning,
            )
        dtype = real or np.dtype(np.float64 if fp64 else np.float32)
        largest = max(int(array.max()), -int(array.min())) if array.size else 0
        if largest > 1 << _EXACT[dtype]:
            raise InvalidInputError(
                f"expected integers up to 2**{_EXACT[dtype]}, which {dtype} holds exactly, got {largest}; "
                f"choose the rounding yourself with {name}.astype(numpy.{dtype}), or subtract an offset from all "
                "points",
                argument=name,
            )
        return array.astype(dtype)
    raise InvalidInputError(
        f"expected float32 or float64 (or float16, or integers), got {array.dtype}; "
        f"convert with {name}.astype(numpy.float64) if no digit that matters is lost",
        argument=name,
    )


def check_finite(array: npt.NDArray[np.floating[Any]], name: str) -> float:
    """Return the largest coordinate, without its sign, or raise for the first row with a NaN or an infinity."""
    with np.errstate(invalid="ignore"):
        largest = max(float(array.max(initial=0)), -float(array.min(initial=0)))
    if not np.isfinite(largest):
        row = int(np.argmin(np.isfinite(array).all(axis=1)))
        raise_non_finite(name, row, array[row])
    return largest


def raise_non_finite(name: str, row: int, values: object = None) -> None:
    """Raise the error for a NaN or an infinity in `row`."""
    got = f" with {np.asarray(values).tolist()}" if values is not None else ""
    raise InvalidInputError(
        f"expected finite numbers, got NaN or inf in row {row}{got}; remove or repair that row", argument=name
    )


def is_scalar(radius: object) -> bool:
    """Whether `radius` is one number, or something that is refused as one number."""
    return _numbers(radius).ndim == 0


def _numbers(radius: object, name: str = "radius") -> npt.NDArray[Any]:
    """Return `radius` as an array of real numbers."""
    if is_masked(radius):
        raise InvalidInputError(
            "expected a number or one per query, got a masked array; fill it, or drop the masked queries", argument=name
        )
    try:
        array = np.asarray(radius)
    except (ValueError, TypeError) as error:
        raise InvalidInputError(
            f"expected a number or one per query, got {briefly(radius)} ({error}); pass a flat list of numbers",
            argument=name,
        ) from None
    if array.dtype.kind == "O" and (numbers := real_array(radius)) is not None:
        return numbers  # fractions, decimals, and integers beyond int64
    if array.dtype.kind not in "fiu":
        raise InvalidInputError(
            f"expected a number, got {briefly(radius)}; pass a distance in the points' unit, or one per query",
            argument=name,
        )
    return array


def one_radius(value: object, dtype: np.dtype[Any], name: str = "radius") -> float:
    """Return a scalar radius, rounded to `dtype`."""
    if isinstance(value, float) and 1 / _ORDINARY < value < _ORDINARY:
        return float(dtype.type(value))  # most radii: the general check takes as long as several launches
    array = _numbers(value, name)
    if array.ndim:
        raise InvalidInputError(
            f"expected a number, got {briefly(value)}; pass a float in the points' unit", argument=name
        )
    with np.errstate(all="ignore"):
        rounded = dtype.type(real_number(array))
    got = f"{rounded}"
    if math.isinf(rounded) and briefly(value).strip("-") != "inf":
        got += f" in {dtype}, from {briefly(value)}"
    return float(check_radii(np.asarray([rounded], dtype), name, got=got)[0])


def round_radii(value: object, rows: int, dtype: np.dtype[Any], name: str = "radius") -> npt.NDArray[Any]:
    """Return one radius per query, rounded to `dtype`."""
    array = _numbers(value, name)
    if array.shape != (rows,):
        raise InvalidInputError(
            f"expected a number or shape ({rows},), got shape {array.shape}; pass one for all, or one for each query",
            argument=name,
        )
    with np.errstate(all="ignore"):
        return check_radii(np.ascontiguousarray(array.astype(dtype)), name)


def check_radii(radii: npt.NDArray[Any], name: str, *, got: str = "") -> npt.NDArray[Any]:
    """Return `radii`, or raise unless each is finite, not negative, and has a finite square.

    `got` is what the caller passed as one radius, in words.
    """
    with np.errstate(all="ignore"):
        bad = ~((radii >= 0) & np.isfinite(radii * radii))
    if bad.any():
        k = int(np.argmax(bad))
        raise InvalidInputError(
            f"expected a finite number of at least 0 whose square is finite in {radii.dtype}, "
            f"got {got or f'{radii[k]} in row {k}'}; pass a distance in the points' unit",
            argument=name,
        )
    return radii
