"""The periodic images that the reference looks at."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["lattice_of", "shifts_within", "translations"]


def lattice_of(points: npt.NDArray[Any], box: Any, cell: Any, periodic: Any) -> npt.NDArray[Any] | None:
    """The lattice vectors as rows in the points' dtype, zeros where not periodic; None where no axis is periodic."""
    dim = points.shape[1]
    given = box is not None or cell is not None
    flags = np.broadcast_to(np.asarray(given if periodic is None else periodic, bool), (dim,))
    if not flags.any():
        return None
    if cell is not None:
        rows = np.asarray(cell, np.float64).astype(points.dtype)
    else:
        corners = np.asarray(box, np.float64).astype(points.dtype)
        rows = np.zeros((dim, dim), points.dtype)
        np.fill_diagonal(rows, corners[1] - corners[0] if corners.ndim == 2 else corners)
    return np.where(flags[:, None], rows, points.dtype.type(0))


def translations(shifts: npt.NDArray[Any], rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """``((s0 * c0 + s1 * c1) + s2 * c2) + ...`` of every shift, (..., dim), each step rounded."""
    turns = shifts.astype(rows.dtype)
    found = turns[..., :1] * rows[0]
    for axis in range(1, len(rows)):
        found = found + turns[..., axis : axis + 1] * rows[axis]
    return found


def shifts_within(
    points: npt.NDArray[Any], queries: npt.NDArray[Any], radii: npt.NDArray[Any], rows: npt.NDArray[Any] | None
) -> Iterator[npt.NDArray[Any]]:
    """Shifts of images that may lie within the radius, (m, n, dim) each: all around the nearest image on each axis.

    The image that is nearest along a lattice vector follows from the coordinates of the difference in the lattice. It
    lies within half of the cell's height over the other vectors, and an image that is s farther lies at least s - 1/2
    heights away. Squares of differences below the root of the least normal number may vanish, so that all of these may
    be neighbors.
    """
    if rows is None:
        yield np.zeros(points.shape[1], np.int64)
        return
    dim, flags = points.shape[1], rows.any(axis=1)
    nearest = np.zeros((len(queries), len(points), dim), np.int64)
    around = [range(1)] * dim
    wide = rows.astype(np.float64)
    # Computed with vectors of about one length, as products of others may overflow.
    scale = np.abs(wide).max()
    reciprocal = np.linalg.pinv(wide[flags] / scale) / scale
    apart = points[None].astype(np.float64) - queries[:, None].astype(np.float64)
    coordinates = float(np.abs(points).max(initial=0)) + float(np.abs(queries).max(initial=0))
    eps = float(np.finfo(points.dtype).eps)
    farthest = max(float(radii.max(initial=0)), float(np.sqrt(np.finfo(points.dtype).tiny)))
    for axis, column in zip(np.flatnonzero(flags), reciprocal.T, strict=True):
        within = apart @ column
        nearest[..., axis] = np.rint(-within)
        steep = float(np.abs(column).sum())
        # The rounding of coordinates, of translations, which are no longer than differences and the radius, and of the
        # coordinates in the lattice, in double precision.
        longest = coordinates + farthest
        moved = np.abs(wide).sum(axis=0).max() * (1 + longest * float(np.abs(reciprocal).sum(axis=0).max()))
        rounding = 8 * steep * (eps * (longest + moved) + 1e-15 * longest)
        height = float(np.sqrt(column @ column))
        reach = int(np.floor(farthest * height + 0.5 + rounding))
        around[axis] = range(-reach, reach + 1)
    for steps in itertools.product(*around):
        yield nearest + np.array(steps, np.int64)
