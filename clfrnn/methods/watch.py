"""Watch: arrays that an index took from the device without waiting, and what was found in them since."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import check_radii, raise_non_finite
from ..errors import InvalidInputError
from ..primitives.reduce import Box, PendingBox

__all__ = ["Watch", "check_largest"]

#: An index whose caller never waits has its points' box looked at every so many updates.
_UPDATES_UNSEEN = 16


class Watch:
    """The checks of one index that are still running on the device, and the box of its points.

    When boxes are looked at depends on the caller's own calls alone, never on how far the device has come, so that
    the same program plans the same cells in every run.
    """

    def __init__(self, dtype: np.dtype[Any], radius: float) -> None:
        self._dtype = dtype
        self._radius = radius
        self._points: PendingBox | None = None
        self._updates_unseen = 0
        self._box: Box | None = None
        self._others: list[tuple[str, PendingBox]] = []

    def new_points(self, pending: PendingBox) -> None:
        """The index took new points; what was found in the old ones no longer matters."""
        self._points = pending
        self._updates_unseen += 1
        self._others = []

    def other(self, name: str, pending: PendingBox) -> None:
        """The index took `name`, queries or radii."""
        self._others.append((name, pending))

    def known_box(self, *, look: bool = False) -> Box | None:
        """The box of the last points that were looked at; with `look`, or when it is due, of the present ones."""
        if look or self._updates_unseen >= _UPDATES_UNSEEN:
            self._see()
        return self._box

    def settle(self) -> None:
        """Wait for all checks, and raise what one of them found. Bad points raise until they are replaced."""
        self._see()
        if self._box is not None and self._box.first_bad is not None:
            raise_non_finite("points", self._box.first_bad)
        others, self._others = self._others, []
        for name, pending in others:
            box = pending.read()
            if box.first_bad is not None:
                raise_non_finite(name, box.first_bad)
            if name == "radius":
                check_radii(np.asarray(box.low, self._dtype), name, row=False)
                check_largest(box.high[0], self._radius)

    def _see(self) -> None:
        if self._points is not None:
            self._box = self._points.read()
            self._points = None
            self._updates_unseen = 0


def check_largest(radius: float, built: float) -> None:
    """Raise when a query asks for more than its index was built for."""
    if radius > built:
        raise InvalidInputError(
            f"radius: expected at most {built!r}, which the index was built for, got {radius!r}; "
            "build the index with the largest radius that is needed"
        )
