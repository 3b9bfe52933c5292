"""Orientation: normals of which neighbors point to the same side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..api import search
from ..device_array import DeviceArray
from ..host.foreign_warnings import ignored_warnings
from ..host.libraries import library
from ..host.numbers import real_number
from ..methods.named import check_keywords
from ..points.argument_types import MethodName, MethodOptions, Rows
from ..points.on_device import to_device
from ..points.sessions import choose_session
from ..runtime.session import Session
from .arguments import take_cloud, take_normals

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["orient"]

_Array: TypeAlias = np.ndarray[Any, Any]

#: Pairs whose vectors are in memory at a time.
_PAIRS_AT_ONCE = 2**20

#: The cosine of the angle between a normal and the way to a neighbor above which a pair leaves the surface steeply.
_STEEP = 0.88

#: The weight of the length of a way, in radii, on which normals turn by a right angle.
_TURN = 0.02

#: How many radii below the highest point a point may lie and decide, if it faces up and the highest one does not.
_FACES = 0.5

#: Lengths of the mean normal below which a part counts as closed, and of the mean share of normals that points away
#: from its middle above which that is clear.
_CLOSED, _CLEAR = 0.2, 0.2

#: Up to this cosine of the angle to the last axis, a normal does not say which side is up.
_LEVEL = 0.05


def orient(
    points: Rows,
    normals: Rows,
    radius: float,
    *,
    method: MethodName = "auto",
    session: Session | None = None,
    **options: Unpack[MethodOptions],
) -> DeviceArray[np.floating[Any]]:
    """Turn normals such that those of neighbors point to the same side of the surface.

    Parameters
    ----------
    points : (n, 2) or (n, 3) float32 or float64, finite; on the host or the device
    normals : as points, of any length; NaN where there is none
    radius : scalar, the distance within which points belong to the same part of the surface, in the points' unit; less
        than the distance of parts that should not
    method, session, **options : as for :func:`clfrnn.search`

    Returns
    -------
    (n, dim) array on the device, of the points' dtype: each normal, or its negative. Those of a closed surface point to
    the outside. In each other part of the cloud that is connected by steps of at most `radius`, the normal of the
    highest point, whose last coordinate is largest, points up; where it is level, most normals of the part point away
    from its middle.

    Raises
    ------
    InvalidInputError
        An argument cannot be searched; the message says which one, and what to do.
    ClfrnnError
        scipy is not installed; the extra ``geometry`` has it.

    Notes
    -----
    Signs go from point to point along a minimum spanning tree of the pairs of neighbors. For a pair at the direction e
    from each other, one normal is reflected, ``m = n_j - 2 (n_j . e) e``, which is n_i on a plane and on a circle, and
    for points as far from an edge, right-angled or not. The sign of ``n_i . m`` decides, and the pair has the weight
    ``1 - |n_i . m|``, for normals of length 1, and more where e is steep to the surface or long where normals turn.
    Steps to points without a normal do not count. The order of the points does not matter.

    A part counts as closed where its normals cancel out and most of them point away from its middle, or to it. Parts
    that touch face to face have no outside between them.

    Cost: that of a list of each pair once, and on the host, by scipy, a spanning tree; some 60 bytes of host memory for
    each pair.

    Source: Hoppe, DeRose, Duchamp, McDonald and Stuetzle, *Surface reconstruction from unorganized points* (1992),
    section 3.3, for the tree; Xie, Wang, Hua, Qin and Kaufman, *Piecewise C1 continuous surface reconstruction of noisy
    point clouds via local implicit quadric regression* (2003), for the reflection.

    Examples
    --------
    >>> from clfrnn.geometry import orient
    >>> points = [[0.0, 0.0], [1.0, 0.1], [2.0, 0.0]]
    >>> orient(points, [[0.1, 1.0], [0.0, -1.0], [0.1, -1.0]], 1.5).get().round(1).tolist()
    [[0.1, 1.0], [-0.0, 1.0], [-0.1, 1.0]]
    """
    check_keywords(orient, method, options)
    graphs = library("scipy.sparse.csgraph", "scipy", "orient")
    session = choose_session(session, points, normals)
    with session.lock:
        array, _, _ = take_cloud(session, points)
        host = take_normals(session, normals, array).get()
        pairs = search(array, radius, half=True, method=method, session=session, **options).to_coo()
        signs = _signs(graphs, array.get(), host, real_number(radius), pairs)
        return to_device(host * signs[:, None], name="normals", session=session)


def _signs(
    graphs: Any, points: _Array, normals: _Array, radius: float, pairs: tuple[_Array, _Array]
) -> np.ndarray[Any, np.dtype[np.int8]]:
    """1 for normals that stay and -1 for those to turn; `pairs` are those of neighbors."""
    n, (i, j), units = len(normals), pairs, _units(normals.astype(np.float64))
    weights = _weights(points, units, radius, i, j)
    known = ~np.isnan(weights)
    with ignored_warnings():
        tree = graphs.minimum_spanning_tree(_matrix(weights[known], i[known], j[known], n)).tocoo()
        _, parts = graphs.connected_components(tree, directed=False)
    tops = _tops(points, units, radius, parts)
    # A root beyond all points has the tops as its children.
    ends = np.concatenate([tree.row, np.full(len(tops), n)]), np.concatenate([tree.col, tops])
    with ignored_warnings():
        _, parent = graphs.breadth_first_order(_matrix(np.ones(len(ends[0])), *ends, n + 1), n, directed=False)
    parent[n] = n
    flips = np.ones(n + 1, np.int8)
    below = np.flatnonzero(parent[:n] < n)
    flips[below] = np.where(_agreement(points, units, radius, below, parent[below])[0] < 0, -1, 1)
    # Each round doubles the way to the root whose signs are multiplied.
    while (parent != n).any():
        flips *= flips[parent]
        parent = parent[parent]
    return flips[:n] * _outside(points, units * flips[:n, None], tops, parts)


def _units(vectors: _Array) -> _Array:
    """Vectors of length 1; NaN for those without a direction, and no squares that overflow or vanish."""
    with np.errstate(all="ignore"):
        shares = vectors / np.abs(vectors).max(axis=1, keepdims=True)
        found: _Array = shares / np.linalg.norm(shares, axis=1, keepdims=True)
        return found


def _weights(points: _Array, units: _Array, radius: float, i: _Array, j: _Array) -> _Array:
    """The weight of each pair in the spanning tree, at least 1, as 0 would be no pair; NaN without normals."""
    weights = np.empty(len(i))
    for first in range(0, len(i), _PAIRS_AT_ONCE):
        part = slice(first, first + _PAIRS_AT_ONCE)
        agreement, doubt = _agreement(points, units, radius, i[part], j[part])
        weights[part] = 2 - np.abs(agreement) + doubt
    return weights


def _agreement(points: _Array, units: _Array, radius: float, i: _Array, j: _Array) -> tuple[_Array, _Array]:
    """How well the normals of each pair agree about the side, and what speaks against the pair.

    The first is ``n_i . (n_j - 2 (n_j . e) e)``, where e is the direction from one point to the other: 1 or -1 for
    points of a plane, a circle or a sphere, and for points as far from the edge of two faces; the sign says whether
    both normals point to the same side. The second grows where e is nearer to a normal than to its plane, as between
    the two sides of a sheet, where the points coincide, and with the length of the way on which normals turn.
    """
    one, other = units[i], units[j]
    steps = points[j].astype(np.float64) - points[i]
    way = np.nan_to_num(_units(steps))
    alike, along_one, along_other = (np.einsum("ka,ka->k", *two) for two in ((one, other), (one, way), (other, way)))
    lengths = np.einsum("ka,ka->k", steps, way)
    steep = np.maximum(0, np.maximum(np.abs(along_one), np.abs(along_other)) - _STEEP) / (1 - _STEEP)
    turn = _TURN * (1 - np.abs(alike)) * lengths / max(radius, np.finfo(np.float64).tiny)
    return alike - 2 * along_one * along_other, np.where(lengths > 0, steep + turn, 1)


def _tops(points: _Array, units: _Array, radius: float, parts: _Array) -> _Array:
    """The point of each part that decides its side: one of the highest, at most about a radius below, that faces up.

    Of points as high, one whose normal is level does not decide where another one has a normal that is not.
    """
    heights = points[:, -1].astype(np.float64)
    score = heights / 2 + _FACES * (radius / 2) * np.nan_to_num(np.abs(units[:, -1]))
    order = np.lexsort((np.arange(len(points)), -score, parts))
    return order[np.flatnonzero(np.diff(parts[order], prepend=-1))]


def _outside(points: _Array, units: _Array, tops: _Array, parts: _Array) -> np.ndarray[Any, np.dtype[np.int8]]:
    """1 for the points of parts whose normals point to the outside, and -1 for those of other parts.

    Up is the outside at the top. Around a closed part normals cancel out, and where most of them then point away from
    its middle, or to it, that says more than one normal at the top. It also decides where the normal there is level.
    """
    many, known = len(tops), np.nan_to_num(units)
    shares = points.astype(np.float64) / max(float(np.abs(points).max(initial=0)), np.finfo(points.dtype).tiny)
    counts = np.bincount(parts, minlength=many)
    mean, middle = (_sums(rows, parts, many) / counts[:, None] for rows in (known, shares))
    from_middle = shares - middle[parts]
    away = np.bincount(parts, np.einsum("ka,ka->k", from_middle, known), many)
    clear = np.abs(away) > _CLEAR * np.bincount(parts, np.linalg.norm(from_middle, axis=1), many)
    closed = np.linalg.norm(mean, axis=1) < _CLOSED
    upward = known[tops, -1]
    side = np.where((closed & clear) | (np.abs(upward) < _LEVEL), away, upward)
    return np.where(side < 0, -1, 1).astype(np.int8)[parts]


def _sums(rows: _Array, parts: _Array, many: int) -> _Array:
    """The sum of the rows of each part."""
    return np.stack([np.bincount(parts, column, many) for column in rows.T], axis=1)


def _matrix(weights: _Array, i: _Array, j: _Array, n: int) -> Any:
    """A sparse matrix of n rows with these entries; scipy 1.11's graphs take no indices of 64 bits."""
    entries = (weights, (i.astype(np.int32), j.astype(np.int32)))
    return library("scipy.sparse", "scipy", "orient").csr_array(entries, shape=(n, n))
