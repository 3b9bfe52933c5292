"""Fields: the signed distance to a cloud at the nodes of a regular grid, in a band around it."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..answers.grid_nodes import grid_nodes
from ..api import build_index
from ..device_array import DeviceArray
from ..errors import InvalidInputError
from ..functions import NeighborFunction
from ..host.numbers import real_array, shown
from ..methods.named import check_keywords
from ..points.argument_types import MethodName, MethodOptions, Numbers, Rows
from ..points.on_device import bounds as bounds_of
from ..points.on_device import to_device
from ..points.sessions import choose_session
from ..runtime.session import Session
from .arguments import positive, take_cloud, take_normals

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Field", "distance_field"]

#: Nodes whose positions are on the device at a time: enough for any device, and a small part of its memory.
_NODES_AT_ONCE = 2**22

#: More nodes than this, in all and along an axis, are a mistake in the spacing.
_MOST_NODES, _MOST_ALONG = 2**40, 2**31 - 1


class Field(NamedTuple):
    """Numbers at the nodes of a regular grid: node (i, j, k) is at ``origin + spacing * (i, j, k)``."""

    #: (nx, ny, nz), or (nx, ny) in 2D, on the device; NaN where the field is undefined
    values: DeviceArray[np.floating[Any]]
    #: (dim,) float64 on the host, the position of the first node
    origin: npt.NDArray[np.float64]
    #: the distance of adjacent nodes, along every axis
    spacing: float


def distance_field(
    points: Rows,
    normals: Rows,
    *,
    spacing: float,
    radius: float,
    bounds: Numbers | None = None,
    method: MethodName = "auto",
    session: Session | None = None,
    **options: Unpack[MethodOptions],
) -> Field:
    """Compute the signed distance to the nearest point, at the nodes of a regular grid.

    A node is a position of the grid. The sign says on which side of the surface it lies: negative inside.

    Parameters
    ----------
    points : (n, 2) or (n, 3) float32 or float64, finite; on the host or the device
    normals : as points, to the outside of the surface; of any length, NaN where there is none
    spacing : the distance of adjacent nodes, in the points' unit
    radius : scalar, the largest distance that is defined; two to four spacings for the surface itself
    bounds : (2, dim), the lowest and the highest corner of the grid, whose first node is the lowest corner, and whose
        last ones reach the highest one; the box around the points, wider by the radius on every side, when not given
    method, session, **options : as for :func:`clfrnn.build_index`

    Returns
    -------
    Field, on the device, for which the call does not wait. The value at a node x is its distance d to the nearest
    point p, of several the one with the lowest number; negative where ``(x - p) . n < 0`` with p's normal n. NaN where
    d exceeds the radius, and where p has no normal. Values are the same to the last bit on every device.

    Raises
    ------
    InvalidInputError
        An argument cannot be searched; the message says which one, and what to do.
    DeviceMemoryError
        There is no memory for the values of all nodes.

    Notes
    -----
    Cost: that of building an index, and a visit of the nodes that looks no farther than the nearest point. Beside the
    values, the positions of at most four million nodes are on the device at a time. Behind the edge of an open surface
    the sign is that of the plane through its last points: a small radius leaves little of it.

    Source: Hoppe, DeRose, Duchamp, McDonald and Stuetzle, *Surface reconstruction from unorganized points* (1992), for
    the sign; Xing, Wang and Hui, *Coherent spherical range-search for dynamic points on GPUs* (2016), for the band.

    Examples
    --------
    >>> from clfrnn.geometry import distance_field
    >>> bounds = [[0.0, -2.0], [0.0, 2.0]]
    >>> field = distance_field([[0.0, 0.0]], [[0.0, 1.0]], spacing=1.0, radius=1.5, bounds=bounds)
    >>> field.values.get().tolist()
    [[nan, -1.0, 0.0, 1.0, nan]]
    """
    check_keywords(distance_field, method, options)
    width = positive("spacing", spacing, "the distance of adjacent nodes")
    session = choose_session(session, points, normals)
    with session.lock:
        array, _, dim = take_cloud(session, points)
        toward = take_normals(session, normals, array)
        index = build_index(array, radius, method=method, session=session, **options)
        low, high = _corners(bounds, dim) if bounds is not None else _around(array, index.radius)
        shape = _numbers_of_nodes(high - low, width)
        values = index.empty(shape)
        axes = np.concatenate([start + width * np.arange(size) for start, size in zip(low, shape, strict=True)])
        on_device = to_device(_within(axes, index.dtype), session=session)
        for first in range(0, values.size, _NODES_AT_ONCE):
            count = min(_NODES_AT_ONCE, values.size - first)
            some = grid_nodes(session, on_device, shape, first=first, count=count)
            index.visit(_signed_distance(dim), some, normals=toward, field=values, first=first)
        return Field(values, low, width)


def _corners(bounds: Numbers, dim: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The lowest and the highest corner of a grid; raises where they are none."""
    given = real_array(bounds)
    corners = np.empty(0) if given is None else given
    if corners.shape != (2, dim) or not np.isfinite(corners).all() or (corners[0] > corners[1]).any():
        raise InvalidInputError(
            f"expected two corners of {dim} finite numbers, the lowest and the highest, got {shown(bounds)}; "
            "pass [[x0, y0, ...], [x1, y1, ...]], or leave them out",
            argument="bounds",
        )
    return corners[0], corners[1]


