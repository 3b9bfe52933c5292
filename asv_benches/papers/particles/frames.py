"""One way to run the simulation, timed from the settled heap on."""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyopencl as cl

import clfrnn

from ..clock import Seconds, stage_seconds
from ..paper import Measurement
from .spheres import Spheres, lattice

__all__ = ["measure", "sphere_radius"]

#: Frames before those that are timed: everything is compiled, and every order has been put in place.
WARM_UP = 17

#: Times that so many frames are run by the wall clock; the best counts, as the host is often late and never early.
LAPS = 5

STAGES = ("integrate", "build", "collide", "reorder")


def sphere_radius(n: int) -> float:
    """1/64 for the paper's 65,536 spheres; others fill the same share of the box."""
    return float((65_536 / n) ** (1 / 3) / 64)


@functools.lru_cache(maxsize=2)
def settled(session: clfrnn.Session, n: int, frames: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Positions and velocities after so many frames, in random order; the same for every way to go on."""
    radius = sphere_radius(n)
    heap = Spheres(lattice(n, radius), radius, session=session, reorder=16, method="strips", construction="sort")
    heap.step(frames)
    shuffled = np.random.default_rng(1).permutation(n)
    return heap.positions.get()[shuffled], heap.velocities.get()[shuffled, :3]


def measure(session: clfrnn.Session, measurement: Measurement) -> dict[str, float]:
    """Seconds of a frame's stages, of the frame, and of the kernels of `build`; frames a second; how the heap lies."""
    facts = measurement.to_dict()
    n, frames = int(facts["n"]), int(facts["frames"])
    start = settled(session, n, int(facts["settling"]))
    options: dict[str, Any] = {name: facts[name] for name in ("method", "construction")}
    options |= {"reorder": int(facts["reorder"])}
    heap = Spheres(start[0], sphere_radius(n), start[1], session=session, **options)
    heap.step(WARM_UP)
    numbers = typical([stage_seconds(session, heap.stages()) for _ in range(frames)])
    heap = Spheres(start[0], sphere_radius(n), start[1], session=_plain(session), **options)
    heap.step(WARM_UP + frames)
    numbers["frames_per_second"] = frames / min(_wall(heap, frames) for _ in range(LAPS))
    heap.index.check()
    numbers["touching"] = float(heap.index.count().get().mean())
    assert numbers["touching"] > 0, "a benchmark that finds nothing measures nothing"
    speed = float(np.sqrt((heap.velocities.get().astype(np.float64) ** 2).sum(axis=1).mean()))
    numbers["radii_per_frame"] = speed * heap.material.dt / heap.radius
    return numbers


def typical(frames: Sequence[Sequence[Seconds]]) -> dict[str, float]:
    """Medians over frames, given each one's stages and, last, all of it.

    A frame with a reordering is another thing than one without: either kind has its median, which counts as often as
    there are such frames.
    """
    numbers = dict.fromkeys((*STAGES, "frame", "build_kernels"), 0.0)
    for length in {len(frame) for frame in frames}:
        kind = [frame for frame in frames if len(frame) == length]
        columns = {**dict(zip(STAGES, range(length - 1), strict=False)), "frame": length - 1}
        medians = {name: statistics.median(frame[k].span for frame in kind) for name, k in columns.items()}
        medians["build_kernels"] = statistics.median(frame[columns["build"]].kernels for frame in kind)
        for name, median in medians.items():
            numbers[name] += median * len(kind) / len(frames)
    return numbers


def _plain(session: clfrnn.Session) -> clfrnn.Session:
    """One with the same programs on a queue as users have it, without profiling."""
    own = clfrnn.Session(cl.CommandQueue(session.context))
    own.programs = session.programs
    return own


def _wall(heap: Spheres, frames: int) -> float:
    """Seconds by the wall clock of so many frames, waited for at the end."""
    heap.session.queue.finish()
    started = time.perf_counter()
    heap.step(frames)
    heap.session.queue.finish()
    return time.perf_counter() - started
