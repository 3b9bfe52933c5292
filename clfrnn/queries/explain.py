"""Explain: how an index searches and why, in words and measured numbers."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from ..planning.configs import VisitVariant
from ..runtime.rendering import own_function
from .count_nearest import answers_in_words
from .make_request import make_request

if TYPE_CHECKING:
    from ..index import Index

__all__ = ["explain"]

#: Candidates are counted for so many points.
_MEASURED = 1000


def explain(index: Index) -> str:
    """The text of :meth:`clfrnn.Index.explain`. Two visits of a thousand points, waited for."""
    problem, survey = index.problem, index.problem.survey
    count = own_function("count")
    shared = index.divides(count, index.num_points)
    counting = index.config_for(count, VisitVariant(shared=shared, images=index.images_served(foreign=False)[0]))
    config = ", ".join(f"{field.name} {getattr(counting, field.name)}" for field in dataclasses.fields(counting))
    lines = [
        f"{index.method}: {problem.why}",
        f"points: {index.num_points:,} in {index.dim}D, {index.dtype}, radius {index.radius:g}",
        f"device: {index.session.profile}",
        f"kernels: {config}",
    ]
    if survey.others:
        lines.append(
            f"crowding: {survey.others:.1f} other points in a point's cell of side radius, by a sample at build"
        )
    if problem.box is not None:
        axes = ", ".join(f"axis {k} of length {length:g}" for k, length in enumerate(problem.box.lengths) if length)
        lines.append(f"periodic: {axes}")
    sizes = index.nbytes
    lines += [*index.describe(), *answers_in_words(index, make_request(index, None, radius=None, include_self=False))]
    lines.append(f"bytes: {sum(sizes.values()):,} on the device ({', '.join(f'{k} {v:,}' for k, v in sizes.items())})")
    lines.append(f"last update: {index.last_update}")
    lines.append(_candidates(index))
    return "\n".join(lines)


def _candidates(index: Index) -> str:
    """How many points a query tests for each neighbor that it finds."""
    if not index.num_points:
        return "candidates: none, there are no points"
    first = max(0, (index.num_points - _MEASURED) // 2)
    end = min(index.num_points, first + _MEASURED)
    ask = make_request(index, None, radius=None, include_self=True)._replace(part=(first, end))
    found = []
    for every in (True, False):
        counts = index.session.allocate(ask.m, np.int32, purpose="the counts of a sample")
        index.run(own_function("count"), ask, [counts], every_candidate=every)
        found.append(index.session.read(counts, first, end - first).sum(dtype=np.int64) / (end - first))
    tested, neighbors = found[0], found[1] - 1  # a point meets itself
    each = (
        f"{tested / neighbors:.1f} for each of its {neighbors:.1f} neighbors" if neighbors > 0 else "and no neighbors"
    )
    return f"candidates: {tested:.1f} tested by a query, {each}, measured on {end - first:,} points"
