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
    images, domain = traversal.structure.images, traversal.problem.domain
    repeats = domain.has_images
    return measure_pairs(
        traversal.session,
        arrays,
        points=points,
        queries=points if request.queries is None else request.queries,
        first_row=request.part[0] if request.part else 0,
        period=images.tables.period_at(images.starts) if repeats else None,
        periodic=domain.kind if repeats else "",
        systems=systems_of(request, images.tables) if repeats else None,
        rooted=columns.sort != "distance",
    )
