"""Explain: the text of :meth:`clfrnn.Index.explain`."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ..config import VisitVariant
from ..methods.traversal import Traversal
from ..runtime.rendering import own_function
from ..tuning import default_tuning
from .count_nearest import describe_encodings
from .requests import make_request, request_of_points

__all__ = ["explain", "sizes_of"]

#: Number of points for which candidates are counted.
_MEASURED = 1000


def sizes_of(traversal: Traversal) -> dict[str, int]:
    """The bytes of a search structure on the device, by buffer."""
    structure = traversal.structure
    sizes = {name: int(each.size) * each.dtype.itemsize for name, each in structure.buffers().items()}
    return {**sizes, **structure.images.tables.nbytes}


def explain(traversal: Traversal, method: str, sizes: dict[str, int], last_update: str, *, long: bool) -> str:
    """The text of :meth:`clfrnn.Index.explain`; `sizes` are bytes by buffer. Cost: two visits of a thousand points."""
    structure, problem = traversal.structure, traversal.problem
    stored = structure.describe()
    lines = [
        f"{method}: {problem.why}",
        f"points: {problem.n:,} in {problem.dim}D, {traversal.dtype}, radius {problem.radius:g}",
    ]
    if domain := problem.domain.describe():
        lines.append(domain)
    session = traversal.session
    lines.append(f"device: {session.profile}")
    if long or session.tuning != default_tuning(session.profile):
        lines.append(f"tuning: {session.tuning_origin}")
    if session.exchange is not None:
        lines.append(f"arrays of CUDA: {session.exchange.describe()}")
    lines.append(f"kernels: work-groups of {structure.config.work_group_size}")
    lines += [*stored, *_decisions(traversal), f"last update: {last_update}"] if long else stored[:1]
    lines.append(f"bytes: {sum(sizes.values()):,} on the device ({', '.join(f'{k} {v:,}' for k, v in sizes.items())})")
    lines.append(_candidates(traversal))
    if not long:
        lines.append("explain(long=True) says more about kernels, cells and the sorting of points")
    return "\n".join(lines)


def _decisions(traversal: Traversal) -> list[str]:
    """What was decided about the kernels of a count, and from which crowding."""
    structure, problem = traversal.structure, traversal.problem
    count = own_function("count")
    plan = structure.plan_visit(count, request_of_points(traversal))
    counting = structure.config_for(count, VisitVariant(shared=plan.divided, images=plan.images[0]))
    values = [(field.name, getattr(counting, field.name)) for field in dataclasses.fields(counting)]
    said = ", ".join(f"{name} {_word(value)}" for name, value in values if value is not None)
    lines = [f"compiled for counts: {said}"]
    if problem.survey.n != problem.n:
        lines.append(f"plan: that of {problem.survey.n:,} points, fitted to these")
    if others := problem.survey.others:
        lines.append(f"crowding: {others:.1f} other points in a point's cell of side radius, by a sample when planned")
    return lines + describe_encodings(traversal, request_of_points(traversal))


def _word(value: Any) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def _candidates(traversal: Traversal) -> str:
    """How many candidates a query tests for each neighbor that it finds, as measured."""
    n = traversal.num_points
    if not n:
        return "candidates: none, there are no points"
    first = max(0, (n - _MEASURED) // 2)
    end = min(n, first + _MEASURED)
    request = make_request(traversal, None, radius=None, include_self=True)._replace(part=(first, end))
    found = []
    for every in (True, False):
        counts = traversal.session.allocate(n, np.int32, purpose="the counts of a sample")
        asked = request._replace(where=None) if every else request
        traversal.run(own_function("count"), asked, [counts], every_candidate=every)
        found.append(traversal.session.read(counts, first, end - first).sum(dtype=np.int64) / (end - first))
    tested, neighbors = found[0], found[1] - 1  # without the point itself
    each = (
        f"{tested / neighbors:.1f} for each of its {neighbors:.1f} neighbors" if neighbors > 0 else "and no neighbors"
    )
    return f"candidates: {tested:.1f} tested by a query, {each}, measured on {end - first:,} points"
