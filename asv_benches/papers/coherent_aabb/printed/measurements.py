"""One measurement of the paper's algorithms as printed, compared with the library's counts and lists."""

from __future__ import annotations

import functools
import statistics
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import clfrnn

from ...clock import stage_seconds
from ...paper import Measurement, Numbers
from ..scenes import cube, diagonal
from ..steps import LEAST, WARM_UP, DisagreementError, compare, expected, resting, typical
from .searches import Coherent, Primary, Rows, lanes
from .tree import PaperTree

__all__ = ["EXPERIMENTS", "measure"]


def measure(session: clfrnn.Session, measurement: Measurement) -> Numbers:
    """The numbers of a measurement: seconds of stages, pairs, or shares of lanes."""
    facts = dict(measurement.to_dict())
    return EXPERIMENTS[str(facts.pop("experiment"))](session, **facts)


def _printed(session: clfrnn.Session, n: int, radius: float, way: str) -> Numbers:
    """Seconds of lists and, where an algorithm has them without lists, of counts; those of a tree that is there."""
    reach = radius * diagonal()
    counts = expected(session, resting(session, n), reach)
    numbers = {"neighbors": float(counts.mean())}
    if way == "aabb_tree":
        index = clfrnn.build_index(resting(session, n), reach, method="aabb_tree", session=session)
        compare(index.count().get(), counts)
        return numbers | {"count": typical(session, index.count), "lists": typical(session, index.query)}
    tree = _tree(session, n)
    if way == "coherent":
        search = Coherent(tree, reach)
        numbers["candidates"] = search.candidates / n
        numbers["list_bytes"] = float(search.owners.nbytes + search.members.nbytes)
        return numbers | _stages(session, search.stages(), search.rows, counts)
    alone = Primary(tree, reach, listed=False, balanced=way == "balanced")
    numbers["count"] = _stages(session, alone.stages())["lists"]
    compare(alone.keys.get(), counts)
    search = Primary(tree, reach, balanced=way == "balanced")
    return numbers | _stages(session, search.stages(), search.rows, counts)


def _stages(
    session: clfrnn.Session,
    stages: Mapping[str, Callable[[], Any]],
    rows: Rows | None = None,
    counts: np.ndarray[Any, Any] | None = None,
) -> dict[str, float]:
    """The median seconds of each stage, and of all behind one another as "lists"; rows are compared by their counts."""
    runs = [stage_seconds(session, list(stages.values())) for _ in range(WARM_UP + LEAST)][WARM_UP:]
    if rows is not None and counts is not None:
        compare(np.diff(rows.offsets.get()), counts)
    names = (*stages, "lists")
    return {name: statistics.median(run[k].span for run in runs) for k, name in enumerate(names)}


def _nodes(session: clfrnn.Session, n: int, layout: str) -> Numbers:
    """Seconds of boxes that are fitted to the same points: those of both layouts are the same."""
    tree = _tree(session, n, scattered=layout == "scattered")
    if not np.array_equal(tree.boxes()[:, 1:], _tree(session, n).boxes()[:, 1:]):
        raise DisagreementError("other boxes than those of the tree in breadth-first order")
    seconds = [stage_seconds(session, [tree.refit])[-1] for _ in range(WARM_UP + LEAST)][WARM_UP:]
    return {name: statistics.median(getattr(each, name) for each in seconds) for name in ("span", "kernels")}


def _lanes(session: clfrnn.Session, n: int, radius: float) -> Numbers:
    return lanes(_tree(session, n), radius * diagonal())


EXPERIMENTS: dict[str, Callable[..., Numbers]] = {"printed": _printed, "nodes": _nodes, "lanes": _lanes}


@functools.lru_cache(maxsize=2)
def _tree(session: clfrnn.Session, n: int, *, scattered: bool = False) -> PaperTree:
    return PaperTree(session, cube(n), scattered=scattered)
