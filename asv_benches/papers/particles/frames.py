"""One way to run the simulation, timed from the settled heap on."""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import clfrnn

from ..clock import Seconds, stage_seconds, unprofiled
from ..paper import Measurement
from .fixed_cells import CAPACITY, AtomicCells, FixedCells, TwoPassCells
from .spheres import Ordered

__all__ = ["STAGES", "measure"]

#: Frames before those that are timed: everything is compiled, and every order has been put in place.
WARM_UP = 17

#: Times that so many frames are run by the wall clock; the best counts, as the host is often late and never early.
LAPS = 5

STAGES = ("collide", "reorder", "build")

State = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]


@functools.lru_cache(maxsize=2)
def settled(session: clfrnn.Session, n: int, frames: int) -> State:
    """Positions and velocities after so many frames, in random order; the same for every way to go on."""
    heap = Ordered(n, session=session, reorder=16, method="strips", construction="sort")
    heap.step(frames)
    shuffled = np.random.default_rng(1).permutation(n)
    return heap.positions.get()[shuffled], heap.velocities.get()[shuffled]


def in_cells(start: State, side: float) -> State:
    """The same, in the order of cells, row by row."""
    cells = np.floor((start[0] + 1) / side).astype(int)
    order = np.lexsort(tuple(cells.T))
    return start[0][order], start[1][order]


def measure(session: clfrnn.Session, measurement: Measurement) -> dict[str, float]:
    """Seconds of a frame's stages, of the frame, and of the kernels of `build`; frames a second; how the heap lies."""
    facts = measurement.to_dict()
    n, frames = int(facts["n"]), int(facts["frames"])
    start = settled(session, n, int(facts["settling"]))
    heap = _heap(session, facts, start)
    heap.step(WARM_UP)
    numbers = typical([stage_seconds(session, heap.stages()) for _ in range(frames)])
    heap = _heap(unprofiled(session), facts, start)
    heap.step(WARM_UP + frames)
    if isinstance(heap, FixedCells):
        numbers["lost"] = float(heap.lost())
    numbers["frames_per_second"] = frames / min(_wall(heap, frames) for _ in range(LAPS))
    heap.index.update(heap.positions)  # cells of fixed capacity have left it behind
    heap.index.check()
    numbers["touching"] = float(heap.index.count().get().mean())
    assert numbers["touching"] > 0, "a benchmark that finds nothing measures nothing"
    speed = float(np.sqrt((heap.velocities.get().astype(np.float64) ** 2).sum(axis=1).mean()))
    numbers["radii_per_frame"] = speed * heap.dt / heap.radius
    return numbers


def _heap(session: clfrnn.Session, facts: Mapping[str, Any], start: State) -> Ordered | AtomicCells:
    """The heap, to be run in the measurement's way."""
    heap: Ordered | AtomicCells
    n = int(facts["n"])
    if "start" in facts:
        given: dict[str, Any] = {"session": session, "numbering": facts["numbering"]}
        given["reads"] = facts.get("reads", "arrays")
        if facts["method"] == "two_pass":
            heap = TwoPassCells(n, **given)
        else:
            capacity = int(facts.get("capacity", CAPACITY))
            heap = FixedCells(n, capacity=capacity, lossy=capacity < CAPACITY, **given)
        start = in_cells(start, 2 * heap.radius) if facts["start"] == "cells" else start
    else:
        options = {name: facts[name] for name in ("method", "construction")}
        heap = Ordered(n, session=session, reorder=int(facts["reorder"]), **options)
    heap.place(*start)
    return heap


def typical(frames: Sequence[Sequence[Seconds]]) -> dict[str, float]:
    """Medians over frames, given each one's stages and, last, all of it.

    A frame with a reordering is another thing than one without: either kind has its median, which counts as often as
    there are such frames.
    """
    numbers = dict.fromkeys((*STAGES, "frame", "build_kernels"), 0.0)
    for length in {len(frame) for frame in frames}:
        kind = [frame for frame in frames if len(frame) == length]
        stages = STAGES if length == len(STAGES) + 1 else (STAGES[0], STAGES[-1])  # those that reorder, and others
        columns = {**{name: k for k, name in enumerate(stages)}, "frame": length - 1}
        medians = {name: statistics.median(frame[k].span for frame in kind) for name, k in columns.items()}
        medians["build_kernels"] = statistics.median(frame[columns["build"]].kernels for frame in kind)
        for name, median in medians.items():
            numbers[name] += median * len(kind) / len(frames)
    return numbers


def _wall(heap: Ordered | AtomicCells, frames: int) -> float:
    """Seconds by the wall clock of so many frames, waited for at the end."""
    heap.session.queue.finish()
    started = time.perf_counter()
    heap.step(frames)
    heap.session.queue.finish()
    return time.perf_counter() - started
