"""Fluid: a column of water that breaks in a tank (weakly compressible smoothed particle hydrodynamics)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

import clfrnn

from ..arguments import between, dimension, positive, real, repeatable_options, whole
from ..model import Model
from .block import Block
from .state import State
from .visits import DENSITY, MOVE, PEAKS

__all__ = ["Fluid"]

#: How far kernels reach, in the distance of particles at the start: 24 neighbors in 2D, 56 in 3D.
_REACH = {2: 3.0, 3: 2.4}

#: The time of a step, in smoothing lengths over the speed of sound. At twice as much energy still falls.
_COURANT = 0.4

#: What viscosity adds to the speed of sound when steps are chosen, in speeds of sound (Monaghan 1992).
_VISCOUS = 0.6

#: The exponent of Tait's equation of state.
_TAIT = 7

#: The farthest that a particle of the start lies beside its place in the lattice, in distances of the lattice.
_DISORDER = 0.01


class Fluid(Model):
    """Water that stands in a tank as a column and breaks down, by weakly compressible SPH.

    Parameters
    ----------
    n : number of particles
    dim : 2 or 3; gravity pulls along the last axis
    column : (dim,) lengths of the block of water at the start, in metres; by default 1 wide, in 3D 1 deep, and 2 high
    tank : (dim,) lengths of the tank, in metres; by default 4 long, in 3D 1 deep, and 3 high
    corner : (dim,) lower corner of the block; by default that of the tank, which is the origin
    gravity : in metres per square second, 0 or more
    rest_density : of the fluid under no pressure, in kilograms per cubic metre, in 2D per square metre
    sound : speed of sound, in metres per second; by default ten times the speed of a fall from the block's top
    viscosity : Monaghan's factor of artificial viscosity, 0 or more
    seed : whole number of at least 0; equal seeds give equal starts, a lattice in slight disorder
    repeatable : whether every run gives the same bytes, by an index that visits neighbors in the same order
    dtype : float32 or float64
    session : a :class:`clfrnn.Session`; by default :func:`clfrnn.default_session`
    **options : of :func:`clfrnn.build_index`: `method`, and the options of the method

    Attributes
    ----------
    positions, velocities : (n, dim) device arrays
        The current ones, in metres and metres per second. The next step but one overwrites them.
    mass : float
        The mass of a particle, in kilograms.
    spacing : float
        The distance of particles at the start, in metres.
    reach : float
        The distance up to which particles act on each other, in metres: the index's radius.
    dt, time : float
        The length of the last step, and the sum of all steps, in seconds. Reading them waits for the device.
    n, dim, column, tank, corner, gravity, rest_density, sound, viscosity, dtype, session, index, steps_done
        As given, or as in every :class:`Model`.

    Raises
    ------
    InvalidInputError
        An argument is invalid, the block does not fit the tank, or the tank is narrower than twice the reach.
    TypeError
        The method does not have one of the options.

    Notes
    -----
    A particle's density is the sum of Wendland's kernel over its neighbors and itself, times the mass. The pressure
    follows from it by Tait's equation ``p = sound² rest_density / 7 ((density / rest_density)⁷ - 1)``, and is 0 where
    that is negative. Particles push each other by ``p / density²`` of both, and hold each other back by artificial
    viscosity while they approach. Walls are mirrors: a particle feels the images of its neighbors, and its own, as
    neighbors. They neither hold water back along the wall nor let a particle through. With the default of `sound` water
    is compressed by about a hundredth; half of it takes steps nearly twice as long.

    Steps are as long as sound and acceleration allow: 0.4 times the lesser of ``h / (sound (1 + 0.6 viscosity) +
    fastest)`` and ``sqrt(h / hardest)``, with h half the reach. The device finds the speed of the fastest particle and
    the acceleration of the hardest pushed one in each step, and chooses the next step by itself; the host waits for
    nothing.

    Cost of a step: two visits and one update of the index. Nothing is allocated.

    Sources: Monaghan (1994), Simulating free surface flows with SPH; Becker and Teschner (2007), Weakly compressible
    SPH for free surface flows; Wendland (1995), for the kernel.

    Examples
    --------
    >>> from clfrnn.models import Fluid
    >>> water = Fluid(800, seed=1)
    >>> water.step(100)
    >>> 1 < water.front() < 1.2
    True
    """

    def __init__(
        self,
        n: int,
        *,
        dim: int = 2,
        column: Sequence[float] | None = None,
        tank: Sequence[float] | None = None,
        corner: Sequence[float] | None = None,
        gravity: float = 9.81,
        rest_density: float = 1000.0,
        sound: float | None = None,
        viscosity: float = 0.05,
        seed: int = 0,
        repeatable: bool = False,
        dtype: npt.DTypeLike = np.float32,
        session: clfrnn.Session | None = None,
        **options: Any,
    ) -> None:
        self.n = whole(n, "n", least=1, advice="pass the number of particles")
        self.dim = dimension(dim)
        self.dtype = real(dtype)
        self._block = Block.of(self.n, self.dim, column, tank, corner)
        self.column, self.tank, self.corner = self._block.column, self._block.tank, self._block.corner
        self.spacing = self._block.spacing
        self.reach = float(self.dtype.type(_REACH[self.dim] * self.spacing))
        if (self.tank < 2 * self.reach).any():
            raise clfrnn.InvalidInputError(
                f"expected lengths of at least twice the reach of particles, {2 * self.reach:g}, got "
                f"{self.tank.tolist()}; pass more particles, n, or a wider tank",
                argument="tank",
            )
        self.gravity = between(gravity, "gravity", self.dtype, advice="pass metres per square second, 0 for none")
        self.viscosity = between(viscosity, "viscosity", self.dtype, advice="pass Monaghan's factor, 0 for none")
        self.rest_density = positive(rest_density, "rest_density", self.dtype, "pass kilograms per cubic metre")
        self.sound = self._sound(sound)
        self.mass = self.rest_density * float(np.prod(self.column)) / self.n
        rng = np.random.default_rng(whole(seed, "seed", least=0, advice="pass what tells one start from another"))
        start = self._block.positions(rng, _DISORDER).astype(self.dtype)
        if repeatable:
            options = repeatable_options(options)
        self.index = clfrnn.build_index(start, self.reach, session=session, **options)
        self.session = self.index.session
        self._now, self._next = (State.of(self.index, start.shape) for _ in range(2))
        self._now.positions.set(start)
        falling = np.zeros(2 * PEAKS, np.float32)
        falling[PEAKS:] = self.gravity**2
        self._now.peaks.set(falling.view(np.uint32))
        self._densities, self._stresses = self.index.empty(self.n), self.index.empty(self.n)
        self._pressed = self._density_arguments()
        self._pushed = self._push_arguments()

    def __repr__(self) -> str:
        return (
            f"<Fluid: {self.n:,} particles in {self.dim}D, {self.dtype}, after {self.steps_done:,} steps, {self.index}>"
        )

    @property
    def positions(self) -> clfrnn.DeviceArray[np.floating[Any]]:
        """(n, dim) device array: the current positions, in metres. The next step but one overwrites it."""
        return self._now.positions

    @property
    def velocities(self) -> clfrnn.DeviceArray[np.floating[Any]]:
        """(n, dim) device array: the current velocities, in metres per second. What is written into it takes effect.

        The length of the next step is still chosen by the velocities before.
        """
        return self._now.velocities

    @property
    def bounds(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """The lower and the upper corner of the tank, of shape (dim,)."""
        return np.zeros(self.dim), self.tank.copy()

    @property
    def time(self) -> float:
        """The sum of all steps, in seconds; waits for the device."""
        with self.session.lock:
            return float(self._now.clock.get()[1])

    @property
    def dt(self) -> float:  # type: ignore[override]
        """The length of the last step, in seconds, 0 before the first one; waits for the device."""
        with self.session.lock:
            return float(self._now.clock.get()[0])

    def density(self) -> clfrnn.DeviceArray[np.floating[Any]]:
        """Sum the density at each particle.

        Returns
        -------
        (n,) device array of `dtype`, in kilograms per cubic metre; not waited for

        Notes
        -----
        Cost: one visit of the index. Next to a surface the sum lacks what water beyond it would add.
        """
        with self.session.lock:
            densities = self.index.empty(self.n)
            self._press(densities)
        return densities

    def energy(self) -> float:
        """Sum the kinetic energy, that of height and that of compression, in joules.

        Notes
        -----
        Cost: that of :meth:`density`, a copy of positions, velocities and densities to the host, and a wait for it.
        The compression's is the integral of ``pressure / density²`` from the rest density on; where water is less
        dense, there is none.
        """
        with self.session.lock:
            density, height, velocities = self.density(), self.positions.get()[:, -1], self.velocities.get()
        ratio = np.maximum(1, density.get().astype(float) / self.rest_density)
        squeezed = (ratio ** (_TAIT - 1) - 1) / (_TAIT - 1) + 1 / ratio - 1
        moving = 0.5 * (velocities.astype(float) ** 2).sum(axis=1)
        each = moving + self.gravity * height.astype(float) + self.sound**2 / _TAIT * squeezed
        return float(self.mass * each.sum())

    def front(self) -> float:
        """Find how far water has come along the first axis, in metres: the farthest particle and half a spacing,
        within the tank.

        Notes
        -----
        Cost: a copy of the positions to the host, and a wait for it.
        """
        with self.session.lock:
            along = self.positions.get()[:, 0]
        return min(float(along.max()) + self.spacing / 2, float(self.tank[0]))

    def _colors(self) -> Any:
        """The speeds."""
        return np.linalg.norm(self.velocities.get(), axis=1)  # the caller holds the lock

    def _drawn_radius(self) -> float:
        return self.spacing / 2

    def _advance(self) -> None:
        now, then = self._now, self._next
        self._press(self._densities)
        self.index.visit(
            MOVE[self.dim],
            **self._pushed,
            points=now.positions,
            velocities=now.velocities,
            stresses=self._stresses,
            clock=then.clock,
            moved=then.positions,
            changed=then.velocities,
            peaks=then.peaks,
            checked=False,
        )
        self.index.update(then.positions)
        self._now, self._next = then, now

    def _press(self, densities: clfrnn.DeviceArray[np.floating[Any]]) -> None:
        """Find densities, and the stress and the length of the next step, which are scratch until the step is done."""
        self.index.visit(
            DENSITY[self.dim],
            **self._pressed,
            points=self._now.positions,
            densities=densities,
            stresses=self._stresses,
            clock=self._now.clock,
            next_clock=self._next.clock,
            peaks=self._now.peaks,
            next_peaks=self._next.peaks,
            checked=False,  # the clock is shorter than the fluid
        )

    def _density_arguments(self) -> dict[str, Any]:
        """The numbers of the first visit."""
        return {
            "tank": self.tank,
            "per_reach": 1 / self.reach,
            # The lattice of the start has the rest density, whatever the sum lacks to the integral.
            "of_weight": self.rest_density / self._block.weights(self.reach),
            "rest_density": self.rest_density,
            "stiffness": self.sound**2 * self.rest_density / _TAIT,
            "smoothing": self.reach / 2,
            "signal": self.sound * (1 + _VISCOUS * self.viscosity),
            "courant": _COURANT,
        }

    def _push_arguments(self) -> dict[str, Any]:
        """The numbers of the second visit."""
        smoothing = self.reach / 2
        return {
            "tank": self.tank,
            "gravity": (0.0,) * (self.dim - 1) + (-self.gravity,),
            "per_reach": 1 / self.reach,
            # The gradient of the weight is -20 / reach² (1 - d / reach)³ times the vector from the neighbor.
            "of_push": 20 / self.reach**2 * self.rest_density / self._block.weights(self.reach),
            "viscosity": self.viscosity * self.sound * smoothing / self.rest_density,
            "soft": 0.01 * smoothing**2,
        }

    def _sound(self, sound: float | None) -> float:
        if sound is None:
            top = float(self.corner[-1] + self.column[-1])
            if not self.gravity:
                raise clfrnn.InvalidInputError(
                    "expected a speed where gravity is 0, got None; pass ten times the fastest that you expect",
                    argument="sound",
                )
            sound = 10 * (2 * self.gravity * top) ** 0.5
        return positive(sound, "sound", self.dtype, "pass metres per second, about ten times the fastest flow")
