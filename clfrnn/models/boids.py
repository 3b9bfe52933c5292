"""Boids: birds that flock by separation, alignment and cohesion (Reynolds 1987)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import clfrnn

from .arguments import between, dimension, even_side, positive, real, repeatable_options, rows, whole
from .model import Model

__all__ = ["Boids"]


def _flock(dim: int) -> clfrnn.NeighborFunction:
    """A step of each boid: the three rules over its neighbors, then its velocity and its position."""
    return clfrnn.NeighborFunction(
        arguments="""const real dt, const real side, const real separation_radius, const real separation,
            const real alignment, const real cohesion, const real min_speed, const real max_speed,
            global const real *positions, global const real *velocities,
            global real *moved, global real *turned""",
        state="""
            real_vec away = (real_vec)(0), center = (real_vec)(0), heading = (real_vec)(0);
            int flockmates = 0;""",
        # A neighbor at the same place has no direction to part in, but a velocity to match.
        per_neighbor=f"""
            ++flockmates;
            center += dx;
            heading += vload{dim}(j, velocities);
            if (d2 > 0 && d2 < separation_radius * separation_radius)
                away -= dx * (1 / sqrt(d2) - 1 / separation_radius);""",
        # `step` is 1 from the upper face on: rounding may take a sum to it, which is the lower face.
        finish=f"""
            real_vec velocity = vload{dim}(i, velocities);
            real_vec change = separation * away;
            if (flockmates) {{
                change += alignment * (heading / flockmates - velocity);
                change += cohesion * (center / flockmates);
            }}
            velocity += dt * change;
            const real speed = sqrt(dot(velocity, velocity));
            if (speed > 0)
                velocity = velocity / speed * clamp(speed, min_speed, max_speed);
            real_vec position = vload{dim}(i, positions) + dt * velocity;
            position = fmax(position - side * floor(position / side), (real_vec)(0));
            position -= side * step((real_vec)(side), position);
            vstore{dim}(velocity, i, turned);
            vstore{dim}(position, i, moved);""",
    )


_FLOCK = {dim: _flock(dim) for dim in (2, 3)}


class Boids(Model):
    """Birds in a periodic box, each of which sees the others within a radius and flies with them.

    Parameters
    ----------
    n : number of boids, at least 1
    dim : 2 or 3
    neighbors : mean number of other boids within `radius` of a boid in an even cloud; by it the side of the box is
        chosen
    radius : distance up to which boids see each other; all lengths are in its unit
    separation_radius : distance below which boids push each other away, at most `radius`; by default half of it
    separation : the acceleration away from a neighbor at the same position; it falls to 0 at `separation_radius`. By
        default ``2 * radius`` by the square of the unit of time
    alignment : by how much of the difference to the mean velocity of the neighbors a boid changes its own, in a unit of
        time
    cohesion : acceleration by the distance to the mean position of the neighbors
    min_speed, max_speed : limits of the speed; by default half of `max_speed`, and `radius` in a unit of time
    dt : the time of a step
    positions : (n, dim) numbers, where boids start; those outside of the box are taken into it. By default even
    velocities : (n, dim) numbers; by default of any direction, and of speeds between the limits
    seed : whole number of at least 0; equal seeds give equal starts
    repeatable : whether every run gives the same bytes; the default method is then `strips`
    dtype : float32 or float64
    session : a :class:`clfrnn.Session`; by default :func:`clfrnn.default_session`
    **options : of :func:`clfrnn.build_index`: `method`, and the options of the method

    Attributes
    ----------
    positions, velocities : (n, dim) device arrays
        The current positions, from 0 to less than `side` on each axis, and the current velocities. The step after the
        next overwrites them. What you write into `velocities` counts from the next step on.
    index : clfrnn.Index
        The periodic index over the current positions.
    side : float
        The length of the edge of the box.
    steps_done : int
        The number of steps since the start.
    session, n, neighbors, dim, dtype, radius, separation_radius, separation, alignment, cohesion, min_speed, \
