"""Outliers: points of a cloud that stand alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..answers.nearest.distances import check_k, mean_of_rows, nearest_distances
from ..api import build_index
from ..device_array import DeviceArray
from ..functions import NeighborFunction
from ..methods.named import check_keywords
from ..points.argument_types import MethodName, MethodOptions, Rows
from ..points.on_device import as_points, to_device
from ..points.sessions import choose_session
from ..runtime.session import Session
from .arguments import finite, whole

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["radius_outliers", "statistical_outliers"]

_STAY = NeighborFunction(
    arguments="const int least, global uchar *stays",
    state="int many = 0; if (least <= 0) reach2 = -1;",
    per_neighbor="if (++many >= least) reach2 = -1;",  # the rest need not be found
    finish="stays[i] = many >= least;",
)
_MOST = np.iinfo(np.int32).max

_Means: TypeAlias = npt.NDArray[np.floating[Any]]

#: By how many roundings of the points' dtype equal mean distances may differ.
_ROUNDINGS = 4


def radius_outliers(
    points: Rows,
    radius: float,
    min_neighbors: int,
    *,
    method: MethodName = "auto",
    session: Session | None = None,
    **options: Unpack[MethodOptions],
) -> DeviceArray[np.bool_]:
    """Tell which points of a cloud have enough neighbors to stay.

    Parameters
    ----------
    points : (n, dim) float32 or float64, finite; on the host or the device
    radius : scalar, in the points' unit
    min_neighbors : a point stays where at least as many others are within `radius`
    method, session, **options : as for :func:`clfrnn.build_index`

    Returns
    -------
    (n,) bool array on the device, True for points that stay; the call does not wait for it

    Raises
    ------
    InvalidInputError
        An argument cannot be searched; the message says which one, and what to do.

    Notes
    -----
    A point p stays where at least `min_neighbors` other points q have ``|q - p| <= radius``; this is the radius filter
    of the Point Cloud Library and of Open3D. Cost: that of building an index, and one visit that ends where enough
    neighbors are found.

    Examples
    --------
    >>> from clfrnn.geometry import radius_outliers
    >>> radius_outliers([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [7.0, 7.0]], 1.2, 1).get().tolist()
    [True, True, True, False]
    """
    check_keywords(radius_outliers, method, options)
    others = "the number of others within the radius by which a point stays"
    least = min(whole("min_neighbors", min_neighbors, others), _MOST)
    session = choose_session(session, points)
    with session.lock:
        index = build_index(points, radius, method=method, session=session, **options)
        stays = index.empty(index.num_points, bool)
        index.visit(_STAY, least=least, stays=stays)
        return stays


def statistical_outliers(
    points: Rows,
    k: int,
    ratio: float,
    *,
    method: MethodName = "auto",
    session: Session | None = None,
    **options: Unpack[MethodOptions],
) -> DeviceArray[np.bool_]:
    """Tell which points of a cloud are about as close to their neighbors as most points are.

    Parameters
    ----------
    points : (n, dim) float32 or float64, finite; on the host or the device
    k : number of nearest neighbors that are taken of each point, at least 1
    ratio : scalar, a number of standard deviations, see below; a larger one lets more points stay
    method, session, **options : as for :func:`clfrnn.nearest`

    Returns
    -------
    (n,) bool array on the device, True for points that stay: those whose mean distance to their k nearest neighbors is
    at most ``m + ratio * s``, where m and s are the mean and the standard deviation, with n - 1, of all mean distances

    Raises
    ------
    InvalidInputError
        An argument cannot be searched; the message says which one, and what to do.

    Notes
    -----
    The result is the same on every device. Distances neither overflow nor vanish, however far or close points are.
    Points whose mean distance equals the limit up to rounding stay, so that all stay where all are equal.

    One very far point makes s so large that all other strays stay. Leave far points out by :func:`radius_outliers`
    first, with a large radius, or call it again on the points that stay, until no stray is left. Each call takes m and
    s anew: with a `ratio` of 2 it leaves out some ordinary points each time, with a larger one fewer.

    Cost: that of :func:`clfrnn.nearest` without a radius, a read of its distances, and a copy of n numbers to the host,
    where m and s are computed in float64. Where squares of distances overflow or vanish in the points' dtype, a copy of
    the points to the host and a second search come on top, for the points that need it.

    Source: Rusu, Marton, Blodow, Dolha and Beetz (2008), section 4.1.

    Examples
    --------
    >>> from clfrnn.geometry import statistical_outliers
    >>> statistical_outliers([[0.0], [1.0], [2.0], [3.0], [4.0], [50.0]], 2, 1.0).get().tolist()
    [True, True, True, True, True, False]
    """
    check_keywords(statistical_outliers, method, options)
    bound, wanted = finite("ratio", ratio), check_k(k)
    session = choose_session(session, points)
    with session.lock:
        array = as_points(points, session=session)
        taken = min(wanted, max(1, array.shape[0] - 1))  # there are no more others
        means = _mean_distances(session, array, taken, method, options)
        return to_device(_within(means, bound, array.dtype), session=session)


def _within(means: _Means, ratio: float, dtype: np.dtype[Any]) -> npt.NDArray[np.bool_]:
    """Which of these numbers are at most their mean plus `ratio` standard deviations."""
    if len(means) < 2:
        return np.ones(len(means), bool)
    # Squares of shares of the largest number neither overflow nor vanish together.
    least, most = float(means.min()), float(means.max())
    shares = means / most if most > 0 else means
    start = least / most if most > 0 else 0.0
    # Differences from the least number are 0 where all are equal, and so are their mean and deviation.
    mean = start + float((shares - start).mean())
    limit = mean + ratio * float((shares - mean).std(ddof=1))
    # Numbers that equal the limit but for the rounding of distances stay.
    return np.asarray(shares <= limit + _ROUNDINGS * float(np.finfo(dtype).eps) * abs(limit), bool)


def _mean_distances(
    session: Session, points: DeviceArray[Any], k: int, method: MethodName, options: Mapping[str, Any]
) -> _Means:
    """The mean distance of each point to its k nearest neighbors, (n,), in a unit of its own.

    Points whose squared distances overflow or vanish are searched once more, multiplied by a power of two.
    """
    given: dict[str, Any] = {"method": method, "options": options}
    found = nearest_distances(session, points, k, **given)
    means = mean_of_rows(session, found, least=min(k, points.shape[0] - 1)).get().astype(np.float64)
    short, numbers = np.isnan(means), np.finfo(points.dtype)
    exponent = 0
    if short.any():
        # Squares of the largest distances are then finite, in up to twelve dimensions.
        host = points.get()
        exponent = numbers.maxexp // 2 - 4 - int(np.frexp(np.abs(host).max())[1])
    elif len(means) > 0 and float(means.max()) ** 2 <= numbers.tiny / numbers.eps:
        host = points.get()
        extent = float((host.max(axis=0) - host.min(axis=0)).max())
        exponent, short[:] = (-int(np.frexp(extent)[1]), True) if extent > 0 else (0, False)
    if exponent:
        scaled = np.ldexp(host, exponent)
        # A query finds itself first, at the distance 0 that no other exceeds.
        again = nearest_distances(session, scaled, k + 1, queries=scaled[short], **given)
        means = np.ldexp(means, exponent)
        means[short] = mean_of_rows(session, again, least=0, first=1).get()
    return means
