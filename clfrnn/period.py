"""PeriodicBox: a domain with images."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

__all__ = ["SLACK", "PeriodicBox", "at_home", "far_coordinate"]

#: Up to so many lengths outside a periodic box, coordinates tell the images apart by more than rounding.
_FARTHEST = {"float": 2.0**20, "double": 2.0**30}

_EPSILON = {"float": 2.0**-23, "double": 2.0**-52}

#: The share of a length by which a point may lie outside a periodic box and still count as at home on the device. The
#: host allows half of it: what it calls at home the device does too, whatever is rounded.
SLACK = 2.0**-16


@dataclasses.dataclass(frozen=True, kw_only=True)
class PeriodicBox:
    """The length of each periodic axis, 0 for the others, and where the caller said that the box begins, if at all.

    Where it begins never changes a result, only which points lie in the box as they are.
    """

    lengths: tuple[float, ...]
    low: tuple[float, ...] | None

    def starts(self, low: tuple[float, ...], high: tuple[float, ...]) -> tuple[float, ...]:
        """Where a period best begins on each axis for points between `low` and `high`: so that all are at home."""
        return tuple(
            self._start(axis, a, b) if length else 0.0
            for axis, (length, a, b) in enumerate(zip(self.lengths, low, high, strict=True))
        )

    def _start(self, axis: int, low: float, high: float) -> float:
        length = self.lengths[axis]
        usual = (0.0, -0.5 * length) if self.low is None else (self.low[axis],)
        return next((start for start in usual if at_home(start, length, low, high)), low)

    def repeats(self, radius: float) -> bool:
        """Whether a query may see two images of one point within `radius`, with room for the coarsest rounding."""
        return any(length and 2.0 * radius >= 0.7 * length for length in self.lengths)

    def images(self, radius: float) -> float:
        """About so many images of the box does a query look into."""
        return math.prod(2.0 * radius / length + 1.0 for length in self.lengths if length)

    def most_images(self, radius: float) -> float:
        """No query looks into more images of the box than that, whatever is rounded."""
        return math.prod(2.0 * radius / length + 3.0 for length in self.lengths if length)

    def pads(self, starts: tuple[float, ...], real: str) -> tuple[float, ...]:
        """By how much a window is wider than its radius, for queries and points at home in a box from `starts` on.

        The sum of what rounding may do to coordinates, images and differences, and of how far outside a point at home
        may lie; the kernel of ``primitives/periodic_images.cl.mako`` measures it for points that are not at home.
        """
        return tuple(
            (8 * _EPSILON[real] * (3 * abs(start) + 3 * length * (1 + 2 * SLACK)) + length * SLACK) * (1 + SLACK)
            if length
            else 0.0
            for start, length in zip(starts, self.lengths, strict=True)
        )

    def exceeds_windows(self, reaches: Sequence[float]) -> bool:
        """Whether every length is more than the window of a query at home, which then passes one edge at most.

        The last hundredth is left to rounding.
        """
        return all(2 * reach < 0.99 * length for length, reach in zip(self.lengths, reaches, strict=True) if length)

    def domain(self, low: tuple[float, ...], high: tuple[float, ...]) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """The corners of the space that points fill: one period, or their extent where an axis is not periodic."""
        starts = self.starts(low, high)
        corners = [
            (start, start + length) if length else (a, b)
            for start, length, a, b in zip(starts, self.lengths, low, high, strict=True)
        ]
        return tuple(corner[0] for corner in corners), tuple(corner[1] for corner in corners)

    def holds(self, low: tuple[float, ...], high: tuple[float, ...], starts: tuple[float, ...] | None = None) -> bool:
        """Whether points between `low` and `high` all lie in one image of the box, beginning at `starts` or at best."""
        starts = self.starts(low, high) if starts is None else starts
        return all(
            at_home(start, length, a, b)
            for start, length, a, b in zip(starts, self.lengths, low, high, strict=True)
            if length
        )


def at_home(start: float, length: float, low: float, high: float) -> bool:
    """Whether points between `low` and `high` on an axis lie in a period of it as they are."""
    slack = SLACK / 2 * length
    return start - slack <= low and high <= start + length + slack


def far_coordinate(
    box: PeriodicBox, low: tuple[float, ...], high: tuple[float, ...], real: str
) -> tuple[int, float] | None:
    """The axis and the coordinate of what lies so far outside a periodic box that its images cannot be told apart."""
    for axis, (length, a, b) in enumerate(zip(box.lengths, low, high, strict=True)):
        most = (_FARTHEST[real] / 2) * length
        if length and (a < -most or b > most):
            return axis, max(a, b, key=abs)
    return None
