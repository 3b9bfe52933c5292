"""Arrays of callers: host arrays are checked and uploaded, device arrays are checked on the device."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

from ..arrays import (
    REAL_OF,
    check_finite,
    check_shape,
    host_points,
    is_device_array,
    is_scalar,
    round_radii,
)
from ..device_array import DeviceArray, read_strided
from ..errors import InvalidInputError
from ..host.objects import refuse_objects
from ..primitives.gather import pack
from ..primitives.readback import PendingBox
from ..primitives.reduce import bounding_box
from ..runtime.session import Session
from .adoption import adopt

__all__ = [
    "Taken",
    "await_queue",
    "check_context",
    "fetch",
    "lies_ready",
    "on_host",
    "own_copy",
    "release_queue",
    "take_points",
    "take_radii",
    "take_searched",
]


def check_context(session: Session, array: cla.Array, name: str) -> None:
    """Raise where `array` belongs to another OpenCL context than the session's."""
    if array.context != session.context:
        raise InvalidInputError(
            "expected an array of the session's OpenCL context, got one of another; pass "
            "session=clfrnn.Session(queue) with the array's queue, or copy the array to the host",
            argument=name,
        )


def _is_foreign(session: Session, array: cla.Array) -> bool:
    return array.queue is not None and array.queue != session.queue


def await_queue(session: Session, array: cla.Array) -> None:
    """Make the session's queue wait for the work of other queues on `array`."""
    if _is_foreign(session, array):
        array.queue.flush()  # work that is not submitted would never end
    # An in-order queue need not wait for itself. An event that a user has made belongs to no queue.
    if events := [event for event in array.events if event.command_queue != session.queue]:
        for queue in {event.command_queue for event in events} - {None}:
            queue.flush()
        cl.enqueue_barrier(session.queue, wait_for=events)


def release_queue(session: Session, array: cla.Array) -> None:
    """Make the queue of `array` wait for the work of the session's queue on it."""
    if _is_foreign(session, array):
        cl.enqueue_barrier(array.queue, wait_for=[cl.enqueue_marker(session.queue)])
        session.queue.flush()


def lies_ready(session: Session, value: Any, dtype: np.dtype[Any]) -> bool:
    """Whether kernels can read `value` as it is: a quick test, as most loops pass such arrays in each step.

    :func:`take_points` would return the same array; for other values it finds out what they need.
    """
    return (
        type(value) in (DeviceArray, cla.Array)
        and value.queue is session.queue
        and value.dtype is dtype
        and not value.offset
        and bool(value.flags.c_contiguous)
        and (not value.events or all(event.command_queue == session.queue for event in value.events))
    )


def own_copy(session: Session, array: cla.Array) -> cla.Array:
    """Return `array`, or a copy, that is contiguous and safe to read on the session's queue.

    An array of another queue is copied after that queue's earlier work on it, and before its later work.
    """
    foreign = _is_foreign(session, array)
    if foreign or array.events:
        await_queue(session, array)
    if array.flags.c_contiguous:
        if not foreign and array.offset == 0:
            return array
        copy = session.allocate(array.shape, array.dtype, purpose="a copy of an array")
        session.copy(array, copy)
    else:
        copy = pack(session, array if array.ndim == 2 else _column(array)).reshape(array.shape)
    release_queue(session, array)
    return copy


def _column(array: cla.Array) -> cla.Array:
    """A one-dimensional array as a matrix of one column, with its strides."""
    strides = (array.strides[0], array.dtype.itemsize)
    return cla.Array(
        array.queue, (array.size, 1), array.dtype, data=array.base_data, offset=array.offset, strides=strides
    )


def fetch(session: Session, array: cla.Array) -> np.ndarray[Any, Any]:
    """A device array in host memory, whatever its strides.

    It is read on the session's own queue, whose lock is held: two sessions that read arrays of each other would wait
    for each other for ever otherwise.
    """
    if array.queue is not None and array.queue != session.queue:
        cl.enqueue_marker(session.queue, wait_for=[cl.enqueue_marker(array.queue)])
        array.queue.flush()
    return array.get(queue=session.queue) if array.flags.forc else read_strided(session.queue, array)


def on_host(session: Session, radius: Any) -> tuple[Any, bool]:
    """The radius or the radii of queries in host memory, and whether each query has one of its own."""
    if isinstance(radius, float):  # as most are
        return radius, False
    radius = adopt(session, radius, "radius")
    if is_device_array(radius):
        check_context(session, radius, "radius")
        radius = fetch(session, radius)
    return radius, not is_scalar(radius)


