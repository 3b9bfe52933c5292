"""The definition of a correct result, in numpy: all pairs, each operation rounded in the points' dtype.

Examples
--------
>>> import numpy as np
>>> points = np.array([[0, 0], [3, 4], [6, 8]], np.float32)
>>> result = neighbors(points, 5)
>>> result.offsets, result.indices, result.distances
(array([0, 1, 3, 4]...), array([1, 0, 2, 1]...), array([5., 5., 5., 5.], dtype=float32))
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Neighbors", "neighbors", "squared_distances"]

_CHUNK = 1 << 22


class Neighbors(NamedTuple):
    """A list of neighbors in CSR form, each row by ascending index, then shift."""

    offsets: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int32]
    squares: npt.NDArray[Any]
    distances: npt.NDArray[Any]
    vectors: npt.NDArray[Any]
    shifts: npt.NDArray[np.int32]


def squared_distances(
    points: npt.NDArray[Any], queries: npt.NDArray[Any], offset: npt.NDArray[Any] | None = None
) -> npt.NDArray[Any]:
    """d² of every query to every point, (m, n): ``((dx0*dx0 + dx1*dx1) + dx2*dx2) + ...``, each step rounded.

    With `offset`, (dim,) or (m, n, dim), ``dx = (point - query) + offset``.
    """
    squares = None
    with np.errstate(all="ignore"):
        for axis in range(points.shape[1]):
            dx = points[None, :, axis] - queries[:, None, axis]
            if offset is not None:
                dx = dx + offset[..., axis]
            squares = dx * dx if squares is None else squares + dx * dx
    assert squares is not None
    return squares


def neighbors(
    points: npt.ArrayLike,
    radius: npt.ArrayLike,
    *,
    queries: npt.ArrayLike | None = None,
    include_self: bool = False,
    half: bool = False,
    box: npt.ArrayLike | None = None,
    periodic: bool | Sequence[bool] = False,
    where: Callable[..., npt.NDArray[np.bool_]] | None = None,
) -> Neighbors:
    """Find every point within `radius` of every query, as clfrnn must find it.

    Parameters
    ----------
    points : (n, dim) float32 or float64
    radius : scalar or (m,), rounded to the points' dtype, as is its square
    queries : (m, dim); the points themselves when not given
    box : (dim,) lengths or (2, dim) corners, rounded to the points' dtype
    periodic : bool, or one for each axis; every image within the radius counts
    where : ``where(i, j, d2, dx, shift)`` says which pairs count: it takes arrays of (pairs,) or (pairs, dim), as a
        :class:`clfrnn.Condition` has their elements in scope, and returns (pairs,) bool

    Notes
    -----
    Cost: m · n distances for each image that may lie within the radius, in chunks of 32 MB.
    """
    targets = np.asarray(points)
    sources = targets if queries is None else np.asarray(queries).astype(targets.dtype)
    count = len(sources)
    with np.errstate(all="ignore"):
        radii = np.broadcast_to(np.asarray(radius).astype(targets.dtype), (count,))
        limits = radii * radii
    lengths = _lengths(targets, box, periodic)
    found = []
    step = max(1, _CHUNK // max(1, len(targets)))
    for first in range(0, count, step):
        part = slice(first, first + step)
        for shift in _shifts(targets, sources[part], radii[part], lengths):
            offset = None if lengths is None else shift.astype(targets.dtype) * lengths
            d2 = squared_distances(targets, sources[part], offset)
            i, j = np.nonzero(d2 <= limits[part, None])
            shifts = np.broadcast_to(shift, (*d2.shape, targets.shape[1]))[i, j]
            found.append((i + first, j, d2[i, j], shifts))
    i = np.concatenate([*(each[0] for each in found), np.zeros(0, np.int64)]).astype(np.int64)
    j = np.concatenate([*(each[1] for each in found), np.zeros(0, np.int64)]).astype(np.int64)
    d2 = np.concatenate([*(each[2] for each in found), np.zeros(0, targets.dtype)])
    shifts = np.concatenate([*(each[3] for each in found), np.zeros((0, targets.shape[1]), np.int32)]).astype(np.int32)
    order = np.lexsort((*shifts.T[::-1], j, i))
    i, j, d2, shifts = i[order], j[order], d2[order], shifts[order]
    if queries is None:
        listed = _listed(i, j, shifts, include_self=include_self, half=half)
        i, j, d2, shifts = i[listed], j[listed], d2[listed], shifts[listed]
    with np.errstate(all="ignore"):
        vectors = targets[j] - sources[i]
        if lengths is not None:
            vectors = vectors + shifts.astype(targets.dtype) * lengths
    if where is not None:
        met = np.asarray(where(i, j, d2, vectors, shifts), bool)
        i, j, d2, vectors, shifts = i[met], j[met], d2[met], vectors[met], shifts[met]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(i, minlength=count))]).astype(np.int64)
    return Neighbors(offsets, j.astype(np.int32), d2, np.sqrt(d2), vectors, shifts)


def _lengths(points: npt.NDArray[Any], box: Any, periodic: Any) -> npt.NDArray[Any] | None:
    """The length of each periodic axis in the points' dtype, 0 for other axes; None where no axis is periodic."""
    flags = np.broadcast_to(np.asarray(periodic, bool), (points.shape[1],))
    if not flags.any():
        return None
    corners = np.asarray(box, np.float64).astype(points.dtype)
    lengths = corners[1] - corners[0] if corners.ndim == 2 else corners
    return np.where(flags, lengths, points.dtype.type(0))


def _shifts(
    points: npt.NDArray[Any], queries: npt.NDArray[Any], radii: npt.NDArray[Any], lengths: npt.NDArray[Any] | None
) -> Iterator[npt.NDArray[Any]]:
    """Shifts of images that may lie within the radius, (m, n, dim) each: all around the nearest image on each axis."""
    if lengths is None:
        yield np.zeros(points.shape[1], np.int64)
        return
    dim = points.shape[1]
    nearest = np.zeros((len(queries), len(points), dim), np.int64)
    around = [range(1)] * dim
    for axis in np.flatnonzero(lengths):
        length = float(lengths[axis])
        apart = points[None, :, axis].astype(np.float64) - queries[:, None, axis].astype(np.float64)
        nearest[..., axis] = np.rint(-apart / length)
        coordinates = np.abs(points[:, axis]).max(initial=0) + np.abs(queries[:, axis]).max(initial=0)
        rounding = 8 * float(np.finfo(points.dtype).eps) * (float(coordinates) + length)
        reach = int(np.ceil((float(radii.max(initial=0)) + rounding) / length)) + 1
        around[axis] = range(-reach, reach + 1)
    for steps in itertools.product(*around):
        yield nearest + np.array(steps, np.int64)


def _listed(
    i: npt.NDArray[Any], j: npt.NDArray[Any], shifts: npt.NDArray[Any], *, include_self: bool, half: bool
) -> npt.NDArray[np.bool_]:
    """Which of the pairs of points with themselves a search lists."""
    itself = (i == j) & ~shifts.any(axis=1)
    if not half:
        return np.full(len(i), True) if include_self else ~itself
    first = np.zeros(len(i), np.int64)
    for axis in reversed(range(shifts.shape[1])):
        first = np.where(shifts[:, axis] != 0, shifts[:, axis], first)
    listed = (j > i) | ((i == j) & (first > 0))
    return listed | itself if include_self else listed
