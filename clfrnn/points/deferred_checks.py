"""DeferredChecks: checks of device arrays that an index does not wait for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..arrays import REAL_OF, check_radii, raise_non_finite
from ..domain.box import CELLS, PeriodicBox, find_far_coordinate
from ..errors import InvalidInputError
from ..primitives.readback import Box, PendingBox, Readback
from ..runtime.session import Session
from .rounding import warn_of_far_box

__all__ = ["Check", "DeferredChecks", "check_largest", "check_near"]

#: Largest number of errors that are held until a call raises them.
_MOST_FOUND = 16


class Check(NamedTuple):
    """The check of an array by its bounding box: the name of the array in messages, and the pending box."""

    name: str
    pending: PendingBox


class DeferredChecks:
    """The pending checks of one index, and the bounding box of its points.

    Where a caller never waits, eight boxes at a time are copied to the host: see
    :class:`~clfrnn.primitives.readback.Readback`, which also says why a program plans the same cells in every run.

    Parameters
    ----------
    points : the bounding box of the points that the index is built over, where it is known to be good
    """

    def __init__(
        self,
        session: Session,
        *,
        dtype: np.dtype[Any],
        dim: int,
        radius: float,
        space: PeriodicBox,
        points: PendingBox | None = None,
    ) -> None:
        self._dtype, self._radius = dtype, radius
        #: the space in which the current points are placed
        self.space = space
        self.readback = Readback(session, dim=dim, dtype=dtype) if points is None else points.readback
        #: the bounding box of the current points, or None where none is computed
        self._points = points
        #: whether that box was judged and is bad
        self._points_are_bad = False
        self._newest = None if points is None else points.box
        #: checks whose boxes are pending, in the order of calls
        self._running: list[Check] = []
        #: errors of other checks, until a call raises them
        self._found: list[InvalidInputError] = []

    def slot(self) -> PendingBox:
        """A receiver for the bounding box of points or queries that a kernel finds."""
        return PendingBox(self.readback, self.readback.dim, self.space)

    def slot_of_radii(self) -> PendingBox:
        """A receiver for the smallest and largest of an array of radii."""
        return PendingBox(self.readback, 1)

    def new_points(self, pending: PendingBox) -> None:
        """Note that the index has new points from the device, whose box is pending."""
        self._points, self._points_are_bad = pending, False
        self.add(Check("points", pending))

    def good_points(self, bounds: PendingBox) -> None:
        """Note that the index has new points, whose box is good."""
        self._points, self._points_are_bad, self._newest = bounds, False, bounds.box

    def points_change(self) -> tuple[PendingBox | None, bool]:
        """Note that the points are about to change, and that nothing is known of them until the update is done.

        Returns what was known, for :meth:`points_stay`.
        """
        known = self._points, self._points_are_bad
        self._points, self._points_are_bad = None, False
        return known

    def points_stay(self, known: tuple[PendingBox | None, bool]) -> None:
        """Note that the update failed, and that the index has its old points."""
        self._points, self._points_are_bad = known

    def add(self, check: Check) -> None:
        """Add a pending check, and judge the checks whose boxes have come to the host."""
        self._running.append(check)
        self._judge_those_read()

    def box_of_points(self) -> Box | None:
        """The bounding box of the current points, or None where it has not come to the host."""
        return None if self._points is None else self._points.box

    def newest_box(self) -> Box | None:
        """The newest bounding box of points that has come to the host, of the current points or of earlier ones."""
        return self._newest

    def of_points(self) -> list[Check]:
        """The check of the current points, while it is pending."""
        return [check for check in self._running if check.pending is self._points]

    def settle(self) -> None:
        """Wait for all checks, and raise the earliest error.

        An error is raised once, except that bad points raise again until the index has other points.
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
        """Wait for these checks, and raise the error of the first that fails."""
        for check in checks:
            if (error := self._judge(check)) is not None:
                raise error

    def bad_points(self) -> InvalidInputError | None:
        """The error of the current points, where they are known to be bad."""
        known = self._points if self._points_are_bad else None
        return None if known is None else self._judge(Check("points", known))

    def _judge_those_read(self) -> None:
        """Judge the checks whose boxes have come to the host, which come in order."""
        while self._running and (box := self._running[0].pending.box) is not None:
            name, pending = check = self._running[0]
            error = self._judge(check)
            if pending is self._points:
                self._points_are_bad = error is not None
            # The box of points that were replaced is of use only where that of the new points is not known, and that of
            # points which are refused is of none.
            if error is None and name == "points" and (pending is self._points or self.box_of_points() is None):
                self._newest = box
            if error is not None and len(self._found) < _MOST_FOUND:
                self._found.append(error)
            del self._running[0]
            if name == "points" and pending.space is not None and error is None:
                warn_of_far_box(pending.space, box, self._radius, self._dtype)

    def _judge(self, check: Check) -> InvalidInputError | None:
        """The error of an array, or None; waits for its box, where that has not come to the host."""
        name, space, box = check.name, check.pending.space, check.pending.read()
        try:
            if box.first_bad is not None:
                raise_non_finite(name, box.first_bad)
            if space is not None:
                check_near(name, space, box.low, box.high, REAL_OF[self._dtype])
            if name == "radius":
                check_radii(np.asarray(box.low, self._dtype), name, got=str(self._dtype.type(box.low[0])))
                check_largest(box.high[0], self._radius)
        except InvalidInputError as error:
            return error
        return None


def check_near(name: str, space: PeriodicBox, low: tuple[float, ...], high: tuple[float, ...], real: str) -> None:
    """Raise where coordinates between `low` and `high` are too large to distinguish the images of a box."""
    if not space.kind or (far := find_far_coordinate(space, low, high, real)) is None:
        return
    axis, coordinate = far
    if space.kind in CELLS:
        raise InvalidInputError(
            f"expected positions at most some ten thousand cells from the origin, got one {coordinate!r} from "
            f"the plane through the origin along which lattice vector {axis} does not point: so far out, rounding "
            "hides which image is which; move points by whole lattice vectors towards the origin",
            argument=name,
        )
    length, lengths = space.lengths[axis], "thousand" if real == "float" else "million"
    raise InvalidInputError(
        f"expected coordinates of at most some hundred {lengths} box lengths, got {coordinate!r} on axis {axis}, of "
        f"length {length!r}: so far out, rounding does not tell images apart; move points by whole lengths "
        "towards the origin",
        argument=name,
    )


def check_largest(radius: float, built: float) -> None:
    """Raise where a query has a larger radius than its index was built for."""
    if radius > built:
        most, got = f"{built:.7g}", f"{radius:.7g}"
        if most == got:  # they differ in digits that floats print as they are
            most, got = repr(built), repr(radius)
        raise InvalidInputError(
            f"expected at most {most}, which the index was built for, got {got}; "
            "build the index with the largest radius that is needed",
            argument="radius",
        )
