"""Circles: actors that gather in rings and hollow spheres (Chisholm 2020)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyopencl as cl

import clfrnn

from .arguments import dimension, even_side, positive, real, repeatable_options, whole
from .halves import HalvedModel

__all__ = ["Circles"]


def _function(arguments: str, finish: str) -> clfrnn.NeighborFunction:
    """The sum over neighbors of sin(2π d / r) times the direction to them, and `finish`, which uses it."""
    return clfrnn.NeighborFunction(
        arguments=f"const real per_radius, const real damping, {arguments}",
        state="real_vec sum = (real_vec)(0);",
        # A neighbor at the same place has no direction, and the force vanishes towards it.
        per_neighbor="""
            if (d2 > 0) {
                const real d = sqrt(d2);
                sum += dx * (sinpi(2 * per_radius * d) / d);
            }
        """,
        finish=finish,
    )


_MOVE = {
    dim: _function(
        "const real side, global const real *points, global real *moved",
        f"vstore{dim}(clamp(vload{dim}(i, points) - damping * sum, (real)0, side), i, moved);",
    )
    for dim in (2, 3)
}
_FORCES = {dim: _function("global real *offsets", f"vstore{dim}(-damping * sum, i, offsets);") for dim in (2, 3)}


class Circles(HalvedModel):
    """Actors that attract and repel each other until they form rings, in 3D hollow spheres.

    Parameters
    ----------
    n : number of actors, at least 1
    neighbors : mean number of other actors within `radius` of an actor away from the border, at the start
    dim : 2 or 3
    radius : distance up to which actors see each other; all lengths are in its unit
    damping : F, a length: the longest offset that one neighbor causes in a step; by default ``0.05 * radius /
        neighbors``
    seed : whole number of at least 0; equal seeds give equal starts
    repeatable : whether every run gives the same bytes, by ``construction="sort"``; the default method is then `strips`
    dtype : float32 or float64
    session : a :class:`clfrnn.Session`; by default :func:`clfrnn.default_session`
    **options : of :func:`clfrnn.build_index`: `method`, and the options of the method

    Attributes
    ----------
    points, positions : (n, dim) device array
        The current positions, from 0 to `side` on each axis. The next :meth:`visit` but one overwrites it.
    index : clfrnn.Index
        The index over the current positions.
    side : float
        The length of the edge of the square or cube.
    steps_done : int
        The number of steps since the start.
    session, n, neighbors, dim, dtype, radius, damping
        As given; `radius`, `damping` and `side` are rounded to `dtype`.

    Raises
    ------
    InvalidInputError
        An argument is invalid, or `repeatable` is given with another construction.
    TypeError
        The method does not have one of the options.

    Notes
    -----
    In each step an actor moves by the sum, over all neighbors at distances d up to r, of ``sin(-2π d / r) F`` along the
    direction to the neighbor, and stays within the square or cube. The sine is negative below r / 2, where neighbors
    repel each other, and positive above, where they attract each other. Two actors therefore come to rest at r / 2,
    where the force changes its sign so that it drives them back. At r the force vanishes too, but drives them away from
    there. Neighbors at the same position exert no force.

    Of many actors within each other's radius no pair rests by itself, but the sum of all forces vanishes: on a ring of
    radius 0.305 r, where the Bessel function J1(4π R / r) vanishes, or on a hollow sphere of radius 0.325 r. m actors
    settle there while ``m * damping < 0.39 * radius``; with longer steps they oscillate for ever. Rings gather several
    times the `neighbors` of the start; with the default damping they settle, mostly within 200 steps. The paper's F is
    0.05 for any density: its program divides the sum by the current number of an actor's neighbors, which its text does
    not mention, and settles several times more slowly.

    Cost of a step: one visit and one update of the index. Nothing is allocated, no list is made, and the host does not
    wait, except for checks of positions more than eight steps before.

    Source: Chisholm, Maddock and Richmond (2020), section 5.1.

    Examples
    --------
    >>> import numpy
    >>> from clfrnn.models import Circles
    >>> model = Circles(2, 1, dim=2, radius=1.0, seed=1)
    >>> model.step(100)
    >>> one, other = model.points.get()
    >>> print(f"{numpy.hypot(*(other - one)):.3f}")
    0.500
    """

    def __init__(
        self,
        n: int,
        neighbors: float,
        *,
        dim: int = 3,
        radius: float = 1.0,
        damping: float | None = None,
        seed: int = 0,
        repeatable: bool = False,
        dtype: npt.DTypeLike = np.float32,
        session: clfrnn.Session | None = None,
        **options: Any,
    ) -> None:
        self.n = whole(n, "n", least=1, advice="pass the number of actors")
        self.dim = dimension(dim, "2 for rings, 3 for hollow spheres")
        self.dtype = real(dtype)
        self.neighbors = positive(neighbors, "neighbors", np.dtype(float), "pass the mean at the start")
        self.radius = positive(radius, "radius", self.dtype, "pass how far actors see each other")
        self.side = even_side(self.n, self.neighbors, self.radius, self.dim, self.dtype)
        self.damping = positive(
            0.05 * self.radius / self.neighbors if damping is None else damping,
            "damping",
            self.dtype,
            "pass the longest offset that one neighbor causes, or leave it out",
        )
        rng = np.random.default_rng(whole(seed, "seed", least=0, advice="pass what tells one start from another"))
        start = rng.random((self.n, self.dim), self.dtype.type) * self.dtype.type(self.side)
        if repeatable:
            options = repeatable_options(options)
        self.index: clfrnn.Index = clfrnn.build_index(start, self.radius, session=session, **options)
        self.session: clfrnn.Session = self.index.session
        self.points = self.index.empty(start.shape)
        self.points.set(start)
        self._moved = self.index.empty(start.shape)

    def __repr__(self) -> str:
        return (
            f"<Circles: {self.n:,} actors in {self.dim}D, {self.dtype}, after {self.steps_done:,} steps, {self.index}>"
        )

    @property
    def positions(self) -> clfrnn.DeviceArray[np.floating[Any]]:
        """(n, dim) device array: the same as `points`."""
        return self.points

    @property
    def bounds(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """The lower and the upper corner of the square or cube."""
        return np.zeros(self.dim, self.dtype), np.full(self.dim, self.side, self.dtype)

    def step(self, steps: int = 1) -> None:
        """Move all actors `steps` times; not waited for.

        Parameters
        ----------
        steps : whole number of at least 0

        Raises
        ------
        InvalidInputError
            `steps` is not such a number.

        Notes
        -----
        Cost: `steps` visits and updates, see :class:`Circles`.
        """
        super().step(whole(steps, "steps", least=0, advice="pass how often to move"))

    def _visit(self) -> cl.Event:
        return self.index.visit(
            _MOVE[self.dim],
            per_radius=1 / self.radius,
            damping=self.damping,
            side=self.side,
            points=self.points,
            moved=self._moved,
        )

    def _swap(self) -> None:
        self.points, self._moved = self._moved, self.points

    def forces(self) -> npt.NDArray[Any]:
        """Compute the offset of each actor in the next step, as if there were no border.

        Returns
        -------
        (n, dim) host array of `dtype`, in the unit of `radius`

        Notes
        -----
        Cost: one visit of the index, a copy to the host, and a wait for it.
        """
        with self.session.lock:
            offsets = self.index.empty(self.points.shape)
            self.index.visit(_FORCES[self.dim], per_radius=1 / self.radius, damping=self.damping, offsets=offsets)
            found: npt.NDArray[Any] = offsets.get()
        return found

    def residual(self) -> float:
        """Compute the length of the longest of :meth:`forces`, in units of `damping`: the distance from the rest.

        Notes
        -----
        Cost: that of :meth:`forces`.
        """
        return float(np.linalg.norm(self.forces(), axis=1).max() / self.damping)
