"""The periodic images that the reference looks at."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["lattice_of", "shifts_within", "side_of", "translations"]


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


def side_of(rows: npt.NDArray[Any]) -> float:
    """The side of a cube, or of a square, with the volume of the cell."""
    wide = rows[rows.any(axis=1)].astype(np.float64)
    scale = float(np.abs(wide).max())
    sizes = np.abs(np.diag(np.linalg.qr((wide / scale).T, mode="r")))
    return scale * float(np.prod(sizes ** (1 / len(sizes))))


def translations(shifts: npt.NDArray[Any], rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """``((s0 * c0 + s1 * c1) + s2 * c2) + ...`` of every shift, (..., dim), each step rounded."""
    counts = shifts.astype(rows.dtype)
    found = counts[..., :1] * rows[0]
    for axis in range(1, len(rows)):
        found = found + counts[..., axis : axis + 1] * rows[axis]
    return found


def shifts_within(
    points: npt.NDArray[Any], queries: npt.NDArray[Any], radii: npt.NDArray[Any], rows: npt.NDArray[Any] | None
) -> Iterator[npt.NDArray[Any]]:
    """Shifts of images that may lie within the radius, (m, n, dim) each: all around the nearest image on each axis.

    Images are counted along short vectors of the lattice, so that they are few however skewed the cell is. The image
    that is nearest along a vector follows from the coordinates of the difference in the lattice. It lies within half of
    the cell's height over the other vectors, and an image that is s farther lies at least s - 1/2 heights away. Squares
    of differences below the root of the least normal number may vanish, so that all of these may be neighbors.
    """
    if rows is None:
        yield np.zeros(points.shape[1], np.int64)
        return
    dim, flags = points.shape[1], rows.any(axis=1)
    wide = rows[flags].astype(np.float64)
    # Computed with vectors of about one length, as products of others may overflow.
    scale = np.abs(wide).max()
    combinations = _short_combinations(wide / scale)
    reciprocal = np.linalg.pinv(combinations @ (wide / scale)) / scale
    apart = points[None].astype(np.float64) - queries[:, None].astype(np.float64)
    eps = float(np.finfo(points.dtype).eps)
    farthest = max(float(radii.max(initial=0)), float(np.sqrt(np.finfo(points.dtype).tiny)))
    longest = float(np.abs(points).max(initial=0)) + float(np.abs(queries).max(initial=0)) + farthest
    # The rounding of coordinates, of the parts of translations, and of the coordinates in the lattice, in double
    # precision.
    shifts = 1 + longest * np.abs(reciprocal).sum(axis=0)
    moved = float(shifts @ np.abs(combinations) @ np.abs(wide).sum(axis=1))
    nearest, around = [], []
    for column in reciprocal.T:
        within = apart @ column
        nearest.append(np.rint(-within).astype(np.int64))
        rounding = 8 * float(np.abs(column).sum()) * (eps * (longest + moved) + 1e-15 * longest)
        reach = int(np.floor(farthest * float(np.sqrt(column @ column)) + 0.5 + rounding))
        around.append(range(-reach, reach + 1))
    for steps in itertools.product(*around):
        shifts = np.zeros((*apart.shape[:2], dim), np.int64)
        shifts[..., flags] = (np.stack(nearest, axis=-1) + np.array(steps, np.int64)) @ combinations
        yield shifts


def _short_combinations(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """How often each of up to three vectors is in each vector of a short basis of their lattice, (rows, rows).

    Each step adds others to a vector a whole number of times, so any rounding leaves a basis of the same lattice.
    """
    many = len(rows)
    found = np.eye(many, dtype=np.int64)
    added = [np.array(each) for each in itertools.product((-1, 0, 1), repeat=many) if any(each)]
    while True:
        vectors = found @ rows
        for k, each in itertools.product(range(many), added):
            if each[k]:
                continue
            other = each @ vectors
            times = np.int64(np.rint(-(vectors[k] @ other) / (other @ other)))
            shorter = vectors[k] + times * other
            if shorter @ shorter < 0.99 * (vectors[k] @ vectors[k]):
                found[k] += times * (each @ found)
                break
        else:
            return found
