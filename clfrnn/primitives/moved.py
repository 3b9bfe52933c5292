"""Moved: whether any point has moved farther than it may, and how often each was shifted to another image."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import pyopencl.array as cla

from ..arrays import REAL_OF
from ..config import INT
from ..runtime.session import Session
from .config import plan_moved

__all__ = ["Moved", "Period", "find_moved"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Period:
    """What tells the nearest image of a pair of points in a domain of that `kind`."""

    kind: str
    #: the numbers of the domain, see ``domain/nearest_image.mako``; None in open space
    numbers: cla.Array | None
    #: the system of each point, (n,) int32, where there are many
    systems: cla.Array | None

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The same as arguments of kernels."""
        return tuple(each.base_data for each in (self.numbers, self.systems) if each is not None)


class Moved(NamedTuple):
    """A copy of points, and how they have moved."""

    points: cla.Array
    #: (n, dim) int32, how often each point was shifted along each axis or lattice vector; None unless asked for
    wraps: cla.Array | None
    #: whether a point has moved too far, or is not finite
    too_far: bool


def find_moved(
    session: Session, before: cla.Array, points: cla.Array, period: Period, *, most: float, share: float, wraps: bool
) -> Moved:
    """Compare `points` with the positions that they had `before`, both (n, dim); waits for one number.

    A point may be `most` away from its nearest image then, less `share` of the sum of its coordinates then and now.
    One launch, which also copies the points.
    """
    n, dim = points.shape
    real, kind = points.dtype.type, period.kind
    copy = session.allocate(points.shape, points.dtype, purpose="the positions of points")
    shifted = session.allocate(points.shape, INT, purpose="the shifts of points") if wraps else None
    flag, serial = session.scratch(1, INT, purpose="whether points have moved"), session.draw_serial()
    facts = {"dim": dim, "real": REAL_OF[points.dtype], "periodic": kind, "wraps": wraps}
    kernels, config = session.planned("primitives/moved", plan_moved, **facts)
    session.launch(
        kernels["find_moved"],
        n,
        config.work_group_size,
        np.int32(n),
        before.base_data,
        points.base_data,
        real(most),
        real(share),
        np.int32(serial),
        copy.base_data,
        flag.base_data,
        *period.arguments,
        *(() if shifted is None else (shifted.base_data,)),
    )
    return Moved(copy, shifted, bool(n) and int(session.read(flag)[0]) == serial)
