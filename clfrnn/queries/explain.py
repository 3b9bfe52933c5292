"""Explain: the text of :meth:`clfrnn.Index.explain`."""

from __future__ import annotations

import dataclasses

import numpy as np

from ..methods.traversal import Traversal
from ..planning.configs import VisitVariant
from ..runtime.rendering import own_function
from .count_nearest import describe_encodings
from .make_request import request_of_points

__all__ = ["explain"]

#: Number of points for which candidates are counted.
_MEASURED = 1000


def explain(traversal: Traversal, *, method: str, sizes: dict[str, int], last_update: str) -> str:
    """The text of :meth:`clfrnn.Index.explain`; `sizes` are bytes by buffer. Cost: two visits of a thousand points."""
    structure, problem, survey = traversal.structure, traversal.problem, traversal.problem.survey
    count = own_function("count")
    shared = structure.divides(count, problem.n)
    images = structure.images_served(foreign=False)[0]
    counting = structure.config_for(count, VisitVariant(shared=shared, images=images))
    config = ", ".join(f"{field.name} {getattr(counting, field.name)}" for field in dataclasses.fields(counting))
    lines = [
        f"{method}: {problem.why}",
        f"points: {problem.n:,} in {problem.dim}D, {traversal.dtype}, radius {problem.radius:g}",
        f"device: {traversal.session.profile}",
        f"kernels: {config}",
    ]
    if survey.others:
        lines.append(
            f"crowding: {survey.others:.1f} other points in a point's cell of side radius, by a sample at build"
        )
    if problem.box is not None:
        words = ("lattice vector", "height") if problem.periodic == "cell" else ("axis", "length")
        named = "{} {} of {} {:g}".format
        axes = ", ".join(named(words[0], k, words[1], length) for k, length in enumerate(problem.box.lengths) if length)
        lines.append(f"periodic: {axes}")
    lines += [*structure.describe(), *describe_encodings(traversal, request_of_points(traversal))]
    lines.append(f"bytes: {sum(sizes.values()):,} on the device ({', '.join(f'{k} {v:,}' for k, v in sizes.items())})")
    lines.append(f"last update: {last_update}")
    lines.append(_candidates(traversal))
    return "\n".join(lines)


def _candidates(traversal: Traversal) -> str:
    """How many candidates a query tests for each neighbor that it finds, as measured."""
    n = traversal.num_points
    if not n:
        return "candidates: none, there are no points"
    first = max(0, (n - _MEASURED) // 2)
    end = min(n, first + _MEASURED)
    request = request_of_points(traversal, include_self=True)._replace(part=(first, end))
    found = []
    for every in (True, False):
        counts = traversal.session.allocate(n, np.int32, purpose="the counts of a sample")
        traversal.run(own_function("count"), request, [counts], every_candidate=every)
        found.append(traversal.session.read(counts, first, end - first).sum(dtype=np.int64) / (end - first))
    tested, neighbors = found[0], found[1] - 1  # without the point itself
    each = (
        f"{tested / neighbors:.1f} for each of its {neighbors:.1f} neighbors" if neighbors > 0 else "and no neighbors"
    )
    return f"candidates: {tested:.1f} tested by a query, {each}, measured on {end - first:,} points"
