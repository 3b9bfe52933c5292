"""Outliers: points of a cloud that stand alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..api import build_index, check_keywords
from ..arrays import REAL_OF
from ..device_array import DeviceArray
from ..functions import NeighborFunction
from ..inputs.argument_types import MethodName, MethodOptions
from ..inputs.sessions import choose_session
from ..k_nearest import nearest
from ..planning.primitives import plan_gather
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


def radius_outliers(
    points: Any,
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
    (n,) bool array on the device, True for points that stay; not waited for

    Raises
    ------
    InvalidInputError
        An argument cannot be searched; the message says which one, and what to do.

    Notes
    -----
    Cost: that of building an index, and one visit that ends where enough neighbors are found.

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
    points: Any,
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
    ratio : scalar; a larger one lets more points stay
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
    The result is the same on every device. Cost: that of :func:`clfrnn.nearest` without a radius, a read of its
    distances, and a copy of n numbers to the host, where m and s are computed in float64.

    Source: Rusu, Marton, Blodow, Dolha and Beetz (2008), section 4.1.

    Examples
    --------
    >>> from clfrnn.geometry import statistical_outliers
    >>> statistical_outliers([[0.0], [1.0], [2.0], [3.0], [4.0], [50.0]], 2, 1.0).get().tolist()
    [True, True, True, True, True, False]
    """
    check_keywords(statistical_outliers, method, options)
    bound = finite("ratio", ratio)
    session = choose_session(session, points)
    with session.lock:
        distances = nearest(points, k, method=method, session=session, **options).distances
        n, taken = distances.shape
        means = session.allocate(n, distances.dtype, purpose="the mean distances")
        facts = {"dim": 1, "real": REAL_OF[distances.dtype]}
        kernels, config = session.planned("geometry/row_means", plan_gather, **facts)
        given = n, taken, distances.base_data, means.base_data
        session.launch(kernels["row_means"], n, config.work_group_size, *given)
        host = means.get().astype(np.float64)
        limit = host.mean() + bound * host.std(ddof=1) if n > 1 else np.inf
        stays = session.upload(host <= limit, purpose="which points stay")
        session.publish(None, stays)
        return stays
