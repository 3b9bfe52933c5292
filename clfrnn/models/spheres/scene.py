"""SphereScene: a box with spheres and a ball, wherever the spheres are: the numbers of the model, checked."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

import clfrnn

from ..arguments import dimension, positive, real, repeatable_options, rows, whole
from ..model import Model
from .contacts import energies
from .material import Collider, material
from .material import collider as checked_collider
from .particles import Particles
from .start import block, block_radius

__all__ = ["SphereScene"]


class SphereScene(Model):
    """What :class:`clfrnn.models.Spheres` and :class:`clfrnn.parts.spheres.Spheres` have in common.

    The parameters are those of :class:`clfrnn.models.Spheres`.
    """

    def __init__(
        self,
        n: int,
        *,
        dim: int = 3,
        radius: float | None = None,
        dt: float | None = None,
        stiffness: float | None = None,
        damping: float | None = None,
        shear: float | None = None,
        attraction: float = 0.0,
        global_damping: float = 1.0,
        gravity: float = 1.0,
        restitution: float = 0.5,
        walls: bool = True,
        collider: tuple[Sequence[float], float] | None = None,
        seed: int = 0,
        repeatable: bool = False,
        dtype: npt.DTypeLike = np.float32,
        session: clfrnn.Session | None = None,
        **options: Any,
    ) -> None:
        self.n = whole(n, "n", least=1, advice="pass the number of spheres")
        self.dim = dimension(dim)
        self.dtype = real(dtype)
        self.radius = positive(
            block_radius(self.n, self.dim) if radius is None else radius,
            "radius",
            self.dtype,
            "pass that of each sphere, or leave it out",
        )
        given = (dt, stiffness, damping, shear, attraction, global_damping, gravity, restitution)
        numbers = material(self.radius, self.dtype, given)
        self.dt, self.stiffness, self.damping, self.shear = numbers[:4]
        self.attraction, self.global_damping, self.gravity, self.restitution = numbers[4:]
        self.walls = bool(walls)
        self.collider: Collider | None = None if collider is None else checked_collider(collider, self.dim, self.dtype)
        rng = np.random.default_rng(whole(seed, "seed", least=0, advice="pass what tells one start from another"))
        start = block(self.n, self.dim, self.radius, rng).astype(self.dtype)
        self._layers = start[:, -1].copy()
        self._ordered = bool(repeatable)
        self._begin(start, session, repeatable_options(options) if repeatable else options)

    @property
    def bounds(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """The lower and the upper corner of the box."""
        return np.full(self.dim, -1, self.dtype), np.full(self.dim, 1, self.dtype)

    def move_collider(self, center: Sequence[float], radius: float | None = None) -> None:
        """Move the ball that pushes spheres away; it acts from there from the next step on.

        Parameters
        ----------
        center : dim numbers
        radius : by default it stays; needed where there was no collider

        Raises
        ------
        InvalidInputError
            `center` has another shape or is not finite, or `radius` is not positive.
        """
        if radius is None and self.collider is None:
            raise clfrnn.InvalidInputError(
                "expected that of the collider, as there was none; pass a radius", argument="radius"
            )
        radius = self.collider[1] if radius is None and self.collider else radius
        self.collider = checked_collider((center, radius), self.dim, self.dtype)

    def energy(self) -> float:
        """Compute the energy of all spheres: kinetic, of springs and attraction, and of gravity above the floor.

        Contacts with the collider count, walls do not. Without damping, shear, global damping and walls, the energy
        stays within the errors of the steps.

        Notes
        -----
        Cost: one visit of the index, a copy of n numbers to the host, and a wait for it.
        """
        with self._lock:
            return float(self._energies().sum(dtype=np.float64))

    def _energies_of(self, particles: Particles) -> npt.NDArray[Any]:
        """The energy of each of some spheres, in host memory."""
        function = energies(self.dim, ordered=self._ordered)
        return particles.energies(function, **self._contacts(), floor_height=self.radius - 1)

    def _step_numbers(self) -> dict[str, Any]:
        """What the function of a step takes besides arrays."""
        return self._contacts() | {
            "dt": self.dt,
            "damping": self.damping,
            "shear": self.shear,
            "remaining": self.global_damping,
            "restitution": self.restitution,
            "limit": 1 - self.radius if self.walls else float(np.finfo(self.dtype).max),
        }

    def _contacts(self) -> dict[str, Any]:
        """The numbers that both functions take."""
        center, reach = ((0.0,) * self.dim, -self.radius) if self.collider is None else self.collider
        return {
            "diameter": 2 * self.radius,
            "stiffness": self.stiffness,
            "attraction": self.attraction,
            "gravity": self.gravity,
            "center": center,
            "reach": self.radius + reach,
        }

    def _checked(
        self, positions: npt.ArrayLike, velocities: npt.ArrayLike | None
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Positions and velocities that a caller gives, (n, dim) each."""
        shape = (self.n, self.dim)
        velocities = np.zeros(shape) if velocities is None else velocities
        return rows(positions, "positions", shape, self.dtype), rows(velocities, "velocities", shape, self.dtype)

    def _colors(self) -> npt.NDArray[Any]:
        """The layer of the block in which each was at the start."""
        return self._layers

    def _drawn_radius(self) -> float:
        return self.radius

    def _balls(self) -> Sequence[tuple[Sequence[float], float]]:
        return () if self.collider is None else (self.collider,)

    @abc.abstractmethod
    def _begin(self, start: npt.NDArray[Any], session: clfrnn.Session | None, options: dict[str, Any]) -> None:
        """Put the spheres on their devices, at rest."""

    @abc.abstractmethod
    def _energies(self) -> npt.NDArray[Any]:
        """The energy of each sphere, in host memory."""
