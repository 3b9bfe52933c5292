"""Measures: distances, vectors and shifts of pairs from their numbers, where a list of these is written sooner."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyopencl as cl
import pyopencl.array as cla

from ..primitives.pair_geometry import measure_pairs
from .columns import Columns

if TYPE_CHECKING:
    from ..index import Index
    from ..inputs.request import QueryRequest

__all__ = ["measure", "pays_to_measure"]

#: So many numbers besides those of neighbors take a visit as long to write as it takes to read points back, to launch
#: two kernels more, and to find the rows of pairs: some in any case, and some for each point (measured on an H200).
_NUMBERS, _NUMBERS_OF_POINT = 6e6, 1.5


def pays_to_measure(index: Index, ask: QueryRequest, spec: Columns) -> bool:
    """Whether a list's numbers are better written alone, and what else it carries found by them.

    On a GPU one number to a row takes as long as a sector of memory: numbers alone are written by sectors, and what
    follows from them pair by pair. Where a query may see two images of a point, its number does not say which.
    """
    if not spec.carried or spec.images or index.session.profile.kind != "gpu":
        return False
    pairs = index.rooms.foreseen(ask.kind) or index.problem.survey.neighbors(ask.radius) * ask.m
    return pairs * spec.carried >= _NUMBERS + _NUMBERS_OF_POINT * index.num_points


def measure(
    index: Index, ask: QueryRequest, spec: Columns, points: cla.Array, arrays: dict[str, cla.Array]
) -> cl.Event | None:
    """What the list of `arrays` carries besides numbers, which are written; `points` are in their own order."""
    return measure_pairs(
        index.session,
        arrays,
        points=points,
        queries=points if ask.queries is None else ask.queries,
        first_row=ask.part[0] if ask.part else 0,
        period=index.period(),
        rooted=spec.sort != "distance",
    )
