"""PointUpdates: checks new positions of the points of an index and passes them to its search structure."""

from __future__ import annotations

from typing import Any

import pyopencl.array as cla

from ..errors import InvalidInputError
from ..inputs.arrays import lies_ready, take_points
from ..primitives.readback import Box, PendingBox
from .structure import SearchStructure

__all__ = ["PointUpdates"]


class PointUpdates:
    """Updates one search structure with arrays of new points."""

    def __init__(self, structure: SearchStructure) -> None:
        self._structure, self._checks = structure, structure.checks
        #: the box of the last update that succeeded; the structure need not look at the same box again
        self._placed_by: Box | None = None

    def apply(self, points: Any) -> str:
        """Place `points`, of the shape and dtype of the index, and return "refit" or "rebuilt".

        A host array is checked at once. A device array is checked on the device without waiting.
        """
        self._structure.session.check_process()
        array, bounds = self._receive(points)
        if bounds is not None:
            update = self._place(array, bounds, self._checks.newest_box())
            self._checks.new_points(bounds)
            return update
        bounds = self._structure.measure_bounds(array, self._checks.slot())
        box = bounds.read()  # does not wait long, as the copy of the host array was waited for
        self._checks.check_near("points", box)
        update = self._place(array, bounds, box)
        self._checks.good_points(bounds)
        return update

    def _receive(self, points: Any) -> tuple[cla.Array, PendingBox | None]:
        """Bring new points to the device; the second value is their bounding box for device arrays, else None."""
        structure = self._structure
        if lies_ready(structure.session, points, structure.dtype) and points.shape == self._shape:
            return points, structure.find_bounds(points)
        array, bounds, _ = take_points(
            structure.session,
            points,
            "points",
            real=structure.dtype,
            exact=True,
            find_box=lambda taken: structure.find_bounds(self._of_this_shape(taken)),
        )
        return self._of_this_shape(array), bounds

    @property
    def _shape(self) -> tuple[int, int]:
        return self._structure.problem.n, self._structure.problem.dim

    def _of_this_shape(self, points: cla.Array) -> cla.Array:
        """Raise unless `points` has the shape of the index; return it."""
        if points.shape != self._shape:
            raise InvalidInputError(
                f"points: expected the shape of the index, {self._shape}, got {points.shape}; "
                "build a new index for another number of points or of coordinates"
            )
        return points

    def _place(self, points: cla.Array, bounds: PendingBox, box: Box | None) -> str:
        """Place new points; the checks know no bounding box of the points while that is under way."""
        structure = self._structure
        before, known = structure.arguments(), self._checks.points_change()
        try:
            update = structure.update(points, bounds, None if box is self._placed_by else box)
        except BaseException:
            buffers = ((old, new) for old, new in zip(before, structure.arguments(), strict=True))
            if all(old is new for old, new in buffers if hasattr(old, "int_ptr")):
                self._checks.points_stay(known)
            raise
        self._placed_by = box
        return update
