"""The definition of a correct answer, in numpy: all pairs, each operation rounded in the points' dtype.

Examples
--------
>>> import numpy as np
>>> points = np.array([[0, 0], [3, 4], [6, 8]], np.float32)
>>> answer = neighbors(points, 5)
>>> answer.offsets, answer.indices, answer.distances
(array([0, 1, 3, 4]...), array([1, 0, 2, 1]...), array([5., 5., 5., 5.], dtype=float32))
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Neighbors", "neighbors", "squared_distances"]

_CHUNK = 1 << 22


class Neighbors(NamedTuple):
    """A list of neighbors in CSR form, each row by ascending index."""

    offsets: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int32]
    squares: npt.NDArray[Any]
    distances: npt.NDArray[Any]
    vectors: npt.NDArray[Any]


def squared_distances(points: npt.NDArray[Any], queries: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """d² of every query to every point, (m, n): ``((dx0*dx0 + dx1*dx1) + dx2*dx2) + ...``, each step rounded."""
    squares = None
    with np.errstate(all="ignore"):
        for axis in range(points.shape[1]):
            dx = points[None, :, axis] - queries[:, None, axis]
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
) -> Neighbors:
    """Every point within `radius` of every query, as clfrnn must find it.

    Parameters
    ----------
    points : (n, dim) float32 or float64
    radius : scalar or (m,) — rounded to the points' dtype, as is its square
    queries : (m, dim) — the points themselves when not given

    Notes
    -----
    Cost: m · n distances, in chunks of 32 MB.
    """
    targets = np.asarray(points)
    sources = targets if queries is None else np.asarray(queries).astype(targets.dtype)
    count = len(sources)
    with np.errstate(all="ignore"):
        radii = np.broadcast_to(np.asarray(radius).astype(targets.dtype), (count,))
        limits = radii * radii
    rows, columns, squares = [], [], []
    step = max(1, _CHUNK // max(1, len(targets)))
    for first in range(0, count, step):
        part = slice(first, first + step)
        d2 = squared_distances(targets, sources[part])
        inside = d2 <= limits[part, None]
        i, j = np.nonzero(inside)
        squares.append(d2[i, j])
        rows.append(i + first)
        columns.append(j)
    i = np.concatenate([*rows, np.zeros(0, np.int64)]).astype(np.int64)
    j = np.concatenate([*columns, np.zeros(0, np.int64)]).astype(np.int64)
    d2 = np.concatenate([*squares, np.zeros(0, targets.dtype)])
    if queries is None:
        keep = (j >= i if include_self else j > i) if half else (np.full(len(i), True) if include_self else j != i)
        i, j, d2 = i[keep], j[keep], d2[keep]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(i, minlength=count))]).astype(np.int64)
    with np.errstate(all="ignore"):
        vectors = targets[j] - sources[i]
    return Neighbors(offsets, j.astype(np.int32), d2, np.sqrt(d2), vectors)
