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

__all__ = ["Nearest", "Neighbors", "nearest", "neighbors", "squared_distances"]

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
    cell: npt.ArrayLike | None = None,
    periodic: bool | Sequence[bool] | None = None,
    where: Callable[..., npt.NDArray[np.bool_]] | None = None,
) -> Neighbors:
    """Find every point within `radius` of every query, as clfrnn must find it.

    Parameters
    ----------
    points : (n, dim) float32 or float64
    radius : scalar or (m,), rounded to the points' dtype, as is its square
    queries : (m, dim); the points themselves when not given
    box : (dim,) lengths or (2, dim) corners, rounded to the points' dtype
    cell : (dim, dim) lattice vectors as rows, rounded to the points' dtype, in place of `box`; an image is shifted by
        ``(s0 * c0 + s1 * c1) + s2 * c2``, each step rounded
    periodic : bool, or one for each axis or lattice vector; every image within the radius counts; by default True where
        `box` or `cell` is given
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
    vectors_of_cell = _cell(targets, box, cell, periodic)
    found = []
    step = max(1, _CHUNK // max(1, len(targets)))
    for first in range(0, count, step):
        part = slice(first, first + step)
        for shift in _shifts(targets, sources[part], radii[part], vectors_of_cell):
            offset = None if vectors_of_cell is None else _translations(shift, vectors_of_cell)
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
        if vectors_of_cell is not None:
            vectors = vectors + _translations(shifts, vectors_of_cell)
    if where is not None:
        met = np.asarray(where(i, j, d2, vectors, shifts), bool)
        i, j, d2, vectors, shifts = i[met], j[met], d2[met], vectors[met], shifts[met]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(i, minlength=count))]).astype(np.int64)
    return Neighbors(offsets, j.astype(np.int32), d2, np.sqrt(d2), vectors, shifts)


class Nearest(NamedTuple):
    """The k nearest neighbors of each query, each row by ascending squared distance, then index, then shift.

    Behind the last neighbor of a row, indices are -1, distances inf, vectors and shifts 0.
    """

    indices: npt.NDArray[np.int32]
    distances: npt.NDArray[Any]
    vectors: npt.NDArray[Any]
    shifts: npt.NDArray[np.int32]


def nearest(
    points: npt.ArrayLike,
    k: int,
    *,
    radius: npt.ArrayLike | None = None,
    queries: npt.ArrayLike | None = None,
    include_self: bool = False,
    box: npt.ArrayLike | None = None,
    cell: npt.ArrayLike | None = None,
    periodic: bool | Sequence[bool] | None = None,
    where: Callable[..., npt.NDArray[np.bool_]] | None = None,
) -> Nearest:
    """Find the k nearest points of every query, as clfrnn must find them: the first k of a sorted row of neighbors.

    The arguments are those of :func:`neighbors`. Without a `radius`, neighbors are those whose squared distance does
    not exceed the square of the largest number that has a finite square.

    Examples
    --------
    >>> found = nearest(np.array([[0, 0], [3, 4], [6, 8]], np.float32), 2)
    >>> found.indices.tolist(), found.distances[0].tolist()
    ([[1, 2], [0, 2], [1, 0]], [5.0, 10.0])
    """
    targets = np.asarray(points)
    asked: dict[str, Any] = {"queries": queries, "include_self": include_self, "box": box}
    asked |= {"cell": cell, "periodic": periodic, "where": where}
    if radius is None and not len(targets):
        radius = 0.0  # of no points, none are farther
    if radius is not None:
        return _first_columns(neighbors(targets, radius, **asked), k, targets)
    largest = float(_largest_radius(targets.dtype))
    lattice = _cell(targets, box, cell, periodic)
    reach = largest if lattice is None else float(np.linalg.norm(lattice.astype(float)))
    while True:
        found = neighbors(targets, reach, **asked)
        if reach >= largest or np.diff(found.offsets).min(initial=k) >= k:
            return _first_columns(found, k, targets)
        reach = min(1.5 * reach, largest)


def _largest_radius(dtype: np.dtype[Any]) -> Any:
    """The largest number with a finite square."""
    with np.errstate(all="ignore"):
        radius = np.sqrt(np.finfo(dtype).max)
        while not np.isfinite(radius * radius):
            radius = np.nextafter(radius, dtype.type(0))
    return radius


def _first_columns(found: Neighbors, k: int, points: npt.NDArray[Any]) -> Nearest:
    """The first k of each row by ascending squared distance."""
    rows = np.repeat(np.arange(len(found.offsets) - 1), np.diff(found.offsets))
    order = np.lexsort((*found.shifts.T[::-1], found.indices, found.squares, rows))
    column = np.arange(len(rows)) - found.offsets[rows]
    listed = column < k
    order, place = order[listed], (rows[listed], column[listed])
    shape = len(found.offsets) - 1, k
    result = Nearest(
        np.full(shape, -1, np.int32),
        np.full(shape, np.inf, points.dtype),
        np.zeros((*shape, points.shape[1]), points.dtype),
        np.zeros((*shape, points.shape[1]), np.int32),
    )
    for array, values in zip(result, (found.indices, found.distances, found.vectors, found.shifts), strict=True):
        array[place] = values[order]
    return result


def _cell(points: npt.NDArray[Any], box: Any, cell: Any, periodic: Any) -> npt.NDArray[Any] | None:
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


def _translations(shifts: npt.NDArray[Any], rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """``((s0 * c0 + s1 * c1) + s2 * c2) + ...`` of every shift, (..., dim), each step rounded."""
    turns = shifts.astype(rows.dtype)
    found = turns[..., :1] * rows[0]
    for axis in range(1, len(rows)):
        found = found + turns[..., axis : axis + 1] * rows[axis]
    return found


def _shifts(
    points: npt.NDArray[Any], queries: npt.NDArray[Any], radii: npt.NDArray[Any], rows: npt.NDArray[Any] | None
) -> Iterator[npt.NDArray[Any]]:
    """Shifts of images that may lie within the radius, (m, n, dim) each: all around the nearest image on each axis.

    The image that is nearest along a lattice vector follows from the coordinates of the difference in the lattice. A
    radius reaches over as many images as it is times longer than the cell is high over the other vectors. Squares of
    differences below the root of the least normal number may vanish, so that all of these may be neighbors.
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
        reach = int(np.ceil(farthest * height + rounding)) + 1
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
