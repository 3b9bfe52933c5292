"""Spheres in a box that collide by spring and dashpot, in the manner of Green (2010)."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

import clfrnn

__all__ = ["Material", "Spheres", "lattice"]

#: The sum over all that touch a sphere, and its velocity after it. Each has mass 1.
COLLIDE = clfrnn.NeighborFunction(
    arguments="""const real diameter, const real dt, const real stiffness, const real damping, const real shear,
        global const real_vec *velocities, global real_vec *changed""",
    state="const real_vec own = velocities[i]; real_vec force = (real_vec)(0);",
    per_neighbor="""
        if (d2 > 0) {
            const real d = sqrt(d2);
            const real_vec normal = dx / d, relative = velocities[j] - own;
            const real approach = dot(relative, normal);
            force += (damping * approach - stiffness * (diameter - d)) * normal;
            force += shear * (relative - approach * normal);
        }""",
    finish="changed[i] = own + dt * force;",
)

#: Gravity along the last axis, then the step; who reaches a wall stays at it and turns round.
INTEGRATE = """
kernel void integrate(
    const int n, const float dt, const float gravity, const float limit, const float restitution,
    global float *positions, global float4 *velocities)
{
    const int i = get_global_id(0);
    if (i >= n) return;
    float3 velocity = velocities[i].xyz;
    velocity.z -= dt * gravity;
    const float3 position = vload3(i, positions) + dt * velocity;
    velocity = select(velocity, -restitution * velocity, fabs(position) > limit);
    vstore3(clamp(position, -limit, limit), i, positions);
    velocities[i] = (float4)(velocity, 0.0f);
}
"""

GROUP = 64


@dataclasses.dataclass(frozen=True, kw_only=True)
class Material:
    """Of what spheres and walls are, for spheres of mass 1 in a box of side 2.

    A collision lasts about ``pi * sqrt(1 / (2 * stiffness))``, here 22 steps. A damping of
    ``2 * sqrt(stiffness / 2)``, 141 here, would end it without a rebound.
    """

    dt: float = 1e-3
    gravity: float = 1.0
    stiffness: float = 1e4
    damping: float = 40.0
    shear: float = 10.0
    restitution: float = 0.5


class Spheres:
    """Spheres of mass 1 in the box from -1 to 1.

    Parameters
    ----------
    positions : (n, 3) float32 — centers
    radius : of each sphere
    velocities : (n, 3) float32, by default at rest
    reorder : after so many frames particles are put into the order of cells; 0 for never
    **options : of :func:`clfrnn.build_index`
    """

    def __init__(
        self,
        positions: np.ndarray[Any, Any],
        radius: float,
        velocities: np.ndarray[Any, Any] | None = None,
        *,
        material: Material | None = None,
        reorder: int = 0,
        session: clfrnn.Session | None = None,
        **options: Any,
    ) -> None:
        self.n, self.radius, self.reorder_every = len(positions), radius, reorder
        self.material = material or Material()
        self.index = clfrnn.build_index(np.asarray(positions, np.float32), 2 * radius, session=session, **options)
        self.session = self.index.session
        queue = self.session.queue
        moving = np.zeros((self.n, 4), np.float32)
        if velocities is not None:
            moving[:, :3] = velocities
        self.positions = cla.to_device(queue, np.ascontiguousarray(positions, np.float32))
        self.velocities = cla.to_device(queue, moving)
        self._changed = cla.empty_like(self.velocities)
        self._kernel = cl.Program(queue.context, INTEGRATE).build().integrate
        self.frames = 0

    def integrate(self) -> cl.Event:
        """Velocities and positions a step on."""
        material, size = self.material, -(-self.n // GROUP) * GROUP
        numbers = (material.dt, material.gravity, 1 - self.radius, material.restitution)
        event: cl.Event = self._kernel(
            self.session.queue,
            (size,),
            (GROUP,),
            np.int32(self.n),
            *map(np.float32, numbers),
            self.positions.data,
            self.velocities.data,
        )
        return event

    def build(self) -> None:
        """The index of the positions as they are."""
        self.index.update(self.positions)

    def collide(self) -> None:
        """Velocities after the collisions of this step."""
        material = self.material
        self.index.visit(
            COLLIDE,
            diameter=2 * self.radius,
            dt=material.dt,
            stiffness=material.stiffness,
            damping=material.damping,
            shear=material.shear,
            velocities=self.velocities,
            changed=self._changed,
        )
        self.velocities, self._changed = self._changed, self.velocities

    def reorder(self) -> None:
        """Positions and velocities in the order of the cells that they lie in; the next build numbers them so."""
        self.positions, self.velocities = self.index.reorder(self.positions, self.velocities)

    def stages(self) -> list[Any]:
        """What the next frame consists of, in turn."""
        self.frames += 1
        due = self.reorder_every and self.frames % self.reorder_every == 0
        return [self.integrate, self.build, self.collide, *([self.reorder] if due else [])]

    def step(self, frames: int = 1) -> None:
        """So many frames on, not waited for."""
        for _ in range(frames):
            for stage in self.stages():
                stage()

    def energy(self) -> float:
        """Kinetic energy and that of springs, in all; gravity and walls apart."""
        kinetic = 0.5 * float((self.velocities.get().astype(np.float64) ** 2).sum())
        pairs = self.index.query(half=True, distances=True).to_host()
        overlap = 2 * self.radius - pairs.distances.astype(np.float64)
        return kinetic + 0.5 * self.material.stiffness * float((overlap**2).sum())


def lattice(n: int, radius: float, seed: int = 0) -> np.ndarray[Any, Any]:
    """Centers of n spheres from the floor of the box up, a little apart and a little out of line, in random order.

    (n, 3) float32. A ValueError when they would reach the ceiling.
    """
    rng = np.random.default_rng(seed)
    spacing = 2.04 * radius
    across = int((2 - 2 * radius) / spacing) + 1
    layer, place = np.divmod(np.arange(n), across * across)
    cells = np.stack([place % across, place // across, layer], axis=1)
    centers = radius - 1 + spacing * cells + rng.uniform(0, 0.03 * radius, (n, 3))
    if centers[:, 2].max() > 1 - radius:
        raise ValueError(f"n: expected no more spheres than fit into the box, got {n:,} of radius {radius:g}")
    return rng.permutation(centers.astype(np.float32))
