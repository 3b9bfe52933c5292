"""One way to search one cloud: the time of a step, and the memory that the index takes."""

from __future__ import annotations

import functools
import statistics
import time
from typing import Any

import numpy as np
import pyopencl.array as cla

import clfrnn
from clfrnn.errors import ClfrnnError
from clfrnn.methods.grid.plan import CellPlan, plan_cells
from clfrnn.methods.grid.uniform_grid import UniformGrid
from clfrnn.problem import Problem
from clfrnn.profile import DeviceProfile
from clfrnn.tuning import Tuning

from ..building import build_by
from ..clock import Seconds, stage_seconds
from ..paper import Measurement

__all__ = ["DisagreementError", "GridOfSide", "measure"]

#: Steps before those that are timed: everything is compiled, and the pool is filled.
WARM_UP = 3

#: So many steps are timed at least, and then no more once they have taken so many seconds.
LEAST, ENOUGH = 5, 0.5

#: What an index holds besides is additional.
SORTED = "sorted_points"


class DisagreementError(ClfrnnError):
    """A way to search has found other numbers of neighbors than strips."""


class GridOfSide(UniformGrid):
    """`uniform_grid` with cells of a given side, where the method itself would choose one."""

    def __init__(self, side: float) -> None:
        self.side = side

    def plan(self, problem: Problem, profile: DeviceProfile, tuning: Tuning) -> CellPlan:
        """Cells of this side."""
        return plan_cells(problem, profile, tuning, (self.side,) * problem.dim)


def measure(session: clfrnn.Session, measurement: Measurement) -> dict[str, float]:
    """Seconds of a step, of its parts and in kernels; bytes kept and taken; neighbors of a point."""
    facts = measurement.to_dict()
    n, scene, radius = int(facts["n"]), float(facts["scene"]), float(facts["radius"])
    points = _cloud(session, n, scene)
    own = _apart(session)
    index = _build(own, points, radius, facts)
    numbers = _memory(own, index)
    for _ in range(WARM_UP):
        stage_seconds(own, [lambda: index.update(points), index.count])
    numbers |= _typical(_laps(own, index, points, int(facts["steps"])))
    index.check()
    counts = index.count().get()
    numbers["neighbors"] = float(counts.mean())
    expected = _counts(session, n, scene, radius)
    if not np.array_equal(counts, expected):
        wrong = np.count_nonzero(counts != expected)
        raise DisagreementError(
            f"{counts.sum(dtype=np.int64):,} neighbors where strips finds {expected.sum(dtype=np.int64):,}, and other "
            f"counts at {wrong:,} points"
        )
    return numbers


def _apart(session: clfrnn.Session) -> clfrnn.Session:
    """A session of the same queue and programs with a pool of its own, which tells what one index takes."""
    own = clfrnn.Session(session.queue)
    own.profile, own.programs = session.profile, session.programs
    return own


def _build(session: clfrnn.Session, points: cla.Array, radius: float, facts: dict[str, Any]) -> clfrnn.Index:
    options = {name: facts[name] for name in ("construction", "coarse_shape") if name in facts}
    if "side" in facts:
        return build_by(GridOfSide(float(facts["side"])), session, points, radius, **options)
    return clfrnn.build_index(points, radius, method=facts["method"], session=session, **options)


def _memory(session: clfrnn.Session, index: clfrnn.Index) -> dict[str, float]:
    """Bytes beside the sorted copy of the points: what the index keeps, and the most that building it took."""
    held = index.nbytes
    copy = held[SORTED]
    return {
        "copy": float(copy),
        "kept": float(sum(held.values()) - copy),
        "build": float(session.pooled_bytes - copy),
    }


def _laps(session: clfrnn.Session, index: clfrnn.Index, points: cla.Array, most: int) -> list[list[Seconds]]:
    """The times of update, count and both, step by step."""
    laps: list[list[Seconds]] = []
    started = time.perf_counter()
    while len(laps) < min(LEAST, most) or (len(laps) < most and time.perf_counter() - started < ENOUGH):
        laps.append(stage_seconds(session, [lambda: index.update(points), index.count]))
    return laps


def _typical(laps: list[list[Seconds]]) -> dict[str, float]:
    """Medians over steps; of a step also the quartiles, and how many there were."""
    spans = {name: statistics.median(lap[k].span for lap in laps) for k, name in enumerate(("update", "count", "step"))}
    low, high = np.quantile([lap[2].span for lap in laps], (0.25, 0.75)).tolist()
    kernels = statistics.median(lap[-1].kernels for lap in laps)
    return {**spans, "step_low": low, "step_high": high, "kernels": kernels, "timed": float(len(laps))}


@functools.lru_cache(maxsize=1)
def _cloud(session: clfrnn.Session, n: int, scene: float) -> cla.Array:
    """Uniform points of the scene on the device, in random order."""
    unit = np.random.default_rng(0).random((n, 3), dtype=np.float32)
    return cla.to_device(session.queue, unit * np.float32(scene))


@functools.lru_cache(maxsize=1)
def _counts(session: clfrnn.Session, n: int, scene: float, radius: float) -> np.ndarray[Any, Any]:
    """The neighbors of each point by strips: what every way must find."""
    index = clfrnn.build_index(_cloud(session, n, scene), radius, method="strips", session=_apart(session))
    counts: np.ndarray[Any, Any] = index.count().get()
    return counts
