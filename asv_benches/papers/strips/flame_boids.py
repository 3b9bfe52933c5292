"""Boids by the rules that FLAME GPU publishes with its example, beside those of :class:`clfrnn.models.Boids`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyopencl.array as cla

import clfrnn

__all__ = ["FlameBoids"]

#: The numbers of FLAME GPU 2's example ``boids_spatial3D``, in its units: how far boids see, and how near they part.
RADIUS, SEPARATION_RADIUS = 0.05, 0.01

#: The rest of them: the time of a step, the share of a change of velocity, and the strengths of its three rules.
RULES = {"dt": 0.0005, "turn": 0.15, "steer": 0.055, "match": 0.015, "part": 10.0}

#: Who is nearer to a wall than the first turns away by the second, in every step.
WALL, AWAY = 0.10, 0.05

SPEEDS = (0.5, 1.0)

#: A boid steers to the middle of those that it sees, takes on a share of their mean velocity in the place of its own,
#: and parts from those that are too near; walls count after the speed is bounded, and hold it.
FLOCK = clfrnn.NeighborFunction(
    arguments="""const real dt, const real turn, const real steer, const real match, const real part, const real reach,
        const real edge, const real wall, const real away, const real slowest, const real fastest,
        global const real *positions, global const real *velocities, global real *moved, global real *turned""",
    state="real_vec middle = (real_vec)(0), mean = (real_vec)(0), change = (real_vec)(0); int seen = 0;",
    per_neighbor="""
        const real d = sqrt(d2);
        middle += dx;
        mean += vload3(j, velocities);
        ++seen;
        if (d < reach) change -= part * dx * (1 - d / reach) * (1 - d / reach);
    """,
    finish="""
        real_vec velocity = vload3(i, velocities), place = vload3(i, positions);
        if (seen) change += steer * middle / seen + match * mean / seen - velocity;
        velocity += turn * change;
        const real speed = length(velocity);
        if (speed > 0) velocity *= clamp(speed, slowest, fastest) / speed;
        velocity += select((real_vec)(0), (real_vec)(away), place + edge < wall);
        velocity -= select((real_vec)(0), (real_vec)(away), edge - place < wall);
        vstore3(clamp(place + dt * velocity, -edge, edge), i, moved);
        vstore3(velocity, i, turned);
    """,
)


class FlameBoids:
    """Boids of FLAME GPU's rules in a cube with walls, in 3D and float32.

    Parameters
    ----------
    n : boids
    neighbors : others that each sees at the start, in the mean, which says how large the cube is
    session : where they fly
    **options : of :func:`clfrnn.build_index`
    """

    def __init__(self, n: int, *, neighbors: float, session: clfrnn.Session, **options: Any) -> None:
        self.n, self.session = n, session
        self.half = 0.5 * RADIUS * (4 / 3 * np.pi * n / neighbors) ** (1 / 3)
        rng = np.random.default_rng(0)
        start = rng.uniform(-self.half, self.half, (n, 3)).astype(np.float32)
        directions = rng.standard_normal((n, 3))
        speeds = rng.uniform(0.1, 1.0, (n, 1)) / np.linalg.norm(directions, axis=1, keepdims=True)
        self.index: Any = clfrnn.build_index(start, RADIUS, session=session, **options)
        self.positions, self.velocities = (
            cla.to_device(session.queue, each) for each in (start, (directions * speeds).astype(np.float32))
        )
        self._moved, self._turned = cla.empty_like(self.positions), cla.empty_like(self.velocities)

    def step(self, n: int = 1) -> None:
        """So many steps on, not waited for: a visit and an update each."""
        for _ in range(n):
            self.index.visit(
                FLOCK,
                **RULES,
                reach=SEPARATION_RADIUS,
                edge=self.half,
                wall=WALL,
                away=AWAY,
                slowest=SPEEDS[0],
                fastest=SPEEDS[1],
                positions=self.positions,
                velocities=self.velocities,
                moved=self._moved,
                turned=self._turned,
            )
            self.index.update(self._moved)
            self.positions, self._moved = self._moved, self.positions
            self.velocities, self._turned = self._turned, self.velocities
