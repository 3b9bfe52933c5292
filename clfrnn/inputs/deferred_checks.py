"""DeferredChecks: arrays that an index took from the device without waiting, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..arrays import REAL_OF, check_radii, raise_non_finite
from ..errors import InvalidInputError
from ..period import PeriodicBox, far_coordinate
from ..primitives.readback import Box, PendingBox, Readback
from ..runtime.session import Session

__all__ = ["Check", "DeferredChecks", "check_largest", "check_near"]

#: Errors that are remembered until a call raises them.
_MOST_FOUND = 16


class Check(NamedTuple):
    """An array that is checked by its bounding box: its name in messages, and the box, which may still be pending."""

    name: str
    pending: PendingBox


class DeferredChecks:
    """The checks of one index that are still running on the device, and the bounding box of its points.

    A caller who never waits has the boxes come to the host eight at a time: see
    :class:`~clfrnn.primitives.readback.Readback`, which also says why a program plans the same cells in every run.

    Parameters
    ----------
    points : the box of the points that the index is built over, where it was read and found good
    """

    def __init__(
        self,
        session: Session,
        *,
        n: int,
        dtype: np.dtype[Any],
        dim: int,
        radius: float,
        box: PeriodicBox | None,
        points: PendingBox | None = None,
    ) -> None:
        self._dtype, self._radius, self._periodic = dtype, radius, box
        self.readback = Readback(session, items=n, dim=dim, dtype=dtype) if points is None else points.readback
        #: the box of the points that the index holds, or None where none was looked for
        self._points = points
        #: whether that box was judged, and something is wrong with it
        self._points_are_bad = False
        self._known = None if points is None else points.box
        #: checks that are not judged, in the order of calls
        self._running: list[Check] = []
        #: what the others found, until a call raises it
        self._found: list[InvalidInputError] = []

    def slot(self) -> PendingBox:
        """For the box of points or queries that a kernel is to find."""
        return PendingBox(self.readback, self.readback.dim)

    def slot_of_radii(self) -> PendingBox:
        """The same for an array of radii."""
        return PendingBox(self.readback, 1)

    def new_points(self, pending: PendingBox) -> None:
        """The index has taken new points from the device."""
        self._points, self._points_are_bad = pending, False
        self.add(Check("points", pending))

    def good_points(self, bounds: PendingBox) -> None:
        """The index has taken new points whose box was read and found good."""
        self._points, self._points_are_bad, self._known = bounds, False, bounds.box

    def points_change(self) -> tuple[PendingBox | None, bool]:
        """The index is about to take new points: nothing is known of their box until it says which.

        Returns what was known, for :meth:`points_stay`.
        """
        known = self._points, self._points_are_bad
        self._points, self._points_are_bad = None, False
        return known

    def points_stay(self, known: tuple[PendingBox | None, bool]) -> None:
        """The index still holds the points that it had."""
        self._points, self._points_are_bad = known

    def add(self, check: Check) -> None:
        """The index has taken points, queries or radii from the device: their box is judged when it comes."""
        self._running.append(check)
        self._judge_those_read()

    def box_of_points(self) -> Box | None:
        """The box of the points that the index holds, where it has come to the host."""
        return None if self._points is None else self._points.box

    def newest_box(self) -> Box | None:
        """The newest box of points that has come to the host, of those that the index holds or held before."""
        return self._known

    def of_points(self) -> list[Check]:
        """The check of the points that the index holds, while it is running."""
        return [check for check in self._running if check.pending is self._points]

    def settle(self) -> None:
        """Wait for all checks, and raise what they found, the earliest first.

        What was raised is forgotten, except that bad points raise again until others take their place.
        """
        if self._running:
            for check in self._running:
                check.pending.read()
            self._judge_those_read()
        if self._found:
            raise self._found.pop(0)
        if self._points_are_bad and (error := self.bad_points()) is not None:
            raise error

    def judge(self, checks: Sequence[Check]) -> None:
        """Wait for these checks, and raise what the first of them finds."""
        for check in checks:
            if (error := self._judge(check.name, check.pending.read())) is not None:
                raise error

    def bad_points(self) -> InvalidInputError | None:
        """What is wrong with the points that the index holds, as far as it is known."""
        box = self.box_of_points() if self._points_are_bad else None
        return None if box is None else self._judge("points", box)

    def _judge_those_read(self) -> None:
        """Judge the checks whose boxes have come to the host, which do so in order."""
        while self._running and (box := self._running[0].pending.box) is not None:
            name, pending = self._running[0]
            error = self._judge(name, box)
            if pending is self._points:
                self._points_are_bad = error is not None
            # A box of points that were replaced is no news where that of the newer ones is known.
            if name == "points" and (pending is self._points or self.box_of_points() is None):
                self._known = box
            if error is not None and len(self._found) < _MOST_FOUND:
                self._found.append(error)
            del self._running[0]

    def _judge(self, name: str, box: Box) -> InvalidInputError | None:
        """What is wrong with an array of that box."""
        try:
            if box.first_bad is not None:
                raise_non_finite(name, box.first_bad)
            self.check_near(name, box)
            if name == "radius":
                check_radii(np.asarray(box.low, self._dtype), name, row=False)
                check_largest(box.high[0], self._radius)
        except InvalidInputError as error:
            return error
        return None

    def check_near(self, name: str, box: Box) -> None:
        """Raise when points or queries lie too far outside the periodic box, if there is one."""
        if self._periodic is not None and name != "radius":
            check_near(name, self._periodic, box.low, box.high, REAL_OF[self._dtype])


def check_near(name: str, periodic: PeriodicBox, low: tuple[float, ...], high: tuple[float, ...], real: str) -> None:
    """Raise when what lies between `low` and `high` is so far out that images of a box cannot be told apart."""
    far = far_coordinate(periodic, low, high, real)
    if far is None:
        return
    axis, coordinate = far
    length = periodic.lengths[axis]
    raise InvalidInputError(
        f"{name}: expected coordinates of at most some hundred thousand box lengths, got {coordinate!r} on axis "
        f"{axis}, of length {length!r}: so far out, rounding does not tell images apart; move points by whole lengths "
        "towards the origin"
    )


def check_largest(radius: float, built: float) -> None:
    """Raise when a query asks for more than its index was built for."""
    if radius > built:
        raise InvalidInputError(
            f"radius: expected at most {built!r}, which the index was built for, got {radius!r}; "
            "build the index with the largest radius that is needed"
        )