max_speed, dt
        As given; numbers are rounded to `dtype`.

    Raises
    ------
    InvalidInputError
        An argument is invalid, or `repeatable` is given with a method or construction that does not repeat.
    TypeError
        The method does not have one of the options.

    Notes
    -----
    With s for `separation_radius`, d for the distance and e for the direction to a neighbor j, the acceleration of
    boid i is the sum of three rules:

    - separation: ``-separation * sum of (1 - d / s) e``, over neighbors nearer than s;
    - alignment: ``alignment * (mean of v_j - v_i)``;
    - cohesion: ``cohesion * mean of d e``.

    Then ``v += dt * acceleration``, v is scaled to a speed within the limits, unless it is 0 and has no direction, and
    ``x += dt * v`` in the periodic box.
    Reynolds leaves open how far a rule reaches and how strong it is; unlike his boids these see to all sides, and the
    rules add up rather than take precedence. A boid sees every image of another within `radius`, and its own.

    Cost of a step: one visit and one update of the index. Nothing is allocated, no list is made, and the host does not
    wait, except for checks of positions more than eight steps before.

    Source: Reynolds (1987), *Flocks, herds and schools*, SIGGRAPH; as in Chisholm, Maddock and Richmond (2020), section
    5, boids see all others within a radius.

    Examples
    --------
    >>> from clfrnn.models import Boids
    >>> flock = Boids(200, dim=2, seed=1)
    >>> flock.order() < 0.2
    True
    >>> flock.step(600)
    >>> flock.order() > 0.9
    True
    """

    def __init__(
        self,
        n: int,
        *,
        dim: int = 3,
        neighbors: float = 8.0,
        radius: float = 1.0,
        separation_radius: float | None = None,
        separation: float | None = None,
        alignment: float = 2.0,
        cohesion: float = 0.5,
        min_speed: float | None = None,
        max_speed: float | None = None,
        dt: float = 0.05,
        positions: npt.ArrayLike | None = None,
        velocities: npt.ArrayLike | None = None,
        seed: int = 0,
        repeatable: bool = False,
        dtype: npt.DTypeLike = np.float32,
        session: clfrnn.Session | None = None,
        **options: Any,
    ) -> None:
        self.n = whole(n, "n", least=1, advice="pass the number of boids")
        self.dim, self.dtype = dimension(dim), real(dtype)
        self.neighbors = positive(neighbors, "neighbors", float, "pass the mean number of others that a boid sees")
        self.radius = positive(radius, "radius", self.dtype, "pass how far boids see")
        self.side = even_side(self.n, self.neighbors, self.radius, self.dim, self.dtype)
        self.dt = positive(dt, "dt", self.dtype, "pass the time of a step")
        self._set_rules(separation_radius, separation, alignment, cohesion)
        self._set_speeds(min_speed, max_speed)
        rng = np.random.default_rng(whole(seed, "seed", least=0, advice="pass what tells one start from another"))
        start, flying = self._start(rng, positions, velocities)
        if repeatable:
            options = repeatable_options(options)
        box = np.full(self.dim, self.side, self.dtype)
        self.index = clfrnn.build_index(start, self.radius, box=box, session=session, **options)
        self.session = self.index.session
        self._positions, self.velocities, self._moved, self._turned = (self.index.empty(start.shape) for _ in range(4))
        self._positions.set(start)
        self.velocities.set(flying)

    def __repr__(self) -> str:
        return f"<Boids: {self.n:,} boids in {self.dim}D, {self.dtype}, after {self.steps_done:,} steps, {self.index}>"

    @property
    def positions(self) -> clfrnn.DeviceArray[np.floating[Any]]:
        """(n, dim) device array: the current positions. The step after the next overwrites it."""
        return self._positions

    @property
    def bounds(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """The lower and the upper corner of the box."""
        return np.zeros(self.dim, self.dtype), np.full(self.dim, self.side, self.dtype)

    def _advance(self) -> None:
        self.index.visit(
            _FLOCK[self.dim],
            dt=self.dt,
            side=self.side,
            separation_radius=self.separation_radius,
            separation=self.separation,
            alignment=self.alignment,
            cohesion=self.cohesion,
            min_speed=self.min_speed,
            max_speed=self.max_speed,
            positions=self._positions,
            velocities=self.velocities,
            moved=self._moved,
            turned=self._turned,
        )
        self.index.update(self._moved)
        self._positions, self._moved = self._moved, self._positions
        self.velocities, self._turned = self._turned, self.velocities

    def order(self) -> float:
        """Compute the order of the flock: the length of the mean direction, about 1 / sqrt(n) at random and 1 in line.

        Notes
        -----
        Cost: a copy of the velocities to the host, and a wait for it.
        """
        velocities = self.velocities.get().astype(float)
        speeds = np.linalg.norm(velocities, axis=1, keepdims=True)
        return float(np.linalg.norm((velocities / np.where(speeds > 0, speeds, 1)).mean(axis=0)))

    def energy(self) -> float:
        """Compute the kinetic energy of all boids, each of mass 1, in radii squared by the unit of time squared.

        Notes
        -----
        Cost: a copy of the velocities to the host, and a wait for it.
        """
        return 0.5 * float((self.velocities.get().astype(float) ** 2).sum())

    _colormap = "hsv"  # its ends are alike, as those of an angle

    def _colors(self) -> npt.NDArray[Any]:
        """The direction of each boid in the plane of the first two axes, as an angle from -π to π."""
        velocities = self.velocities.get()
        return np.arctan2(velocities[:, 1], velocities[:, 0])

    # --- arguments ----------------------------------------------------------------------------------------------------

    def _set_rules(self, reach: float | None, separation: float | None, alignment: float, cohesion: float) -> None:
        self.separation_radius = positive(
            0.5 * self.radius if reach is None else reach,
            "separation_radius",
            self.dtype,
            "pass below which distance boids part, or leave it out",
        )
        if self.separation_radius > self.radius:
            raise clfrnn.InvalidInputError(
                f"expected at most the radius {self.radius:g}, beyond which boids do not see, got "
                f"{self.separation_radius:g}; pass less, or a larger radius",
                argument="separation_radius",
            )
        strengths = {
            "separation": 2 * self.radius if separation is None else separation,
            "alignment": alignment,
            "cohesion": cohesion,
        }
        self.separation, self.alignment, self.cohesion = (
            between(value, name, self.dtype, advice="pass the strength of the rule, 0 for none")
            for name, value in strengths.items()
        )

    def _set_speeds(self, min_speed: float | None, max_speed: float | None) -> None:
        top = self.radius if max_speed is None else max_speed
        self.max_speed = positive(top, "max_speed", self.dtype, "pass how fast boids fly at the most")
        low = 0.5 * self.max_speed if min_speed is None else min_speed
        self.min_speed = between(low, "min_speed", self.dtype, advice="pass how fast boids fly at the least")
        if self.min_speed > self.max_speed:
            raise clfrnn.InvalidInputError(
                f"expected at most max_speed, {self.max_speed:g}, got {self.min_speed:g}; pass less",
                argument="min_speed",
            )

    def _start(
        self, rng: np.random.Generator, positions: npt.ArrayLike | None, velocities: npt.ArrayLike | None
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Positions in the box, and velocities; both are drawn also where one is given, so that seeds mean the same."""
        shape, real_type = (self.n, self.dim), self.dtype.type
        start = rng.random(shape, real_type) * real_type(self.side)
        directions = rng.standard_normal(shape, real_type)
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        speeds = real_type(self.min_speed) + rng.random((self.n, 1), real_type) * real_type(
            self.max_speed - self.min_speed
        )
        if positions is not None:
            start = rows(positions, "positions", shape, self.dtype)
        flying = directions * speeds if velocities is None else rows(velocities, "velocities", shape, self.dtype)
        start = np.mod(start, real_type(self.side))
        return np.where(start < self.side, start, 0).astype(self.dtype), flying
