"""Rounding of coordinates: a warning where it decides which points are neighbors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyopencl.array as cla

from ..domain.box import CELLS, SYSTEMS, PeriodicBox
from ..errors import PrecisionWarning
from ..host.warning import warn
from ..primitives.readback import Box, PendingBox
from ..runtime.session import Session

__all__ = ["largest_of", "warn_of_far_box", "warn_of_rounding"]

#: A radius of fewer spacings of adjacent numbers than this has a warning. Pairs that rounding adds or takes away were
#: measured in even clouds, beside float64: about one over that number of spacings in three dimensions, and 0.7 over it
#: in two; 1.5 and 1.1 per cent at this one.
_FEWEST_SPACINGS = 64

#: The share of points so far from the origin from which on a warning comes: some strays are no reason for one.
_SHARE = 0.1

#: The points that are looked at, in runs of adjacent ones, where the bounds of all give a reason to.
_RUNS, _IN_A_RUN = 16, 64

#: The spacing of adjacent numbers at 1, by dtype.
_EPS = {np.dtype(real): float(np.finfo(real).eps) for real in (np.float32, np.float64)}


def largest_of(bounds: PendingBox | None) -> float:
    """The largest coordinate between bounds, without its sign, or 0 without bounds; waits where they are pending."""
    if bounds is None:
        return 0.0
    box = bounds.read()
    return max(map(abs, (*box.low, *box.high)))


def warn_of_rounding(
    session: Session,
    points: cla.Array,
    radius: float,
    largest: float,
    *,
    rows: np.ndarray[Any, Any] | None = None,
    of: str = "the radius",
    changes: str = "the pairs",
) -> None:
    """Warn where a radius is so short that the rounding of coordinates changes more than some per cent of the pairs.

    `largest` is the largest coordinate, without its sign, `rows` are the points where the host has them, `of` is what
    the radius is, and `changes` what depends on it. Radius 0 is for points that are equal.
    """
    # Adjacent numbers are at most so far apart.
    if radius == 0 or radius >= _FEWEST_SPACINGS * _EPS[points.dtype] * largest:
        return
    far = np.abs(_some_rows(session, points, rows)).max(axis=1, initial=0)
    coarse = far[_FEWEST_SPACINGS * _spacings(far) > radius]
    if len(coarse) < max(1.0, _SHARE * len(far)):
        return
    _warn(coarse.max(), radius, of, changes)


def warn_of_far_box(space: PeriodicBox, box: Box, radius: float, dtype: np.dtype[Any]) -> None:
    """The warning of :func:`warn_of_rounding`, of points whose bounds alone are known.

    It comes where all points lie so far from the origin on one side of it; of points on both sides, or of many systems,
    bounds do not say how many are far.
    """
    # Of every step: a few operations say what nearly all radii are.
    if not 0 < radius < _FEWEST_SPACINGS * _EPS[dtype] * max(*box.high, -min(box.low)) or space.kind in SYSTEMS:
        return
    nearest = max(
        (min(abs(low), abs(high)) for low, high in zip(box.low, box.high, strict=True) if low * high > 0), default=0
    )
    if space.kind in CELLS:  # a distance from a plane through the origin, and not the coordinate on an axis
        nearest /= math.sqrt(len(box.low))
    if radius < _FEWEST_SPACINGS * float(_spacings(dtype.type(nearest))):
        _warn(dtype.type(nearest), radius)


def _warn(coordinate: Any, radius: float, of: str = "the radius", changes: str = "the pairs") -> None:
    """Warn of points that are rounded as this coordinate is."""
    spacing = float(_spacings(coordinate))
    remedy = "subtract an origin where the coordinates are computed"
    if coordinate.dtype == np.float32:
        remedy = (
            "pass them in float64 (without --float32 on the command line), or subtract an origin before they are "
            "rounded: (points - origin).astype(numpy.float32)"
        )
    warn(
        f"points: at the coordinate {float(coordinate):.6g}, adjacent numbers of {coordinate.dtype} are {spacing:.3g} "
        f"apart, and {of}, {radius:.3g}, is {radius / spacing:.3g} times that: the rounding of coordinates decides "
        f"about some {min(1.0, spacing / radius):.0%} of {changes}; {remedy}",
        PrecisionWarning,
    )


def _spacings(numbers: Any) -> Any:
    """How far the next number of the dtype is from each; also from the largest one, where numpy.spacing overflows."""
    return np.ldexp(_EPS[numbers.dtype], np.frexp(numbers)[1] - 1)


def _some_rows(session: Session, points: cla.Array, rows: np.ndarray[Any, Any] | None) -> np.ndarray[Any, Any]:
    """A thousand points, or all of fewer, on the host."""
    n, dim = points.shape
    if n <= _RUNS * _IN_A_RUN:
        return session.read(points).reshape(n, dim) if rows is None else rows
    starts = np.linspace(0, n - _IN_A_RUN, _RUNS).astype(int).tolist()
    if rows is not None:
        return np.concatenate([rows[start : start + _IN_A_RUN] for start in starts])
    return np.concatenate([session.read(points, start * dim, _IN_A_RUN * dim).reshape(-1, dim) for start in starts])
