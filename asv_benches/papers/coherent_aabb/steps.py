"""One measurement of the paper: the time of a step, an update or a search, and the memory that it takes."""

from __future__ import annotations

import dataclasses
import functools
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyopencl.array as cla

import clfrnn
from clfrnn.errors import ClfrnnError
from clfrnn.methods.tree.aabb_tree import AabbTree, TreeStructure
from clfrnn.methods.tree.plan import TreePlan
from clfrnn.methods.tree.walk_plan import without_packets
from clfrnn.problem import Problem
from clfrnn.profile import DeviceProfile
from clfrnn.tuning import Tuning

from ...benchmarks.common import structure_of
from ..building import build_by
from ..clock import stage_seconds
from ..paper import Measurement, Numbers
from .scenes import Groups, cube, diagonal, displacements, groups, radius_of

__all__ = ["DisagreementError", "compare", "expected", "measure", "resting", "typical", "update_seconds"]

#: Steps before those that are timed: everything is compiled, and the pool is filled.
WARM_UP = 3

#: So many of a kind are timed at least, and then no more once they have taken so many seconds.
LEAST, MOST, ENOUGH = 5, 50, 0.5


class DisagreementError(ClfrnnError):
    """A way to search has found other numbers of neighbors than the one that all are held against."""


class Primary(AabbTree):
    """`aabb_tree` whose queries go down by themselves on every device."""

    def plan(self, problem: Problem, profile: DeviceProfile, tuning: Tuning) -> TreePlan:
        """The same leaves, and no packs."""
        plan = super().plan(problem, profile, tuning)
        return dataclasses.replace(plan, config=without_packets(plan.config, profile, tuning))


def measure(session: clfrnn.Session, measurement: Measurement) -> Numbers:
    """The numbers of a measurement: seconds, bytes, and neighbors of a point."""
    facts = dict(measurement.to_dict())
    experiment = EXPERIMENTS[str(facts.pop("experiment"))]
    return experiment(session, **facts)


# --- experiments ------------------------------------------------------------------------------------------------------


def _moving(session: clfrnn.Session, n: int, reach: float, radius: float, way: str, steps: int) -> Numbers:
    """Seconds of a step of points that move: the mean, as the paper's; how many of them made an order anew."""
    start, positions = resting(session, n), _positions(session, n, reach, steps)
    own = radius * diagonal()
    index = clfrnn.build_index(start, own, method=way, session=session)
    for _ in range(WARM_UP):
        stage_seconds(session, [functools.partial(index.update, start), index.count])
    spans, rebuilt = [], 0
    for points in positions:
        update, count, both = stage_seconds(session, [functools.partial(index.update, points), index.count])
        spans.append((update.span, count.span, both.span))
        rebuilt += index.last_update == "rebuilt"
    index.check()
    counts = index.count().get()
    compare(counts, expected(session, positions[-1], own))
    lists = typical(session, index.query)
    update, count, both = (statistics.fmean(column) for column in zip(*spans, strict=True))
    return {
        "step": both,
        "update": update,
        "count": count,
        "lists": lists,
        "rebuilt": float(rebuilt),
        "neighbors": float(counts.mean()),
    }


def _scheme(session: clfrnn.Session, n: int, radius: float, way: str, steps: int) -> Numbers:  # noqa: ARG001
    """Seconds of a count, of queries by themselves or in packs."""
    points, reach = resting(session, n), radius * diagonal()
    index = build_by(Primary() if way == "primary" else AabbTree(), session, points, reach)
    structure = structure_of(index)
    assert isinstance(structure, TreeStructure)
    counts = index.count().get()
    compare(counts, expected(session, points, reach))
    return {
        "count": typical(session, index.count),
        "packed": float(structure.config.packed),
        "neighbors": float(counts.mean()),
    }


def _radius(session: clfrnn.Session, n: int, radius: float, way: str) -> Numbers:
    """Seconds and bytes of lists, and of the nearest neighbors, of queries that are no points."""
    reach = radius * diagonal()
    points, queries = resting(session, n), resting(session, n, 1)
    numbers: dict[str, float] = {}
    for what in ("lists", "nearest"):
        own = _apart(session)
        index = clfrnn.build_index(points, reach, method=way, session=own)

        def search(index: Any = index, what: str = what) -> Any:
            return index.query(queries) if what == "lists" else index.nearest(queries)

        found = search()
        numbers[f"{what}_bytes"] = float(own.pooled_bytes)
        if what == "lists":
            del found
        numbers[what] = typical(own, search)
    numbers["kept"] = float(sum(index.nbytes.values()))
    counts = index.count(queries).get()
    compare(counts, expected(session, points, reach, queries))
    _compare_nearest(session, points, reach, queries, found)
    numbers["neighbors"] = float(counts.mean())
    return numbers


def _dimension(session: clfrnn.Session, n: int, dim: int, neighbors: int, way: str) -> Numbers:
    """Seconds of a count and of lists in so many dimensions."""
    host = cube(n, dim)
    reach = radius_of(host, neighbors)
    points = _on(session, host)
    index = clfrnn.build_index(points, reach, method=way, session=session)
    counts = index.count().get()
    compare(counts, expected(session, points, reach))
    return {
        "update": typical(session, lambda: index.update(points)),
        "count": typical(session, index.count),
        "lists": typical(session, index.query),
        "radius": reach / diagonal(dim),
        "neighbors": float(counts.mean()),
    }


