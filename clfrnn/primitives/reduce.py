"""Reduce: the bounding box with the first non-finite row, and the occupancy sample."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pyopencl.array as cla

from ..arrays import REAL_OF
from ..domain import padded_radius
from ..plan import plan_reduce
from ..session import INT, Scratch, Session
from ..survey import Survey, occupancy_bits, occupancy_share, others_per_cell
from .fill import fill
from .shares import share_out

__all__ = ["Box", "PendingBox", "bounding_box", "pending_box", "survey_points"]

_ALL_FINITE = np.iinfo(np.int32).max
_ULONG = np.dtype(np.uint64)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Box:
    """The box of an array's finite rows, and its first row that is not finite, or None."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    first_bad: int | None


class PendingBox:
    """A bounding box that the device is still working on; ``corners``, where it will lie: low, high, first bad row."""

    def __init__(self, session: Session, corners: Scratch) -> None:
        self.corners = corners
        self._session = session
        self._box: Box | None = None

    @property
    def was_read(self) -> bool:
        """Whether the box has come to the host."""
        return self._box is not None

    def read(self) -> Box:
        """Wait for the box, once. Without a finite row it is the origin."""
        if self._box is None:
            self.receive(self._session.read(self.corners))
        assert self._box is not None
        return self._box

    def receive(self, numbers: np.ndarray[Any, Any]) -> None:
        """Take in what somebody has read from ``corners``."""
        row = int(numbers[-1:].view(np.int32 if numbers.dtype == np.float32 else np.int64)[0])
        corners = np.where(np.isfinite(numbers[:-1]), numbers[:-1], 0)
        low, high = corners.reshape(2, -1).tolist()
        self._box = Box(low=tuple(low), high=tuple(high), first_bad=None if row == _ALL_FINITE else row)


def pending_box(session: Session, dim: int, dtype: np.dtype[Any]) -> PendingBox:
    """Room for a box that a kernel is yet to find."""
    return PendingBox(session, session.scratch(2 * dim + 1, dtype, purpose="the bounding box"))


def bounding_box(session: Session, points: cla.Array) -> PendingBox:
    """Enqueue the reduction of `points`, (n, dim) and contiguous, to its box. Two launches, one pass."""
    n, dim = points.shape
    kernels, config = session.planned("reduce", plan_reduce, dim=dim, real=REAL_OF[points.dtype])
    size = config.work_group_size
    groups, span = share_out(session.profile, n, 4 * size)
    shares = session.scratch(groups * (2 * dim + 1), points.dtype, purpose="the bounding boxes of shares")
    box = pending_box(session, dim, points.dtype)
    session.launch(
        kernels["bounding_box"],
        groups * size,
        size,
        np.int32(n),
        np.int32(span),
        points.base_data,
        shares.base_data,
    )
    session.launch(kernels["whole_box"], size, size, np.int32(groups), shares.base_data, box.corners.base_data)
    return box


def survey_points(session: Session, points: cla.Array, radius: float, pending: PendingBox) -> tuple[Survey, int | None]:
    """Box, crowding and first non-finite row of `points`, waited for. A pass besides that of `pending`, their box.

    Up to 1 MiB of counters.
    """
    n = points.shape[0]
    others = _others(session, points, radius)
    box = pending.read()
    return Survey(n=n, low=box.low, high=box.high, others=others), box.first_bad


def _others(session: Session, points: cla.Array, radius: float) -> float:
    """The occupancy sample: mean number of other points in a point's cell of side `radius`."""
    n, dim = points.shape
    real = REAL_OF[points.dtype]
    kernels, config = session.planned("reduce", plan_reduce, dim=dim, real=real)
    size = config.work_group_size
    groups, span = share_out(session.profile, n, 4 * size)
    bits = occupancy_bits(n)
    counters = session.scratch(1 << bits, INT, purpose="the occupancy sample")
    sums = session.scratch(2, _ULONG, purpose="the occupancy sums")
    fill(session, counters)
    session.launch(
        kernels["sample_occupancy"],
        groups * size,
        size,
        np.int32(n),
        np.int32(span),
        points.base_data,
        points.dtype.type(1.0 / padded_radius(radius, real)),
        np.uint32(occupancy_share(n) - 1),
        np.int32(32 - bits),
        counters.base_data,
    )
    session.launch(kernels["sum_occupancy"], size, size, np.int32(counters.size), counters.base_data, sums.base_data)
    sampled, squares = (int(value) for value in session.read(sums))
    return others_per_cell(n=n, points=sampled, squares=squares)
