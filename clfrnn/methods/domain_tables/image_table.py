"""ImageTable: what walks in a periodic box read to find the images of points, updated from step to step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

from ...domain.box import CELLS, PeriodicBox
from ...primitives.readback import PendingBox
from ...primitives.reduce import bounding_box, box_and_images
from ...runtime.scratch import Scratch
from ...runtime.session import Session
from .periodic_images import measure_images, period_numbers, place_points
from .tables import DomainTables, Images

__all__ = ["ImageTable"]


class ImageTable(DomainTables):
    """A periodic box or cell, or open space, which is the same for all points."""

    def __init__(self, session: Session, space: PeriodicBox, dtype: np.dtype[Any]) -> None:
        self._session, self.domain, self._space, self._dtype = session, space, space, dtype
        #: the last low corner of the box, the numbers that were copied to the device for it, and the event of the copy
        self._period: tuple[tuple[float, ...], cla.Array, cl.Event] | None = None
        #: a table that was found together with the bounds of new points: the low corner then, those bounds, and the
        #: table
        self._found: tuple[tuple[float, ...], PendingBox, Scratch] | None = None

    def period_at(self, starts: tuple[float, ...]) -> cla.Array | None:
        """The lengths of a box that begins at `starts`, their inverses and the starts, on the device."""
        return self._numbers_at(starts) if self._space.kind else None

    def _numbers_at(self, starts: tuple[float, ...]) -> cla.Array:
        if self._period is None or self._period[0] != starts:
            self._period = None  # the pool gives its memory to the new one
            self._period = starts, *period_numbers(self._session, self._space, starts, self._dtype)
        return self._period[1]

    def heights(self, points: cla.Array) -> cla.Array:
        """See :class:`~.tables.DomainTables`; in a cell their heights, which do not depend on its low corner."""
        if self._space.kind not in CELLS:
            return points
        starts = (0.0,) * len(self._space.lengths) if self._period is None else self._period[0]
        return place_points(self._session, points, self._numbers_at(starts))

    def bound(self, placed: cla.Array, bounds: PendingBox | None = None) -> PendingBox:
        """See :class:`~.tables.DomainTables`; one launch."""
        return bounding_box(self._session, placed, bounds)

    def find_bounds(self, points: cla.Array, starts: tuple[float, ...], bounds: PendingBox) -> ImageTable:
        """See :class:`~.tables.DomainTables`; one pass finds the image table as well.

        In a cell the table follows later, as its bounds are those of heights.
        """
        if self._space.kind == "box":
            images = box_and_images(self._session, points, self._numbers_at(starts), bounds)
            self._found = starts, bounds, images
        else:
            bounding_box(self._session, self.heights(points), bounds)
        return self

    def bound_queries(self, queries: cla.Array, bounds: PendingBox) -> PendingBox:
        """See :class:`~.tables.DomainTables`."""
        return bounding_box(self._session, self.heights(queries), bounds)

    def reaching(self, radius: float) -> ImageTable:  # noqa: ARG002
        """The same tables: they serve any radius."""
        return self

    def images(self, starts: tuple[float, ...], bounds: PendingBox | None) -> Images:
        """See :class:`~.tables.DomainTables`."""
        if not self._space.kind:
            return Images(self, starts, None, ())
        assert bounds is not None, "the images of points follow from their bounds"
        found, self._found = self._found, None
        if found is None or found[0] != starts or found[1] is not bounds:
            del found  # the pool gives its memory to the new one
            dim, kind = len(self._space.lengths), self._space.kind
            table = measure_images(self._session, self._numbers_at(starts), bounds, dim=dim, periodic=kind)
        else:
            table = found[2]
        return Images(self, starts, table, (table.base_data,))

    def holds(self, low: tuple[float, ...], high: tuple[float, ...], starts: tuple[float, ...] | None = None) -> bool:
        """See :class:`~.tables.DomainTables`."""
        return self._space.holds(low, high, starts)

    def into_box(self, positions: np.ndarray[Any, Any], starts: tuple[float, ...]) -> np.ndarray[Any, Any]:
        """See :class:`~.tables.DomainTables`."""
        return self._space.into_box(positions, starts)