def _update(session: clfrnn.Session, n: int, way: str, radius: float) -> Numbers:
    """Seconds of an update: of a tree that is fitted or made anew, or of a grid."""
    reach, (here, there) = radius * diagonal(), _positions(session, n, 0.001, 2)
    tree = way in ("refit", "rebuild")
    options: dict[str, Any] = {"method": "aabb_tree" if tree else way}
    if tree:
        options["rebuild_threshold"] = 1.0 if way == "rebuild" else np.inf
    index = clfrnn.build_index(here, reach, session=session, **options)
    seconds = update_seconds(session, index, here, there, anew=way == "rebuild")
    index.check()
    index.update(there)
    compare(index.count().get(), expected(session, there, reach))
    return {"update": statistics.median(seconds), "timed": float(len(seconds))}


def _groups(session: clfrnn.Session, n: int, radius: float, way: str) -> Numbers:
    """Seconds of a step of points with radii of their own."""
    scene, points, radii = _scene(session, n, radius)
    index = clfrnn.build_index(points, scene.largest, method=way, session=session)

    def step() -> Any:
        index.update(points)
        return index.count(radius=radii)

    counts = step().get()
    compare(counts, expected(session, points, scene.largest, own=radii))
    return {"step": typical(session, step), "neighbors": float(counts.mean())}


EXPERIMENTS: dict[str, Callable[..., Numbers]] = {
    "moving": _moving,
    "scheme": _scheme,
    "radius": _radius,
    "dimension": _dimension,
    "update": _update,
    "groups": _groups,
}


# --- what they share --------------------------------------------------------------------------------------------------


def update_seconds(
    session: clfrnn.Session, index: clfrnn.Index, here: cla.Array, there: cla.Array, *, anew: bool
) -> list[float]:
    """Seconds of updates between two sets of positions; `anew`: of those that make a tree's order anew.

    With the least threshold, an update behind a move makes a new order; that it is at rest before the move, and again
    behind the new order, keeps it from looking at its own boxes first.
    """
    cycle, timed = ((here, there, there, there, here, here), (2, 5)) if anew else ((here, there), (0, 1))
    seconds: list[float] = []
    started, k = time.perf_counter(), 0
    while len(seconds) < LEAST or (len(seconds) < MOST and time.perf_counter() - started < ENOUGH):
        span = stage_seconds(session, [functools.partial(index.update, cycle[k % len(cycle)])])[-1].span
        if k >= len(cycle) * WARM_UP and k % len(cycle) in timed:
            assert not anew or index.last_update == "rebuilt"
            seconds.append(span)
        k += 1
    return seconds


def typical(session: clfrnn.Session, step: Callable[[], object]) -> float:
    """The median time of a step."""
    seconds: list[float] = []
    for _ in range(WARM_UP):
        stage_seconds(session, [step])
    started = time.perf_counter()
    while len(seconds) < LEAST or (len(seconds) < MOST and time.perf_counter() - started < ENOUGH):
        seconds.append(stage_seconds(session, [step])[-1].span)
    return statistics.median(seconds)


def _apart(session: clfrnn.Session) -> clfrnn.Session:
    """A session of the same queue and programs with a pool of its own, which tells what one search takes."""
    own = clfrnn.Session(session.queue)
    own.profile, own.programs = session.profile, session.programs
    return own


def compare(counts: np.ndarray[Any, Any], others: np.ndarray[Any, Any]) -> None:
    """Raise where the counts of two ways differ."""
    if not np.array_equal(counts, others):
        wrong = np.count_nonzero(counts != others)
        raise DisagreementError(
            f"{counts.sum(dtype=np.int64):,} neighbors where {others.sum(dtype=np.int64):,} are expected, and other "
            f"counts at {wrong:,} points"
        )


def _compare_nearest(
    session: clfrnn.Session, points: cla.Array, radius: float, queries: cla.Array, found: clfrnn.Nearest
) -> None:
    others = clfrnn.build_index(points, radius, method="strips", session=_apart(session)).nearest(queries)
    if not np.array_equal(found.distances.get(), others.distances.get()):
        raise DisagreementError("other nearest neighbors than expected: their distances differ")


def expected(
    session: clfrnn.Session,
    points: cla.Array,
    radius: float,
    queries: cla.Array | None = None,
    *,
    own: cla.Array | None = None,
) -> np.ndarray[Any, Any]:
    """The counts that every way must find."""
    method = "strips" if points.shape[1] <= 3 else "brute_force"
    index = clfrnn.build_index(points, radius, method=method, session=_apart(session))
    counts: np.ndarray[Any, Any] = index.count(queries, radius=own).get()
    return counts


def _on(session: clfrnn.Session, host: np.ndarray[Any, Any]) -> cla.Array:
    return cla.to_device(session.queue, host)


@functools.lru_cache(maxsize=2)
def resting(session: clfrnn.Session, n: int, seed: int = 0) -> cla.Array:
    """Uniform points on the device."""
    return _on(session, cube(n, seed=seed))


@functools.lru_cache(maxsize=4)
def _positions(session: clfrnn.Session, n: int, reach: float, steps: int) -> list[cla.Array]:
    """Positions of all steps on the device."""
    return [_on(session, host) for host in displacements(cube(n), reach, steps)]


@functools.lru_cache(maxsize=1)
def _scene(session: clfrnn.Session, n: int, radius: float) -> tuple[Groups, cla.Array, cla.Array]:
    """The groups, their points and their radii on the device."""
    scene = groups(n, radius)
    return scene, _on(session, scene.points), _on(session, scene.radii)
