"""Outliers: points of a cloud that stand alone."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..api import build_index
from ..device_array import DeviceArray
from ..errors import InvalidInputError
from ..functions import NeighborFunction
from ..inputs.sessions import choose_session
from ..runtime.session import Session

__all__ = ["radius_outliers"]

_STAY = NeighborFunction(
    arguments="const int least, global uchar *stays",
    state="int many = 0; if (least <= 0) reach2 = -1;",
    per_neighbor="if (++many >= least) reach2 = -1;",  # the rest need not be found
    finish="stays[i] = many >= least;",
)
_MOST = np.iinfo(np.int32).max


def radius_outliers(points: Any, radius: float, min_neighbors: int, *, session: Session | None = None) -> DeviceArray:
    """Tell which points of a cloud have enough neighbors to stay.

    Parameters
    ----------
    points : (n, dim) float32 or float64, finite; on the host or the device
    radius : scalar, in the points' unit
    min_neighbors : a point stays where at least as many others are within `radius`
    session : as for :func:`clfrnn.search`

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
    try:
        least = min(operator.index(min_neighbors), _MOST)
    except TypeError:
        least = -1
    if least < 0 or isinstance(min_neighbors, bool):
        raise InvalidInputError(
            f"min_neighbors: expected a whole number of at least 0, got {min_neighbors!r:.60}; pass the number of "
            "others within the radius by which a point stays"
        )
    session = choose_session(session, points)
    with session.lock:
        index = build_index(points, radius, session=session)
        stays = index.empty(index.num_points, bool)
        index.visit(_STAY, least=least, stays=stays)
        return stays
