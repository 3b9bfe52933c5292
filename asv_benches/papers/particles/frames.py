"""One way to run the simulation, timed from the settled heap on."""

from __future__ import annotations

import functools
import statistics
import time
from typing import Any

import numpy as np

import clfrnn

from ..clock import stage_seconds
from ..paper import Measurement
from .spheres import Spheres, lattice

__all__ = ["measure", "sphere_radius"]

#: Frames before those that are timed: everything is compiled, and every order has been put in place.
WARM_UP = 17

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
    """Seconds of a frame's stages and of the frame, frames a second by the wall clock, and how the heap lies."""
    facts = measurement.to_dict()
    n, frames = int(facts["n"]), int(facts["frames"])
    start = settled(session, n, int(facts["settling"]))
    options: dict[str, Any] = {name: facts[name] for name in ("method", "construction")}
    heap = Spheres(start[0], sphere_radius(n), start[1], session=session, reorder=int(facts["reorder"]), **options)
    heap.step(WARM_UP)
    laps = [stage_seconds(session, heap.stages()) for _ in range(frames)]
    numbers = {name: sum(lap[k] for lap in laps if k < len(lap) - 1) / frames for k, name in enumerate(STAGES)}
    numbers["frame"] = statistics.fmean(lap[-1] for lap in laps)
    session.queue.finish()
    started = time.perf_counter()
    heap.step(frames)
    session.queue.finish()
    numbers["frames_per_second"] = frames / (time.perf_counter() - started)
    heap.index.check()
    numbers["touching"] = float(heap.index.count().get().mean())
    assert numbers["touching"] > 0, "a benchmark that finds nothing measures nothing"
    speed = float(np.sqrt((heap.velocities.get().astype(np.float64) ** 2).sum(axis=1).mean()))
    numbers["radii_per_frame"] = speed * heap.material.dt / heap.radius
    return numbers
