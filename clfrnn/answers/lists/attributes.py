"""Attributes: distances, vectors and shifts of pairs, computed from the indices after the rows are written."""

from __future__ import annotations

import pyopencl as cl
import pyopencl.array as cla

from ...methods.request import QueryRequest
from ...methods.traversal import Traversal
from ...primitives.pair_geometry import measure_pairs
from ..requests import systems_of
from .columns import Columns

__all__ = ["measure"]


def measure(
    traversal: Traversal, request: QueryRequest, columns: Columns, points: cla.Array, arrays: dict[str, cla.Array]
) -> cl.Event | None:
    """Enqueue the computation of the list's attributes from its indices; `points` are in the caller's order."""
    structure = traversal.structure
    box, table = structure.problem.box, structure.image_table
    if box is not None and not box.has_images:
        box = table = None
    return measure_pairs(
        traversal.session,
        arrays,
        points=points,
        queries=points if request.queries is None else request.queries,
        first_row=request.part[0] if request.part else 0,
        period=None if table is None else table.period_at(structure.box_starts()),
        periodic="" if box is None else box.kind,
        systems=systems_of(request, box),
        rooted=columns.sort != "distance",
    )
