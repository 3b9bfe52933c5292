"""Watch: arrays that an index took from the device without waiting, and what was found in them since."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays import REAL_OF, check_radii, raise_non_finite
from ..errors import DeviceMemoryError, InvalidInputError
from ..period import PeriodicBox, far_coordinate
from ..primitives.readback import Box, BoxRoom, PendingBox, SentBoxes, SentTotal, read_along, read_boxes
from ..runtime.scratch import Scratch
from ..runtime.session import Session

__all__ = ["DeferredChecks", "check_largest", "check_near"]

#: Checks of a caller who never waits are sent to the host when there are so many, and heard when there are as many
#: more.
_TOGETHER = 8


class DeferredChecks:
    """The checks of one index that are still running on the device, and the box of its points.

    A caller who never waits hears of them eight at a time, when eight more have been enqueued, so that the device does
    not stand still for it. When boxes are looked at depends on the caller's own calls alone, never on how far the
    device has come, so that the same program plans the same cells in every run.
    """

    def __init__(
        self, session: Session, *, n: int, dtype: np.dtype[Any], dim: int, radius: float, box: PeriodicBox | None
    ) -> None:
        self._n = n
        self._dtype = dtype
        self._radius = radius
        self._periodic = box
        self._session = session
        self._room = BoxRoom(session, dim, dtype, 2 * _TOGETHER)
        self._room_of_radii = BoxRoom(session, 1, dtype, 2 * _TOGETHER)
        # A loop finds the memory of both rooms that it comes to hold in the pool from its first step on.
        _ = [BoxRoom(session, dim, dtype, 2 * _TOGETHER).place() for _ in range(2)]
        self._points: PendingBox | None = None
        #: of the last points whose check was heard
        self._box: Box | None = None
        #: whether `_box` is that of the points that the index holds now
        self._current = False
        self._unread: list[tuple[str, PendingBox]] = []
        #: those before them that are on their way to the host
        self._sent: SentBoxes | None = None
        self._under_way: list[tuple[str, PendingBox]] = []
        self._found: list[InvalidInputError] = []

    def room(self) -> PendingBox:
        """Room for the box of an array of points, beside others that will be read with it."""
        return self._room.take()

    def room_of_radii(self) -> PendingBox:
        """The same for an array of radii."""
        return self._room_of_radii.take()

    def new_points(self, pending: PendingBox) -> None:
        """The index took new points from the device."""
        self._points = pending
        self._current = False
        self.other("points", pending)

    def good_points(self, box: Box) -> None:
        """The index took points that were checked before; `box` is theirs."""
        self._points = None
        self._box = box
        self._current = True

    def points_change(self) -> tuple[PendingBox | None, bool]:
        """The index is about to take new points: until it says which, nothing is known of their box.

        Returns what was known, for :meth:`points_stay`.
        """
        known = self._points, self._current
        self._points, self._current = None, False
        return known

    def points_stay(self, known: tuple[PendingBox | None, bool]) -> None:
        """The index has kept the points it had."""
        self._points, self._current = known

    def other(self, name: str, pending: PendingBox) -> None:
        """The index took `name`: points, queries or radii from the device."""
        self._unread.append((name, pending))
        if len(self._unread) < _TOGETHER:
            return
        self._hear()
        try:
            self._sent = SentBoxes(self._session, [pending for _, pending in self._unread], self._n)
        except DeviceMemoryError:  # for numbers of the host
            self._read()
        else:
            self._under_way, self._unread = self._unread, []

    def box_of_points(self) -> Box | None:
        """The box of the points that the index holds now, where it is known."""
        return self._box if self._current else None

    def known_box(self) -> Box | None:
        """The box of the last points whose check was read."""
        return self._box

    def total(self) -> Scratch:
        """Where a kernel leaves a total, and one before it a word, for :meth:`send`."""
        return self._room.total()

    def send(self, items: int) -> SentTotal:
        """Let the total over so many `items` come to the host, together with the checks, so that it waits once."""
        return self._room.send([pending for _, pending in (*self._under_way, *self._unread)], items)

    def receive(self, sent: SentTotal) -> tuple[int, int]:
        """Wait for a total and a word, and raise what the checks have found."""
        received = sent.receive()
        self.settle()
        return received

    def of_points(self) -> list[tuple[str, PendingBox]]:
        """The check of the points that the index holds now, while it is still running."""
        return [] if self._points is None else [("points", self._points)]

    def judge(
        self, session: Session, checks: Sequence[tuple[str, PendingBox]], wanted: Scratch
    ) -> np.ndarray[Any, Any]:
        """What lies in `wanted`, read together with these checks alone; raise what they found."""
        values = read_along(session, wanted, [pending for _, pending in checks])
        for name, pending in checks:
            if (error := self._judge(name, pending.read())) is not None:
                raise error
        return values

    def settle(self) -> None:
        """Wait for all checks, and raise what they found, the earliest first.

        What was raised is forgotten, except that bad points raise again until others take their place.
        """
        self._read()
        if self._found:
            raise self._found.pop(0)
        if (error := self.bad_points()) is not None:
            raise error

    def bad_points(self) -> InvalidInputError | None:
        """What was found wrong with the points that the index holds now."""
        return self._judge("points", self._box) if self._current and self._box is not None else None

    def _read(self) -> None:
        """Wait for all checks."""
        self._hear()
        unread, self._unread = self._unread, []
        read_boxes(self._session, [pending for _, pending in unread])
        self._judge_all(unread)

    def _hear(self) -> None:
        """Those that were sent."""
        if self._sent is None:
            return
        self._sent.receive()
        self._sent, under_way, self._under_way = None, self._under_way, []
        self._judge_all(under_way)

    def _judge_all(self, checks: Sequence[tuple[str, PendingBox]]) -> None:
        for name, pending in checks:
            box = pending.read()
            current = pending is self._points
            if current or (name == "points" and not self._current):
                self._box, self._current = box, current
            if current:
                self._points = None
            error = self._judge(name, box)
            if error is not None and len(self._found) < 2 * _TOGETHER:
                self._found.append(error)

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
