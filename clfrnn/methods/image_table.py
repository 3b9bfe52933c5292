"""ImageTable: the numbers by which walks in a periodic box find the images of points, from one step to the next."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyopencl.array as cla

from ..period import PeriodicBox
from ..primitives.periodic_images import measure_images, period_numbers
from ..primitives.readback import PendingBox
from ..primitives.reduce import box_and_images
from ..runtime.scratch import Scratch
from ..runtime.session import Session

__all__ = ["ImageTable"]


class ImageTable:
    """The periodic box of an index on the device, and the images of the points that lie between some bounds."""

    def __init__(self, session: Session, box: PeriodicBox, dtype: np.dtype[Any]) -> None:
        self._session, self._box, self._dtype = session, box, dtype
        #: where the box began the last time, and its numbers on the device
        self._period: tuple[tuple[float, ...], cla.Array] | None = None
        #: images that were found together with the bounds of new points: where the box began then, and those bounds
        self._found: tuple[tuple[float, ...], PendingBox, Scratch] | None = None

    def period_at(self, starts: tuple[float, ...]) -> cla.Array:
        """The lengths of a box that begins at `starts`, their inverses and the starts, on the device."""
        if self._period is None or self._period[0] != starts:
            self._period = None  # its memory goes back to the pool and serves the new one
            self._period = starts, period_numbers(self._session, self._box, starts, self._dtype)
        return self._period[1]

    def find_bounds(self, points: cla.Array, starts: tuple[float, ...], bounds: PendingBox) -> None:
        """Enqueue one pass that finds the bounds of `points`, and their images in a box that begins at `starts`."""
        images = box_and_images(self._session, points, self.period_at(starts), bounds)
        self._found = starts, bounds, images

    def images(self, starts: tuple[float, ...], bounds: PendingBox | None) -> Scratch:
        """What periodic kernels read for points between `bounds`, in a box that begins at `starts`."""
        assert bounds is not None, "the images of points follow from their bounds"
        found, self._found = self._found, None
        if found is not None and found[0] == starts and found[1] is bounds:
            return found[2]
        del found  # its memory goes back to the pool and serves the new one
        return measure_images(self._session, self.period_at(starts), bounds)
