"""Steps of a gas: forces over a list that is made again each twentieth step, and over an index that is updated."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyopencl.array as cla

import clfrnn

from .common import PLATFORMS, session, uniform_radius

#: Neighbors of a point, the skin as a share of the radius, and the steps after which a list is made again.
NEIGHBORS, SKIN, LIFE = 50, 0.15, 20

#: Steps that are timed together, of which some make the list, and those before them.
LAP, SETTLING = 5 * LIFE, LIFE

FORCE = clfrnn.NeighborFunction(
    arguments="const real sigma2, global real *forces",
    state="real_vec force = (real_vec)(0);",
    per_neighbor="""
        const real s2 = sigma2 / d2, s6 = s2 * s2 * s2;
        force -= dx * (24 * s6 * (2 * s6 - 1) / d2);
    """,
    finish="forces[3 * i] = force.s0; forces[3 * i + 1] = force.s1; forces[3 * i + 2] = force.s2;",
)


class Gas:
    """Points of a periodic box that fly straight on, all at the speed that uses up half of the skin in `LIFE` steps."""

    def __init__(self, where: clfrnn.Session, n: int) -> None:
        rng = np.random.default_rng(0)
        points = rng.random((n, 3), dtype=np.float32)
        self.radius = uniform_radius(n, NEIGHBORS)
        self.sigma2 = (self.radius / 2.5) ** 2
        along = rng.normal(size=(n, 3))
        along /= np.linalg.norm(along, axis=1, keepdims=True)
        speed = SKIN * self.radius / 2 / (LIFE - 0.5)
        self.points = cla.to_device(where.queue, points)
        self.velocities = cla.to_device(where.queue, (along * speed).astype(np.float32))
        self.forces = cla.zeros(where.queue, (n, 3), np.float32)
        box = np.ones(3)
        self.index = clfrnn.build_index(self.points, self.radius, box=box, session=where)
        self.pairs = clfrnn.VerletList(self.points, self.radius, skin=SKIN * self.radius, box=box, session=where)

    def listed(self) -> None:
        """A step over the list."""
        self.points += self.velocities
        self.pairs.update(self.points)
        self.pairs.visit(FORCE, sigma2=self.sigma2, forces=self.forces)

    def searched(self) -> None:
        """A step over the index."""
        self.points += self.velocities
        self.index.update(self.points)
        self.index.visit(FORCE, sigma2=self.sigma2, forces=self.forces)

    def seconds(self, step: Callable[[], None]) -> float:
        """The wall time of a step in a loop, which is waited for at its end."""
        queue = self.index.session.queue
        for _ in range(SETTLING):
            step()
        queue.finish()
        started = time.perf_counter()
        for _ in range(LAP):
            step()
        queue.finish()
        assert self.forces.get().any(), "a benchmark that finds nothing measures nothing"
        return (time.perf_counter() - started) / LAP


@functools.cache
def gas_case(device: str, n: int) -> Gas:
    """A gas, made once, in a session as users have it."""
    return Gas(clfrnn.Session(session(device).device), n)


class Forces:
    """A step of a gas with its forces."""

    params = (list(PLATFORMS), [65_536, 1_000_000])
    param_names = ("device", "n")
    timeout = 300

    def setup(self, device: str, n: int) -> None:
        """Made once, then found again."""
        self.gas = gas_case(device, n)

    def track_listed(self, *_: Any) -> float:
        """With a list."""
        return self.gas.seconds(self.gas.listed)

    def track_searched(self, *_: Any) -> float:
        """With an index."""
        return self.gas.seconds(self.gas.searched)

    for track in (track_listed, track_searched):
        track.unit = "seconds"  # type: ignore[attr-defined]
    del track
