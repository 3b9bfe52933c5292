"""Circles: actors that draw together into rings and hollow spheres (Chisholm 2020)."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyopencl as cl
import pyopencl.array as cla

import clfrnn

__all__ = ["Circles"]


class Circles:
    """The Circles model: each step moves every actor by a smooth force from all neighbors within the radius.

    Parameters
    ----------
    n : number of actors
    neighbors : others within `radius` of an actor away from the border at the start, on average; sets the side
    dim : 2 or 3
    radius : how far actors see each other; its unit is that of all lengths
    damping : F, the offset that a single neighbor causes at most, in the unit of `radius`
    seed : of the start, uniform in the square or cube
    repeatable : the same bytes in every run, by ``construction="sort"``
    dtype : float32 or float64
    session : a :class:`clfrnn.Session`, by default :func:`clfrnn.default_session`
    **options : of :func:`clfrnn.build_index`: ``method``, ``construction``, ``bin_width``, ...
    """

    def __init__(
        self,
        n: int,
        neighbors: float,
        *,
        dim: int = 3,
        radius: float = 1.0,
        damping: float = 0.05,
        seed: int = 0,
        repeatable: bool = False,
        dtype: npt.DTypeLike = np.float32,
        session: clfrnn.Session | None = None,
        **options: Any,
    ) -> None:
        self.n, self.dim = n, dim
        self.dtype = np.dtype(dtype)
        self.radius, self.damping = radius, damping
        volume = (math.pi if dim == 2 else 4 / 3 * math.pi) * radius**dim
        self.side = float(self.dtype.type((max(1, n - 1) * volume / neighbors) ** (1 / dim)))
        start = np.random.default_rng(seed).random((n, dim), dtype=self.dtype) * self.dtype.type(self.side)
        self.index = clfrnn.build_index(start, radius, session=session, **options)
        self.session = self.index.session
        self.points = cla.to_device(self.session.queue, start)
        self._next = cla.empty_like(self.points)
        self.steps_done = 0
        T = f"{dim}"
        common = dict(
            state="real_vec sum = (real_vec)(0);",
            per_neighbor="if (d2 > 0) { const real d = sqrt(d2); sum += dx * (sinpi(scale * d) / d); }",
        )
        self._move = clfrnn.NeighborFunction(
            arguments="const real scale, const real damping, const real side, global const real *points, global real *next",
            finish=f"vstore{T}(clamp(vload{T}(i, points) - damping * sum, (real)0, side), i, next);",
            **common,
        )
        self._off = clfrnn.NeighborFunction(
            arguments="const real scale, const real damping, global real *next",
            finish=f"vstore{T}(-damping * sum, i, next);",
            **common,
        )

    def step(self, steps=1):
        for _ in range(steps):
            self.index.visit(
                self._move,
                scale=2 / self.radius,
                damping=self.damping,
                side=self.side,
                points=self.points,
                next=self._next,
            )
            self.points, self._next = self._next, self.points
            self.index.update(self.points)
            self.steps_done += 1

    def forces(self):
        o = cla.empty_like(self.points)
        self.index.visit(self._off, scale=2 / self.radius, damping=self.damping, next=o)
        return o.get()

    def residual(self):
        return float(np.linalg.norm(self.forces(), axis=1).max() / self.damping)
