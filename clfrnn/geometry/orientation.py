"""Orientation: normals of which neighbors point to the same side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..api import check_keywords, search
from ..device_array import DeviceArray
from ..inputs.argument_types import MethodName, MethodOptions
from ..inputs.arrays import fetch
from ..inputs.sessions import choose_session
from ..runtime.session import Session
from .arguments import take_cloud, take_normals
from .libraries import library

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["orient"]


def orient(
    points: Any,
    normals: Any,
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
    (n, dim) array on the device, of the points' dtype: each normal, or its negative. In each part of the cloud that is
    connected by steps of at most `radius`, the point whose last coordinate is largest has a normal with a last
    coordinate of at least 0, so that normals of a closed surface point to the outside.

    Raises
    ------
    InvalidInputError
        An argument cannot be searched; the message says which one, and what to do.
    ClfrnnError
        scipy is not installed; the extra ``geometry`` has it.

    Notes
    -----
    Signs go from point to point along a minimum spanning tree of the pairs of neighbors with the weight ``1 - |n_i .
    n_j|``, for normals of length 1, so that they pass sharp edges last. Steps to points without a normal do not count.

    Cost: that of a list of each pair once, and on the host, by scipy, a spanning tree; some 40 bytes of host memory for
    each pair.

    Source: Hoppe, DeRose, Duchamp, McDonald and Stuetzle, *Surface reconstruction from unorganized points* (1992),
    section 3.3.

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
        host = fetch(session, take_normals(session, normals, array))
        pairs = search(array, radius, half=True, method=method, session=session, **options).to_coo()
        heights = fetch(session, array)[:, -1]
        signs = _signs(graphs, host, heights, *pairs)
        turned = session.upload(host * signs[:, None], purpose="the normals")
        session.publish(None, turned)
        return turned


def _signs(
    graphs: Any, normals: np.ndarray[Any, Any], heights: np.ndarray[Any, Any], i: Any, j: Any
) -> np.ndarray[Any, Any]:
    """1 for normals that stay and -1 for those to turn, in their dtype; (i, j) are the pairs of neighbors."""
    n = len(normals)
    lengths = np.linalg.norm(normals, axis=1)
    units = np.divide(normals, lengths[:, None], out=np.full_like(normals, np.nan), where=lengths[:, None] > 0)
    along = np.einsum("ka,ka->k", units[i], units[j])
    known = ~np.isnan(along)
    i, j, along = i[known], j[known], along[known]
    # A weight of 0 would be no pair; 1 more on all pairs changes no tree.
    tree = graphs.minimum_spanning_tree(_matrix(2 - np.abs(along), i, j, n))
    _, parts = graphs.connected_components(tree, directed=False)
    # Of each part the highest point, and of several the first one.
    order = np.lexsort((np.arange(n), -heights, parts))
    tops = order[np.flatnonzero(np.diff(parts[order], prepend=-1))]
    steps = tree.tocoo()
    # A root beyond all points has the tops as its children.
    ends = np.concatenate([steps.row, np.full(len(tops), n)]), np.concatenate([steps.col, tops])
    _, parent = graphs.breadth_first_order(_matrix(np.ones(len(ends[0])), *ends, n + 1), n, directed=False)
    parent[n] = n
    turns = np.ones(n + 1, np.int8)
    below = np.flatnonzero(parent[:n] < n)
    turns[below] = np.where(np.einsum("ka,ka->k", units[below], units[parent[below]]) < 0, -1, 1)
    turns[tops] = np.where(normals[tops, -1] < 0, -1, 1)
    # Each round doubles the way to the root whose turns are multiplied.
    while (parent != n).any():
        turns *= turns[parent]
        parent = parent[parent]
    return turns[:n].astype(normals.dtype)


def _matrix(weights: np.ndarray[Any, Any], i: np.ndarray[Any, Any], j: np.ndarray[Any, Any], n: int) -> Any:
    """A sparse matrix of n rows with these entries."""
    return library("scipy.sparse", "scipy", "orient").csr_array((weights, (i, j)), shape=(n, n))