def _around(points: DeviceArray[Any], radius: float) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The corners of the box around the points, wider by the radius; waits for them."""
    if not points.shape[0]:
        raise InvalidInputError(
            "expected corners for the grid of a cloud without points, got None; pass them", argument="bounds"
        )
    low, high = bounds_of(points)
    return low - radius, high + radius


def _within(axes: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """The coordinates of nodes in the points' dtype; raises where it does not hold one."""
    with np.errstate(over="ignore"):
        rounded = axes.astype(dtype)
    if not np.isfinite(rounded).all():
        raise InvalidInputError(
            f"expected a grid whose nodes {dtype} holds, as the points are, got one from {axes.min():g} to "
            f"{axes.max():g}; pass bounds nearer to the origin, or points in float64",
            argument="bounds",
        )
    return rounded


def _numbers_of_nodes(extent: np.ndarray[Any, Any], spacing: float) -> tuple[int, ...]:
    """How many nodes along each axis reach the end of the grid; rounding adds none."""
    shape = tuple(math.ceil(min(length / spacing, _MOST_NODES) - 1e-6) + 1 for length in extent.tolist())
    if math.prod(shape) > _MOST_NODES or max(shape) > _MOST_ALONG:
        raise InvalidInputError(
            f"expected at most {_MOST_NODES:,} nodes in the grid, got {' * '.join(map(str, shape))} for "
            f"{spacing!r}; pass a wider spacing, or bounds of a part",
            argument="spacing",
        )
    return shape


@functools.cache
def _signed_distance(dim: int) -> NeighborFunction:
    """The function that finds the nearest point; as for nearest neighbors, the walk may leave out what lies beyond."""
    parts = [(f"clfrnn_toward.s{k}", f"normals[clfrnn_nearest * (size_t){dim} + {k}]") for k in range(dim)]
    longest = [
        functools.reduce(lambda a, b: f"fmax({a}, {b})", (f"fabs({x})" for x in each))
        for each in zip(*parts, strict=True)
    ]
    along = " + ".join(f"({toward} / clfrnn_far) * ({normal} / clfrnn_long)" for toward, normal in parts)
    return NeighborFunction(
        arguments="global const real *normals, global real *field, const long first",
        state="int clfrnn_nearest = -1; real_vec clfrnn_toward = 0;",
        per_neighbor=_NEAREST,
        finish=_SIGNED % (*longest, along),
    )


_NEAREST = """
if (clfrnn_nearest < 0 || d2 < reach2 || (d2 == reach2 && j < clfrnn_nearest)) {
    clfrnn_nearest = j;
    clfrnn_toward = dx;
    reach2 = d2;
}
"""

_SIGNED = """
real clfrnn_signed = NAN;
if (clfrnn_nearest >= 0) {
    // Shares of the largest coordinates: no product overflows, and none of them vanish together.
    const real clfrnn_most = %s, clfrnn_far = clfrnn_most > 0 ? clfrnn_most : 1;
    const real clfrnn_greatest = %s, clfrnn_long = clfrnn_greatest > 0 ? clfrnn_greatest : 1;
    const real clfrnn_along = %s;
    if (!isnan(clfrnn_along)) clfrnn_signed = clfrnn_along > 0 ? -frnn_sqrt(reach2) : frnn_sqrt(reach2);
}
field[first + i] = clfrnn_signed;
"""
