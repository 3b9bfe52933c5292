"""Arrays on the device for applications: points as searches take them, other arrays, and the bounds of points."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import REAL_OF, is_device_array, raise_non_finite
from ..device_array import DeviceArray
from ..errors import InvalidInputError
from ..host.numbers import is_masked, shown
from ..primitives.reduce import bounding_box
from ..runtime.session import Session
from .adoption import adopt
from .argument_types import Rows
from .sessions import choose_session
from .transfer import check_context, fetch, own_copy, take_points

__all__ = ["as_points", "bounds", "to_device"]


def as_points(
    points: Rows, *, dtype: npt.DTypeLike | None = None, name: str = "points", session: Session | None = None
) -> DeviceArray[np.floating[Any]]:
    """Return points as searches take them, checked, in an array on the device.

    Parameters
    ----------
    points : (n, dim), as for :func:`clfrnn.search`
    dtype : float32 or float64, to have points in; wider points are refused; by default that in which they are searched
    name : what errors call them
    session : a :class:`Session`; by default that of `points` on a device, else :func:`default_session`

    Returns
    -------
    (n, dim) contiguous array of float32 or float64 on the device; it shares the memory of `points` where these are
    such an array

    Raises
    ------
    InvalidInputError
        The points cannot be searched, or a number is NaN or infinite; the message says which row.

    Notes
    -----
    Cost: a copy to the device. Points that are on the device are read once, and the host waits for that.

    Examples
    --------
    >>> import clfrnn
    >>> points = clfrnn.as_points([[0, 0], [3, 4]])
    >>> points.dtype.name, points.shape
    ('float64', (2, 2))
    """
    session = choose_session(session, points)
    try:
        real = None if dtype is None else np.dtype(dtype)
    except TypeError:
        real = np.dtype(object)
    if real is not None and real not in REAL_OF:
        raise InvalidInputError(f"expected float32 or float64, got {shown(dtype)}; leave it out", argument="dtype")
    with session.lock:
        taken = take_points(session, points, name, real=real)
        if taken.bounds is not None and (row := taken.bounds.read().first_bad) is not None:
            raise_non_finite(name, row)
        return session.as_device_array(taken.array)


def bounds(
    points: Rows, *, name: str = "points", session: Session | None = None
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the lowest and the highest coordinate of points along each axis.

    Parameters
    ----------
    points, name, session : as for :func:`as_points`; at least one point

    Returns
    -------
    two (dim,) arrays of float64 on the host

    Raises
    ------
    InvalidInputError
        There are no points, or they cannot be searched.

    Notes
    -----
    Cost: one read of the points, and a wait.

    Examples
    --------
    >>> import clfrnn
    >>> low, high = clfrnn.bounds([[0.0, 5.0], [3.0, 4.0]])
    >>> low.tolist(), high.tolist()
    ([0.0, 4.0], [3.0, 5.0])
    """
    session = choose_session(session, points)
    with session.lock:
        taken = take_points(session, points, name)
        if not taken.array.shape[0]:
            raise InvalidInputError("expected at least one point, got none; pass points", argument=name)
        found = (taken.bounds or bounding_box(session, taken.array)).read()
        if found.first_bad is not None:
            raise_non_finite(name, found.first_bad)
        return np.array(found.low, np.float64), np.array(found.high, np.float64)


def to_device(values: Any, *, name: str = "values", session: Session | None = None) -> DeviceArray[Any]:
    """Return an array on the device with the elements of another one.

    Parameters
    ----------
    values : an array of any shape, on the host or the device, or what numpy makes one of
    name : what errors call it
    session : a :class:`Session`; by default that of `values` on a device, else :func:`default_session`

    Returns
    -------
    contiguous array on the device, of the same shape and dtype, for which the call does not wait; it shares the memory
    of `values` where these are such an array

    Raises
    ------
    InvalidInputError
        The array is of another OpenCL context, or not one of numbers.
    DeviceMemoryError
        There is no memory for it.

    Notes
    -----
    Cost: a copy; views on the device with steps are copied by the host, but for rows of float32 or float64.

    Examples
    --------
    >>> import clfrnn
    >>> int(clfrnn.to_device([1, 2, 3]).sum())
    6
    """
    session = choose_session(session, values)
    with session.lock:
        values = adopt(session, values, name)
        if is_device_array(values):
            check_context(session, values, name)
            if values.flags.c_contiguous or (values.ndim == 2 and values.dtype in REAL_OF):
                own = own_copy(session, values)
                if own is not values:
                    session.publish(None, own)
                return session.as_device_array(own)
            values = fetch(session, values)
        array = session.upload(_numbers(values, name), purpose=f"the {name}")
        session.publish(None, array)
        return array


def _numbers(values: Any, name: str) -> npt.NDArray[Any]:
    """An array of numbers in host memory, contiguous; raises for what is none."""
    try:
        found = None if is_masked(values) else np.asarray(values, order="C")
    except (ValueError, TypeError):  # rows of several lengths
        found = None
    if found is None or found.dtype.kind not in "biufcV" or found.dtype.hasobject:
        raise InvalidInputError(
            f"expected an array of numbers without a mask, got {shown(values)}; convert it", argument=name
        )
    return found
