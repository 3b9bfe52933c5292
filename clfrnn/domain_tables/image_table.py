"""ImageTable: what walks in a periodic box read to find the images of points, updated from step to step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

from ..domain.box import CELLS, PeriodicBox
from ..domain.systems import Systems
from ..primitives.readback import PendingBox
from ..primitives.reduce import bounding_box, box_and_images
from ..runtime.scratch import Scratch
from ..runtime.session import Session
from .periodic_images import measure_images, period_numbers, place_points
from .system_tables import SystemTables

__all__ = ["ImageTable", "image_table"]


class ImageTable:
    """The periodic box of an index on the device, and the image table for the current points."""

    def __init__(self, session: Session, box: PeriodicBox, dtype: np.dtype[Any]) -> None:
        self._session, self._box, self._dtype = session, box, dtype
        #: the last low corner of the box, the numbers that were copied to the device for it, and the event of the copy
        self._period: tuple[tuple[float, ...], cla.Array, cl.Event] | None = None
        #: a table that was found together with the bounds of new points: the low corner then, those bounds, and the
        #: table
        self._found: tuple[tuple[float, ...], PendingBox, Scratch] | None = None

    def period_at(self, starts: tuple[float, ...]) -> cla.Array:
        """The lengths of a box that begins at `starts`, their inverses and the starts, on the device."""
        if self._period is None or self._period[0] != starts:
            self._period = None  # the pool gives its memory to the new one
            self._period = starts, *period_numbers(self._session, self._box, starts, self._dtype)
        return self._period[1]

    def find_bounds(self, points: cla.Array, starts: tuple[float, ...], bounds: PendingBox) -> None:
        """Enqueue one pass that finds the bounds of `points` and the table for a box with the low corner `starts`.

        In a cell the table follows later, as its bounds are those of heights.
        """
        if self._box.kind in CELLS:
            bounding_box(self._session, self.place(points, starts), bounds)
            return
        images = box_and_images(self._session, points, self.period_at(starts), bounds)
        self._found = starts, bounds, images

    def place(self, points: cla.Array, starts: tuple[float, ...]) -> cla.Array:
        """What `points` are placed by: in a cell a new array of their heights, otherwise `points` themselves."""
        if self._box.kind not in CELLS:
            return points
        return place_points(self._session, points, self.period_at(starts))

    def images(self, starts: tuple[float, ...], bounds: PendingBox | None) -> Scratch:
        """The image table for points between `bounds`, in a box with the low corner `starts`."""
        assert bounds is not None, "the images of points follow from their bounds"
        found, self._found = self._found, None
        if found is not None and found[0] == starts and found[1] is bounds:
            return found[2]
        del found  # the pool gives its memory to the new one
        period, box = self.period_at(starts), self._box
        return measure_images(self._session, period, bounds, dim=len(box.lengths), periodic=box.kind)


def image_table(session: Session, box: PeriodicBox, dtype: np.dtype[Any]) -> ImageTable | SystemTables:
    """The image table of a domain: for many systems the one that was made with them."""
    if isinstance(box, Systems):
        found: SystemTables = box.placing
        return found
    return ImageTable(session, box, dtype)
