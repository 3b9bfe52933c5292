"""Points on a line as points in the plane, for which there are grids."""

from __future__ import annotations

import pyopencl as cl
import pyopencl.array as cla

from ..primitives.fill import clear
from ..runtime.session import Session

__all__ = ["in_plane"]


def in_plane(session: Session, line: cla.Array) -> cla.Array:
    """The points of an array, (n, 1), with a second coordinate that is 0, (n, 2); not waited for.

    Squared distances are the same to the last bit, as a square of 0 is added.
    """
    plane = session.allocate((line.shape[0], 2), line.dtype, purpose="points on a line in the plane")
    clear(session, plane)
    size = line.dtype.itemsize
    cl.enqueue_copy(
        session.queue,
        plane.base_data,
        line.base_data,
        src_origin=(line.offset, 0, 0),
        dst_origin=(0, 0, 0),
        region=(size, line.shape[0], 1),
        src_pitches=(size,),
        dst_pitches=(2 * size,),
    )
    return plane
