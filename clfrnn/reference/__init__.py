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

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .images import lattice_of, shifts_within, side_of, translations

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
    batch: npt.ArrayLike | None = None,
    query_batch: npt.ArrayLike | None = None,
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
    batch, query_batch : (n,) and (m,) integers: the system of each point and query; neighbors are of one system.
        `box`, `cell` and `periodic` may then have one entry for each system of `batch`, in ascending order

    Notes
    -----
    Cost: m · n distances for each image that may lie within the radius, in chunks of 32 MB.
    """
    targets = np.asarray(points)
    sources = targets if queries is None else np.asarray(queries).astype(targets.dtype)
    count = len(sources)
    if batch is not None:
        numbers = np.asarray(batch), np.asarray(batch if query_batch is None else query_batch)
        options: dict[str, Any] = {"include_self": include_self, "half": half}
        domain = {"box": box, "cell": cell, "periodic": periodic}
        asked = None if queries is None else sources
        return _in_systems(targets, asked, numbers, domain, options, radius=radius, where=where)
    with np.errstate(all="ignore"):
        radii = np.broadcast_to(np.asarray(radius).astype(targets.dtype), (count,))
        limits = radii * radii
    vectors_of_cell = lattice_of(targets, box, cell, periodic)
    found = []
    step = max(1, _CHUNK // max(1, len(targets)))
    for first in range(0, count, step):
        part = slice(first, first + step)
        for shift in shifts_within(targets, sources[part], radii[part], vectors_of_cell):
            offset = None if vectors_of_cell is None else translations(shift, vectors_of_cell)
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
            vectors = vectors + translations(shifts, vectors_of_cell)
    if where is not None:
        met = np.asarray(where(i, j, d2, vectors, shifts), bool)
        i, j, d2, vectors, shifts = i[met], j[met], d2[met], vectors[met], shifts[met]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(i, minlength=count))]).astype(np.int64)
    return Neighbors(
        offsets=offsets,
        indices=j.astype(np.int32),
        squares=d2,
        distances=np.sqrt(d2),
        vectors=vectors,
        shifts=shifts,
    )


def _in_systems(
    points: npt.NDArray[Any],
    queries: npt.NDArray[Any] | None,
    numbers_of: tuple[npt.NDArray[Any], npt.NDArray[Any]],
    domain: dict[str, Any],
    options: dict[str, Any],
    *,
    radius: npt.ArrayLike,
    where: Callable[..., npt.NDArray[np.bool_]] | None,
) -> Neighbors:
    """The neighbors of each system, one after the other, as rows of the whole.

    `numbers_of` are the systems of points and of queries.
    """
    batch, query_batch = numbers_of
    count = len(query_batch)
    with np.errstate(all="ignore"):
        radii = np.broadcast_to(np.asarray(radius).astype(points.dtype), (count,))
    numbers = np.unique(batch)
    found = [neighbors(points[:0], radius=0)]
    rows, columns = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for place, number in enumerate(numbers):
        of_points, of_queries = np.flatnonzero(batch == number), np.flatnonzero(query_batch == number)
        own: dict[str, Any] = {name: _entry(domain, name, place, numbers, points.shape[1]) for name in domain}
        own["queries"] = None if queries is None else queries[of_queries]
        found.append(neighbors(points[of_points], radii[of_queries], **own, **options))
        rows.append(of_queries[np.repeat(np.arange(len(of_queries)), np.diff(found[-1].offsets))])
        columns.append(of_points[found[-1].indices])
    i, j = np.concatenate(rows), np.concatenate(columns)
    _, _, d2, _, vectors, shifts = (np.concatenate(each) for each in zip(*found, strict=True))
    listed = np.full(len(i), True) if where is None else np.asarray(where(i, j, d2, vectors, shifts), bool)
    order = np.lexsort((*shifts.T[::-1], j, i))
    order = order[listed[order]]
    i, j, d2, vectors, shifts = i[order], j[order], d2[order], vectors[order], shifts[order]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(i, minlength=count))]).astype(np.int64)
    return Neighbors(
        offsets=offsets,
        indices=j.astype(np.int32),
        squares=d2,
        distances=np.sqrt(d2),
        vectors=vectors,
        shifts=shifts,
    )


def _entry(domain: dict[str, Any], name: str, place: int, numbers: npt.NDArray[Any], dim: int) -> Any:
    """The entry of a system in an array with a leading axis, or the value of all systems.

    Entries are those of the systems of `numbers`, or of the numbers from 0 to the last.
    """
    value, axes, many = domain[name], np.ndim(domain[name]), len(numbers)
    whole = {"box": (0, 1), "cell": (0, 2), "periodic": (0,)}[name]
    corners = name == "box" and np.shape(value) == (2, dim) and not (many == 2 and _are_lengths(domain, dim))
    if axes in whole or corners or (name == "periodic" and np.shape(value) == (dim,)):
        return value
    return value[place] if len(value) == many else value[int(numbers[place])]


def _are_lengths(domain: dict[str, Any], dim: int) -> bool:
    """Whether two rows may be the lengths of two boxes: they are positive on the axes that repeat."""
    flags = np.asarray(True if domain["periodic"] is None else domain["periodic"], bool)
    if flags.shape == (2,) and dim != 2:  # one for each system
        flags = flags[:, None]
    return bool((np.asarray(domain["box"])[np.broadcast_to(flags, (2, dim))] > 0).all())


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
    batch: npt.ArrayLike | None = None,
    query_batch: npt.ArrayLike | None = None,
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
    asked |= {"cell": cell, "periodic": periodic, "where": where, "batch": batch, "query_batch": query_batch}
    if radius is None and not len(targets):
        radius = 0.0  # of no points, none are farther
    if radius is not None:
        return _first_columns(neighbors(targets, radius, **asked), k, targets)
    if batch is not None:
        return _nearest_in_systems(targets, k, asked)
    largest = float(_largest_radius(targets.dtype))
    lattice = lattice_of(targets, box, cell, periodic)
    share = min(1.0, k / len(targets)) ** (1 / targets.shape[1])  # about what holds k of even points
    reach = largest if lattice is None else share * side_of(lattice)
    while True:
        found = neighbors(targets, reach, **asked)
        if reach >= largest or np.diff(found.offsets).min(initial=k) >= k:
            return _first_columns(found, k, targets)
        reach = min(1.5 * reach, largest)


def _nearest_in_systems(points: npt.NDArray[Any], k: int, asked: dict[str, Any]) -> Nearest:
    """The k nearest neighbors in each system, however far they are, as rows of the whole."""
    batch, queries, where = np.asarray(asked["batch"]), asked["queries"], asked["where"]
    query_batch = batch if queries is None else np.asarray(asked["query_batch"])
    result = _empty_rows(len(query_batch), k, points)
    numbers = np.unique(batch)
    for place, number in enumerate(numbers):
        of_points, of_queries = np.flatnonzero(batch == number), np.flatnonzero(query_batch == number)
        names = ("box", "cell", "periodic")
        own: dict[str, Any] = {name: _entry(asked, name, place, numbers, points.shape[1]) for name in names}
        if where is not None:
            own["where"] = _by_numbers(where, of_points, of_queries)
        own["queries"] = None if queries is None else np.asarray(queries)[of_queries]
        found = nearest(points[of_points], k, include_self=asked["include_self"], **own)
        for array, values in zip(result, found, strict=True):
            array[of_queries] = values
        result.indices[of_queries] = np.where(found.indices < 0, -1, of_points[found.indices])
    return result


def _by_numbers(
    where: Callable[..., npt.NDArray[np.bool_]], of_points: npt.NDArray[Any], of_queries: npt.NDArray[Any]
) -> Callable[..., npt.NDArray[np.bool_]]:
    """A condition on pairs of one system, by that on pairs of the whole."""
    return lambda i, j, *rest: where(of_queries[i], of_points[j], *rest)


def _empty_rows(m: int, k: int, points: npt.NDArray[Any]) -> Nearest:
    """Rows of `m` queries without a neighbor."""
    dim = points.shape[1]
    return Nearest(
        np.full((m, k), -1, np.int32),
        np.full((m, k), np.inf, points.dtype),
        np.zeros((m, k, dim), points.dtype),
        np.zeros((m, k, dim), np.int32),
    )


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
    result = _empty_rows(len(found.offsets) - 1, k, points)
    for array, values in zip(result, (found.indices, found.distances, found.vectors, found.shifts), strict=True):
        array[place] = values[order]
    return result


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
