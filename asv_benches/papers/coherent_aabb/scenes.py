"""The points of the experiments, and how far they are searched around."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Groups", "cube", "diagonal", "displacements", "groups", "radius_of"]

Array = np.ndarray[Any, Any]

#: Half the side of the cube of uniform points.
HALF = 1.0


def diagonal(dim: int = 3) -> float:
    """The diagonal of the cube."""
    return 2 * HALF * math.sqrt(dim)


def cube(n: int, dim: int = 3, *, seed: int = 0) -> Array:
    """Uniform points from -1 to 1. (n, dim) float32."""
    return np.random.default_rng(seed).uniform(-HALF, HALF, (n, dim)).astype(np.float32)


def displacements(points: Array, reach: float, steps: int) -> list[Array]:
    """Positions of all steps, each of them up to `reach` of the diagonal along each axis from the one before.

    Points stay in the cube: who leaves it at a wall turns back there.
    """
    rng, most = np.random.default_rng(2), np.float32(reach * diagonal(points.shape[1]))
    positions, at = [], points
    for _ in range(steps):
        at = at + most * (2 * rng.random(at.shape, dtype=np.float32) - 1)
        outside = np.abs(at) > HALF
        at[outside] = np.sign(at[outside]) * 2 * np.float32(HALF) - at[outside]
        positions.append(at)
    return positions


def radius_of(points: Array, neighbors: int, *, queries: int = 256) -> float:
    """The radius within which a point has so many others in the mean, by a sample of them."""
    sample = np.random.default_rng(3).choice(len(points), min(queries, len(points)), replace=False)
    found = []
    for one in points[sample].astype(np.float64):
        squares = np.sort(((points - one) ** 2).sum(axis=1))
        found.append(squares[1 : min(len(points), 16 * neighbors)])
    every = np.sort(np.concatenate(found))
    return float(np.sqrt(every[min(len(every) - 1, neighbors * len(sample))]))


class Groups(NamedTuple):
    """Points of three groups, in random order, and the radius of each."""

    points: Array
    radii: Array
    largest: float


def groups(n: int, radius: float) -> Groups:
    """Three cubes of n / 3 uniform points each, whose sides and radii are as 3 to 2 to 1.

    The first stands in the upper left of a box of side 1, the second in the upper right, the last at the bottom, as in
    the paper. A third of the points in half the side, a third in a third and a third in a sixth of it have alike many
    neighbors. `radius` is a share of the box's diagonal, and that of the last group.
    """
    rng = np.random.default_rng(4)
    shares = (3, 2, 1)
    centers = ((0.25, 0.75, 0.5), (0.8, 0.8, 0.5), (0.5, 1 / 12, 0.5))
    many = [n // 3, n // 3, n - 2 * (n // 3)]
    clouds = [
        np.array(center) + share / 6 * rng.uniform(-0.5, 0.5, (k, 3))
        for center, share, k in zip(centers, shares, many, strict=True)
    ]
    own = radius * math.sqrt(3)
    radii = np.repeat(np.float32(own) * np.array(shares, np.float32), many)
    order = rng.permutation(n)
    points = np.concatenate(clouds).astype(np.float32)
    return Groups(points[order], radii[order], float(radii.max()))
