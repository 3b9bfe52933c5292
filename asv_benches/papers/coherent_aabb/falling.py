"""Three groups of particles that fall in a box; each particle searches within the radius of its group."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyopencl.array as cla

import clfrnn

from .scenes import groups

__all__ = ["Falling"]

#: Contacts as springs that lose energy, gravity, and walls that take half of the speed, for particles of mass 1.
TIME_STEP, STIFFNESS, DAMPING, GRAVITY, RESTITUTION = 5e-4, 1e5, 200.0, 1.0, 0.5

#: Two particles touch where they are nearer than the lesser of their diameters, so that both see it. The second axis
#: points upwards, as groups are made.
STEP = clfrnn.NeighborFunction(
    arguments="""const real dt, const real stiffness, const real damping, const real gravity, const real restitution,
        global const real *diameters, global const real *positions, global const real *velocities,
        global real *moved, global real *changed""",
    state="""
        const real own = diameters[i];
        const real_vec speed = vload3(i, velocities);
        real_vec force = (real_vec)(0);
    """,
    per_neighbor="""
        const real reach = fmin(own, diameters[j]);
        if (d2 > 0 && d2 < reach * reach) {
            const real d = sqrt(d2);
            const real_vec normal = dx / d;
            force += (damping * dot(vload3(j, velocities) - speed, normal) - stiffness * (reach - d)) * normal;
        }
    """,
    finish="""
        force.y -= gravity;
        real_vec velocity = speed + dt * force;
        const real_vec place = vload3(i, positions) + dt * velocity;
        velocity = place < 0 || place > 1 ? -restitution * velocity : velocity;
        vstore3(clamp(place, (real)0, (real)1), i, moved);
        vstore3(velocity, i, changed);
    """,
)


class Falling:
    """The groups of figure 20, in motion.

    Parameters
    ----------
    n : particles of all groups
    radius : that of the last group, a share of the diagonal of the box of side 1; the others' are 3 and 2 times as long
    session : where it runs
    **options : of :func:`clfrnn.build_index`
    """

    def __init__(self, n: int, radius: float, *, session: clfrnn.Session, **options: Any) -> None:
        scene = groups(n, radius)
        self.index = clfrnn.build_index(scene.points, scene.largest, session=session, **options)
        queue = session.queue
        self.positions, self.radii = cla.to_device(queue, scene.points), cla.to_device(queue, scene.radii)
        self.velocities = cla.zeros(queue, scene.points.shape, np.float32)
        self._moved, self._changed = cla.empty_like(self.positions), cla.empty_like(self.velocities)
        # A third of the particles in a cube of side 1/6, and in larger ones for larger radii: their mean distance.
        # At half of it, few touch at the start, where each lies at random; else groups would burst.
        spacing = (3 / n) ** (1 / 3) / 6 * scene.radii / scene.radii.min()
        self._diameters = cla.to_device(queue, np.minimum(scene.radii, spacing / 2).astype(np.float32))

    def step(self, n: int = 1) -> None:
        """So many steps on, not waited for."""
        for _ in range(n):
            self.index.visit(
                STEP,
                radius=self.radii,
                dt=TIME_STEP,
                stiffness=STIFFNESS,
                damping=DAMPING,
                gravity=GRAVITY,
                restitution=RESTITUTION,
                diameters=self._diameters,
                positions=self.positions,
                velocities=self.velocities,
                moved=self._moved,
                changed=self._changed,
            )
            self.index.update(self._moved)
            self.positions, self._moved = self._moved, self.positions
            self.velocities, self._changed = self._changed, self.velocities
