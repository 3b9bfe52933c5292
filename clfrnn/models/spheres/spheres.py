"""Spheres: particles that collide by spring and dashpot in a box (Green 2010)."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt
import pyopencl as cl

import clfrnn

from ..arguments import whole
from ..controls import Action, Controls, Handle, Slider
from ..halves import HalvedModel
from .contacts import move
from .particles import Particles
from .scene import SphereScene
from .start import ball

__all__ = ["Spheres"]


class Spheres(SphereScene, HalvedModel):
    """Spheres, in 2D disks, that fall in a box, collide and come to rest in a heap.

    The box reaches from -1 to 1 on each axis, and gravity acts along the last one. At the start the spheres are at rest
    in a block in the lower corner of the box, nearly touching each other. Each has mass 1.

    Parameters
    ----------
    n : number of spheres, at least 1
    dim : 2 or 3
    radius : of each sphere; by default ``41 / 64`` divided by the number of spheres along an edge of the block: 1/64
        for 65,536 spheres in 3D
    dt : time of a step; by default ``radius / 16``
    stiffness : force of a contact by length of overlap; by default ``5 / radius**2``
    damping : force of a contact by relative velocity; by default ``0.25 / radius``
    shear : further force by the part of the relative velocity across the line of centers; by default ``0.1 / radius``
    attraction : force between touching spheres by distance of their centers, which sticks them together; at least 0
    global_damping : the factor from 0 to 1 by which all velocities are multiplied in each step; 1 takes nothing away
    gravity : acceleration downwards
    restitution : the part of its velocity with which a sphere leaves a wall, from 0 to 1
    walls : whether the box holds the spheres; otherwise they fly as far as they get
    collider : (center, radius) of a ball that pushes spheres away, or None; :meth:`move_collider` moves it
    seed : whole number of at least 0; equal seeds give equal starts
    repeatable : whether every run gives the same bytes: forces are summed in the order of the spheres' numbers, which
        is also that of :class:`clfrnn.parts.spheres.Spheres`; by ``construction="sort"``, and the default method is
        `strips`
    dtype : float32 or float64
    session : a :class:`clfrnn.Session`; by default :func:`clfrnn.default_session`
    **options : of :func:`clfrnn.build_index`: `method`, and the options of the method

    Attributes
    ----------
    positions, velocities : (n, dim) device arrays of `dtype`
        The current ones, in lengths of the box, and these by unit of time. The next :meth:`visit` but one overwrites
        them; :meth:`place` writes others.
    collider : (center, radius) or None
        The ball as it is now.
    stiffness, damping, shear, attraction, global_damping, gravity, restitution : float
        As given or by default. Other values may be assigned, and count from the next step on.
    dt : float
        The time of a step, as given or by default.
    index : clfrnn.Index
        The index over the current positions, of the radius 2 `radius`.
    steps_done : int
        The number of steps since the start.
    session, n, dim, dtype, radius, walls
        As given; `radius` is rounded to `dtype`.

    Raises
    ------
    InvalidInputError
        An argument is invalid, the block of spheres is larger than the box, `dt` is so long that a contact of two
        spheres would gain energy, or `repeatable` is given with another construction.
    TypeError
        The method does not have one of the options.

    Notes
    -----
    A sphere of radius R feels, from each other whose center is at the vector x of length d ≤ 2 R, and whose velocity
    relative to its own is v, the force ``-stiffness (2 R - d) x / d + damping v + shear (v - (v·x) x / d²) +
    attraction x``. The collider acts in the same way with the sum of the two radii, as a body at rest, and does not
    attract. A step is one of the semi-implicit Euler method: ``v ← global_damping (v + dt F)``, then ``x ← x + dt v``.
    A sphere that would leave the box stays at the wall, and the part of its velocity across the wall is turned round
    and multiplied by `restitution`.

    The defaults scale with the radius, such that a heap of any number of spheres is compressed by a few hundredths of
    the diameter, and two spheres touch for about 16 steps.

    Cost of a step: one visit and one update of the index. No list is made, nothing is allocated once the spheres have
    spread, and the host does not wait, except for checks of positions more than eight steps before. With `repeatable`,
    a sphere that touches more than 24 others is compared with all.

    Source: Green (2010), "Particle Simulation using CUDA", whose collisions are those of Harada (2007), "Real-time
    rigid body simulation on GPUs". There, forces are changes of velocity in a step; here they are multiplied by `dt`.

    Examples
    --------
    >>> from clfrnn.models import Spheres
    >>> model = Spheres(100, dim=2)
    >>> before = model.energy()
    >>> model.step(200)
    >>> model.energy() < before
    True
    """

    #: the first of the spheres that are dropped next
    _dropped = 0

    def __repr__(self) -> str:
        return f"<Spheres: {self.n:,} in {self.dim}D, {self.dtype}, after {self.steps_done:,} steps, {self.index}>"

    @property
    def positions(self) -> clfrnn.DeviceArray[np.floating[Any]]:
        """(n, dim) device array: the current centers, in the unit of the box."""
        return self._particles.positions

    @property
    def velocities(self) -> clfrnn.DeviceArray[np.floating[Any]]:
        """(n, dim) device array: the current velocities, in that unit by unit of time."""
        return self._particles.velocities

    def place(self, positions: npt.ArrayLike, velocities: npt.ArrayLike | None = None) -> None:
        """Put the spheres elsewhere.

        Parameters
        ----------
        positions : (n, dim) numbers, the centers
        velocities : (n, dim) numbers; by default the spheres are at rest

        Raises
        ------
        InvalidInputError
            A shape is another one, or a number is not finite.
        DeviceMemoryError
            There is no memory for the new cells; the spheres are then where they were.

        Notes
        -----
        Cost: one update of the index, and copies to the device.
        """
        positions, velocities = self._checked(positions, velocities)
        with self.session.lock:
            self._moved.set(positions)
            self._particles.changed.set(velocities)
            self._visited = False  # what it has computed is overwritten
            self._move()

    def reset(self) -> None:
        """Put all spheres back to where they were at the start, at rest; numbers and the collider stay."""
        self.place(self._start)

    def drop_ball(self, n: int | None = None) -> None:
        """Take some of the spheres out of the box and drop them into it again as a ball, from the middle of its top.

        Parameters
        ----------
        n : how many; by default an eighth of all, at least 1. Each call takes the spheres behind those of the call
            before, and begins again behind the last one.

        Raises
        ------
        InvalidInputError
            `n` is not a whole number from 1 to the number of spheres.
        DeviceMemoryError
            There is no memory for the new cells; the spheres are then where they were.

        Notes
        -----
        The ball is at rest, and nearly touches the top; where other spheres or the collider are in its place, springs
        push them apart. Cost: that of :meth:`place`, and copies of positions and velocities to the host.
        """
        many = max(1, self.n // 8) if n is None else whole(n, "n", least=1, advice="pass how many spheres to drop")
        if many > self.n:
            raise clfrnn.InvalidInputError(
                f"expected at most {self.n:,}, the number of spheres, got {many:,}; pass fewer", argument="n"
            )
        with self.session.lock:
            positions, velocities = self.positions.get(), self.velocities.get()
            chosen = (self._dropped + np.arange(many)) % self.n
            positions[chosen], velocities[chosen] = ball(many, self.dim, self.radius), 0
            self.place(positions, velocities)
            self._dropped = (self._dropped + many) % self.n

    def controls(self) -> Controls:
        """Gravity and the numbers of contacts by sliders, a ball to drop, a reset, and the collider to drag."""
        ends = {
            "gravity": (0.0, 4.0),
            "global_damping": (0.98, 1.0),
            "damping": (0.0, 2 / self.radius),
            "attraction": (0.0, 2.5 / self.radius / self.radius),
        }
        sliders = [
            Slider(
                name=name.replace("_", " "),
                low=min(low, value),
                high=max(high, value),
                value=value,
                change=functools.partial(setattr, self, name),
            )
            for name, (low, high) in ends.items()
            for value in (float(getattr(self, name)),)
        ]
        actions = (
            Action(key="1", name="reset", act=self.reset),
            Action(key="2", name="drop a ball", act=self.drop_ball),
        )
        handle = self.collider and Handle(center=self.collider[0], radius=self.collider[1], move=self.move_collider)
        return Controls(sliders=sliders, actions=actions, handle=handle)

    @property
    def _moved(self) -> clfrnn.DeviceArray[np.floating[Any]]:  # type: ignore[override]  # halves of steps only read it
        return self._particles.moved

    def _begin(self, start: npt.NDArray[Any], session: clfrnn.Session | None, options: dict[str, Any]) -> None:
        self._start = start
        self._particles = Particles(start, self.radius, ordered=self._ordered, session=session, options=options)
        self.index: clfrnn.Index = self._particles.index
        self.session: clfrnn.Session = self.index.session

    def _visit(self) -> cl.Event:
        particles, function = self._particles, move(self.dim, ordered=self._ordered)
        return particles.visit(function, moved=particles.moved, changed=particles.changed, **self._step_numbers())

    def _swap(self) -> None:
        self._particles.swap()

    def _energies(self) -> npt.NDArray[Any]:
        return self._energies_of(self._particles)
