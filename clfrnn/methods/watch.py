"""Watch: arrays that an index took from the device without waiting, and what was found in them since."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import check_radii, raise_non_finite
from ..errors import InvalidInputError
from ..primitives.reduce import Box, PendingBox

__all__ = ["Watch", "check_largest"]

#: Checks of a caller who never waits are read, and waited for, when there are so many.
_MOST_UNREAD = 16


class Watch:
    """The checks of one index that are still running on the device, and the box of its points.

    When boxes are looked at depends on the caller's own calls alone, never on how far the device has come, so that
    the same program plans the same cells in every run.
    """

    def __init__(self, dtype: np.dtype[Any], radius: float) -> None:
        self._dtype = dtype
        self._radius = radius
        self._points: PendingBox | None = None
        self._box: Box | None = None
        self._unread: list[tuple[str, PendingBox]] = []
        self._found: list[InvalidInputError] = []

    def new_points(self, pending: PendingBox) -> None:
        """The index took new points from the device."""
        self._points = pending
        self.other("points", pending)

    def good_points(self, box: Box) -> None:
        """The index took points that were checked before; `box` is theirs."""
        self._points = None
        self._box = box

    def other(self, name: str, pending: PendingBox) -> None:
        """The index took `name`: points, queries or radii from the device."""
        self._unread.append((name, pending))
        if len(self._unread) >= _MOST_UNREAD:
            self._read()

    def known_box(self) -> Box | None:
        """The box of the last points whose check was read."""
        return self._box

    def settle(self) -> None:
        """Wait for all checks, and raise what they found, the earliest first.

        What was raised is forgotten, except that bad points raise again until others take their place.
        """
        self._read()
        if self._found:
            raise self._found.pop(0)
        if self._box is not None and self._box.first_bad is not None:
            raise_non_finite("points", self._box.first_bad)

    def _read(self) -> None:
        unread, self._unread = self._unread, []
        for name, pending in unread:
            box = pending.read()
            if pending is self._points:
                self._points, self._box = None, box
            error = self._judge(name, box)
            if error is not None and len(self._found) < _MOST_UNREAD:
                self._found.append(error)

    def _judge(self, name: str, box: Box) -> InvalidInputError | None:
        """What is wrong with an array of that box."""
        try:
            if box.first_bad is not None:
                raise_non_finite(name, box.first_bad)
            if name == "radius":
                check_radii(np.asarray(box.low, self._dtype), name, row=False)
                check_largest(box.high[0], self._radius)
        except InvalidInputError as error:
            return error
        return None


def check_largest(radius: float, built: float) -> None:
    """Raise when a query asks for more than its index was built for."""
    if radius > built:
        raise InvalidInputError(
            f"radius: expected at most {built!r}, which the index was built for, got {radius!r}; "
            "build the index with the largest radius that is needed"
        )
