"""Pedestrians by the rules that FLAME GPU publishes, beside those of :class:`clfrnn.models.Pedestrians`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyopencl.array as cla

import clfrnn

__all__ = ["FlamePedestrians"]

#: The numbers of FLAME GPU's example ``PedestrianLOD``, in its units: how far pedestrians see, who is too near to have
#: a direction, and the length that distances are divided by.
RADIUS, NEAREST, SCALE = 0.025, 1e-4, 0.35 * 0.03125

#: The time of a step and the strengths of its three rules, which that example reads from a file that is not at hand:
#: those of FLAME GPU 2's example ``pedestrian_navigation``, which has the same rules.
RULES = {"dt": 3e-4, "steer": 0.1, "avoid": 0.02, "goal": 0.2}

#: Desired speeds, as drawn there for those who come in.
SPEEDS = (1.0, 1.5)

#: A pedestrian keeps clear of all others that it sees, and more so of those ahead and behind; its goal is to go on as
#: it goes. The example takes the angle by the product of its velocity, which need not be 1 long, and a direction: a
#: product beyond 1 has no angle there, and such a neighbor is not ahead.
WALK = clfrnn.NeighborFunction(
    arguments="""const real dt, const real steer, const real avoid, const real goal, const real nearest,
        const real scale, const real edge, global const real *speeds, global const real *positions,
        global const real *velocities, global real *moved, global real *turned""",
    state="real_vec velocity = vload2(i, velocities), change = goal * velocity;",
    per_neighbor="""
        if (d2 > nearest * nearest) {
            const real d = sqrt(d2), ahead = fabs(dot(velocity, dx) / d);
            real strength = avoid * (scale / d) * (scale / d);
            if (ahead > (real)0.70710678 && ahead <= 1) strength += steer * pow(scale / d, (real)1.25);
            change -= strength * dx / d;
        }
    """,
    finish="""
        velocity += (length(velocity) + (real)0.025) * change;
        const real speed = length(velocity);
        if (speed > speeds[i]) velocity *= speeds[i] / speed;
        const real_vec place = vload2(i, positions) + dt * velocity;
        vstore2(select(select(place, (real_vec)(-edge), place > edge), (real_vec)(edge), place <= -edge), i, moved);
        vstore2(velocity, i, turned);
    """,
)


class FlamePedestrians:
    """Pedestrians of FLAME GPU's rules in a square, in float32; who leaves it comes in at the other side.

    Parameters
    ----------
    n : pedestrians
    neighbors : others that each sees at the start, in the mean, which says how large the square is
    session : where they walk
    **options : of :func:`clfrnn.build_index`
    """

    def __init__(self, n: int, *, neighbors: float, session: clfrnn.Session, **options: Any) -> None:
        self.n, self.session = n, session
        self.half = 0.5 * RADIUS * (np.pi * n / neighbors) ** 0.5
        rng = np.random.default_rng(0)
        start = rng.uniform(-self.half, self.half, (n, 2)).astype(np.float32)
        speeds, angles = rng.uniform(*SPEEDS, n), rng.uniform(0, 2 * np.pi, n)
        velocities = speeds[:, None] * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        self.index: Any = clfrnn.build_index(start, RADIUS, session=session, **options)
        self.positions, self.velocities, self._speeds = (
            cla.to_device(session.queue, each.astype(np.float32)) for each in (start, velocities, speeds)
        )
        self._moved, self._turned = cla.empty_like(self.positions), cla.empty_like(self.velocities)

    def step(self, n: int = 1) -> None:
        """So many steps on, not waited for: a visit and an update each."""
        for _ in range(n):
            self.index.visit(
                WALK,
                **RULES,
                nearest=NEAREST,
                scale=SCALE,
                edge=self.half,
                speeds=self._speeds,
                positions=self.positions,
                velocities=self.velocities,
                moved=self._moved,
                turned=self._turned,
            )
            self.index.update(self._moved)
            self.positions, self._moved = self._moved, self.positions
            self.velocities, self._turned = self._turned, self.velocities
