"""Arrays on their way to the device: host arrays are checked and copied, device arrays are checked where they lie."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

from ..arrays import REAL_OF, check_finite, check_shape, host_points, is_device_array, round_radii
from ..errors import InvalidInputError
from ..primitives.gather import pack
from ..primitives.reduce import PendingBox, bounding_box
from ..session import Session

__all__ = ["check_context", "take_points", "take_radii", "wait_for"]


def check_context(session: Session, array: cla.Array, name: str) -> None:
    """Raise when `array` lives in another OpenCL context than the session's."""
    if array.context != session.context:
        raise InvalidInputError(
            f"{name}: expected an array of the session's OpenCL context, got one of another; pass "
            "session=clfrnn.Session(queue) with the array's queue, or copy the array to the host"
        )


def wait_for(session: Session, array: cla.Array) -> None:
    """Make the session's queue wait for what other queues still do to `array`."""
    if array.queue is not session.queue and array.events:
        if array.queue is not None:
            array.queue.flush()  # commands that were never submitted would be waited for without end
        cl.enqueue_barrier(session.queue, wait_for=list(array.events))


def take_points(
    session: Session, value: Any, name: str, *, real: np.dtype[Any] | None = None, exact: bool = False
) -> tuple[cla.Array, PendingBox | None]:
    """`value` as a contiguous device array of rows, and for device arrays the check that is still running.

    With `real` the rows take that dtype: float32 is widened to float64, float64 is not narrowed; `exact` wants the very
    dtype. Host arrays have been checked to be finite.
    """
    if not is_device_array(value):
        host = host_points(value, name)
        host = host.astype(_wanted(session, host.dtype, real, name, exact=exact), copy=False)
        check_finite(host, name)
        return session.upload(host, purpose=f"the {name}"), None
    check_context(session, value, name)
    check_shape(value, name)
    wait_for(session, value)
    wanted = value.dtype if value.dtype in REAL_OF else host_points(value.get(), name).dtype
    wanted = _wanted(session, wanted, real, name, exact=exact)
    if wanted != value.dtype:
        host = host_points(value.get(), name).astype(wanted, copy=False)
        check_finite(host, name)
        return session.upload(host, purpose=f"the {name}"), None
    array = value if value.flags.c_contiguous and value.offset == 0 else pack(session, value)
    return array, bounding_box(session, array)


def _wanted(
    session: Session, dtype: np.dtype[Any], real: np.dtype[Any] | None, name: str, *, exact: bool
) -> np.dtype[Any]:
    """The dtype that rows of `dtype` are searched in."""
    if real is not None and exact and dtype != real:
        raise InvalidInputError(f"{name}: expected {real}, the dtype of the index, got {dtype}; convert with astype")
    if real is not None and dtype.itemsize > real.itemsize:
        raise InvalidInputError(
            f"{name}: expected {real}, as the points are, got {dtype}, which would lose digits; "
            f"convert {name} with astype(numpy.float32), or the points with astype(numpy.float64)"
        )
    wanted = dtype if real is None else real
    if wanted == np.float64 and not session.profile.fp64:
        raise InvalidInputError(
            f"{name}: float64 was given, but {session.profile} has no fp64; convert with astype(numpy.float32), "
            "or choose another device (clfrnn devices lists them)"
        )
    return wanted


def take_radii(session: Session, radius: cla.Array, m: int, dtype: np.dtype[Any]) -> cla.Array:
    """A device array of one radius per query as a contiguous one in `dtype`; its values are not looked at."""
    check_context(session, radius, "radius")
    if radius.shape != (m,):
        raise InvalidInputError(f"radius: expected a number or shape ({m},), got shape {radius.shape}")
    if radius.dtype != dtype:
        return session.upload(round_radii(radius.get(), m, dtype), purpose="the radii")
    wait_for(session, radius)
    if radius.flags.c_contiguous and radius.offset == 0:
        return radius
    column = cla.Array(
        session.queue,
        (m, 1),
        radius.dtype,
        data=radius.base_data,
        offset=radius.offset,
        strides=(radius.strides[0], radius.dtype.itemsize),
    )
    return pack(session, column).reshape(m)