class Taken(NamedTuple):
    """Rows of a caller on the device."""

    array: cla.Array
    #: the pending check of rows that came from the device, else None
    bounds: PendingBox | None
    #: rows that came from the host and are finite, else None
    host: np.ndarray[Any, Any] | None
    #: the largest coordinate of these, without its sign; 0 where it is not known
    largest: float = 0.0


def take_points(
    session: Session,
    value: Any,
    name: str,
    *,
    real: np.dtype[Any] | None = None,
    exact: bool = False,
    bounded: bool = True,
) -> Taken:
    """Return `value` as a contiguous device array of rows.

    Rows from the device are checked there, and rows from the host were checked to be finite. With `real`, rows get that
    dtype: float32 is widened to float64, and float64 is not narrowed; `exact` requires that dtype. Without
    `bounded`, no bounding box is found, and the caller checks rows from the device.
    """
    value = adopt(session, value, name)
    if not isinstance(value, cla.Array):
        host = host_points(value, name, real=real, fp64=session.profile.fp64)
        host = host.astype(_wanted(session, host.dtype, real, name, exact=exact), copy=False)
        largest = check_finite(host, name)
        return Taken(session.upload(host, purpose=f"the {name}"), None, host, largest)
    check_context(session, value, name)
    check_shape(value, name)
    if value.dtype not in REAL_OF:
        return take_points(session, fetch(session, value), name, real=real, exact=exact)
    wanted = _wanted(session, value.dtype, real, name, exact=exact)
    if wanted != value.dtype:
        host = fetch(session, value).astype(wanted)
        largest = check_finite(host, name)
        return Taken(session.upload(host, purpose=f"the {name}"), None, host, largest)
    array = own_copy(session, value)
    return Taken(array, bounding_box(session, array) if bounded else None, None)


def take_searched(session: Session, points: Any, queries: Any) -> Taken:
    """The points of a search on the device, in the type in which they and the queries are computed."""
    return take_points(session, points, "points", real=_common_real(session, points, queries))


def _common_real(session: Session, points: Any, queries: Any) -> np.dtype[Any] | None:
    """float64 where arrays of points are narrower than arrays of queries, to be searched in it; else None.

    Lists of queries take the points' dtype.
    """
    if queries is None or queries is points or isinstance(queries, (list, tuple)) or isinstance(points, (list, tuple)):
        return None
    refuse_objects(points, "points")
    refuse_objects(queries, "queries")
    try:
        given = [each.dtype if is_device_array(each) else np.asarray(each).dtype for each in (points, queries)]
    except (ValueError, TypeError, RuntimeError):
        return None  # refused where they are taken
    if given[0] != np.float32 or given[1].kind not in "fiu" or np.result_type(*given) != np.float64:
        return None
    if given[1].kind != "f" and not session.profile.fp64:
        return None
    return _wanted(session, np.dtype(np.float64), None, "queries", exact=False)


def _wanted(
    session: Session, dtype: np.dtype[Any], real: np.dtype[Any] | None, name: str, *, exact: bool
) -> np.dtype[Any]:
    """The dtype in which rows of `dtype` are searched."""
    if real is not None and exact and dtype != real:
        raise InvalidInputError(
            f"expected {real}, as the points before, got {dtype}; convert with astype(numpy.{real})", argument=name
        )
    if real is not None and dtype.itemsize > real.itemsize:
        raise InvalidInputError(
            f"expected {real}, as the points are, got {dtype}, which would lose digits; "
            f"convert {name} with astype(numpy.float32), or the points with astype(numpy.float64)",
            argument=name,
        )
    wanted = dtype if real is None else real
    if wanted == np.float64 and not session.profile.fp64:
        raise InvalidInputError(
            f"float64 was given, but {session.profile} has no fp64; convert with astype(numpy.float32) "
            "(--float32 on the command line), or choose another device (clfrnn devices lists them)",
            argument=name,
        )
    return wanted


def take_radii(session: Session, radius: cla.Array, m: int, dtype: np.dtype[Any]) -> cla.Array:
    """A device array of one radius per query as a contiguous array of `dtype`; its values are not checked."""
    check_context(session, radius, "radius")
    if radius.shape != (m,):
        raise InvalidInputError(
            f"expected a number or shape ({m},), got shape {radius.shape}; pass one for all, or one for each query",
            argument="radius",
        )
    if radius.dtype != dtype:
        return session.upload(round_radii(fetch(session, radius), m, dtype), purpose="the radii")
    return own_copy(session, radius)
