"""Surveys of points on the device, in their periodic box if there is one."""

from __future__ import annotations

import pyopencl.array as cla

from ..arrays import REAL_OF, raise_non_finite
from ..domain.box import PeriodicBox
from ..primitives.readback import PendingBox
from ..primitives.reduce import survey_points
from ..runtime.session import Session
from ..survey import Survey
from .periodic_box import survey_in_box

__all__ = ["take_survey"]


def take_survey(
    session: Session,
    array: cla.Array,
    radius: float,
    pending: PendingBox | None,
    *,
    crowding: bool,
    box: PeriodicBox | None,
) -> Survey:
    """The survey of points: their box if a launch that finds it is `pending`, and their crowding if that is needed.

    Waits where there is something to survey. Raises where a point is not finite, or too far from the periodic box.
    """
    n, dim = array.shape
    if pending is None:
        return Survey(n=n, low=(0.0,) * dim, high=(0.0,) * dim)
    if crowding and n:
        survey, bad_row = survey_points(session, array, radius, pending)
    else:
        found = pending.read()
        survey, bad_row = Survey(n=n, low=found.low, high=found.high), found.first_bad
    if bad_row is not None:
        raise_non_finite("points", bad_row)
    return survey if box is None else survey_in_box(survey, box, radius, REAL_OF[array.dtype])
