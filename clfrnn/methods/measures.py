"""Measures: distances, vectors and shifts of pairs from their numbers, where a list of these is written sooner."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pyopencl as cl
import pyopencl.array as cla

from ..errors import DeviceMemoryError
from ..primitives.pairs import measure_pairs
from ..session import Session
from .list_spec import ListSpec

if TYPE_CHECKING:
    from .ask import Ask
    from .index import Index

__all__ = ["Measures", "measures_for"]

#: So many numbers besides those of neighbors take a visit as long to write as it takes to read points back, to launch
#: two kernels more, and to find the rows of pairs: some in any case, and some for each point (measured on an H200).
_NUMBERS, _NUMBERS_OF_POINT = 6e6, 1.5


class Measures(NamedTuple):
    """Points and queries by their own numbers, as they were when a list was asked for, and the periodic box."""

    points: cla.Array
    queries: cla.Array
    period: cla.Array | None

    def write(self, session: Session, ask: Ask, spec: ListSpec, arrays: dict[str, cla.Array]) -> cl.Event | None:
        """What the list carries besides numbers, which are written."""
        return measure_pairs(
            session,
            arrays,
            points=self.points,
            queries=self.queries,
            first_row=ask.part[0] if ask.part else 0,
            period=self.period,
            rooted=spec.sort != "distance",
        )


def measures_for(index: Index, ask: Ask, spec: ListSpec) -> Measures | None:
    """What a list is measured by after its numbers are written; None where the visit writes all of it.

    On a GPU one number to a row takes as long as a sector of memory: numbers alone are written by sectors, and what
    follows from them pair by pair. Where a query may see two images of a point, its number does not say which.
    """
    if spec.images or index.session.profile.kind != "gpu":
        return None
    foreseen = index.problem.survey.neighbors(ask.radius) * ask.m * spec.carried
    if not foreseen or foreseen < _NUMBERS + _NUMBERS_OF_POINT * index.num_points:
        return None
    try:
        points = index.positions()
    except DeviceMemoryError:
        points = None
    if points is None:
        return None
    return Measures(points, points if ask.queries is None else ask.queries, index.period())
