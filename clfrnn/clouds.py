"""Seeded point clouds for tests, benchmarks and ``clfrnn verify``, most of them in the unit cube.

>>> uniform(3, 2, seed=1).shape
(3, 2)
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "CLOUDS",
    "clustered",
    "dam_break",
    "duplicates",
    "edges",
    "filament",
    "lattice",
    "multiscale",
    "shell",
    "uniform",
]

Points = npt.NDArray[Any]


def uniform(n: int, dim: int = 3, *, dtype: npt.DTypeLike = np.float32, seed: int = 0) -> Points:
    """Independent points in the unit cube."""
    return np.random.default_rng(seed).random((n, dim)).astype(dtype)


def lattice(n: int, dim: int = 3, *, dtype: npt.DTypeLike = np.float32, seed: int = 0) -> Points:
    """The first n points of a cubic lattice whose spacing is a power of two, in random order."""
    side = max(1, int(np.ceil(n ** (1 / dim))))
    spacing = 2.0 ** -np.ceil(np.log2(side))
    axes = np.meshgrid(*[np.arange(side)] * dim, indexing="ij")
    points = np.stack([axis.ravel() for axis in axes], axis=1)[:n] * spacing
    return np.random.default_rng(seed).permutation(points).astype(dtype)


def shell(n: int, dim: int = 3, *, dtype: npt.DTypeLike = np.float32, seed: int = 0) -> Points:
    """A thin spherical shell of radius 0.4 and thickness 0.001 about the cube's middle."""
    rng = np.random.default_rng(seed)
    direction = rng.standard_normal((n, dim))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    return (0.5 + direction * (0.4 + 0.001 * rng.random((n, 1)))).astype(dtype)


def clustered(
    n: int,
    dim: int = 3,
    *,
    dtype: npt.DTypeLike = np.float32,
    seed: int = 0,
    clusters: int = 200,
    width: float = 0.002,
) -> Points:
    """Normal clusters of standard deviation `width` about uniform centres."""
    rng = np.random.default_rng(seed)
    centres = rng.random((clusters, dim))
    return (centres[rng.integers(clusters, size=n)] + width * rng.standard_normal((n, dim))).astype(dtype)


def multiscale(n: int, dim: int = 3, *, dtype: npt.DTypeLike = np.float32, seed: int = 0) -> Points:
    """Normal clouds about one centre whose widths spread evenly over three decades."""
    rng = np.random.default_rng(seed)
    width = 10.0 ** rng.uniform(-4, -1, (n, 1))
    return (0.5 + width * rng.standard_normal((n, dim))).astype(dtype)


def filament(n: int, dim: int = 3, *, dtype: npt.DTypeLike = np.float32, seed: int = 0) -> Points:
    """A thin wavy line through the cube."""
    rng = np.random.default_rng(seed)
    along = rng.random((n, 1))
    phase = np.arange(dim)
    return (0.5 + 0.45 * np.sin(5 * along * (1 + phase) + phase) + 1e-3 * rng.standard_normal((n, dim))).astype(dtype)


def dam_break(n: int, dim: int = 3, *, dtype: npt.DTypeLike = np.float32, seed: int = 0) -> Points:
    """A block of jittered lattice that fills a quarter of the cube, and a thin layer on its floor."""
    rng = np.random.default_rng(seed)
    block = n - n // 10
    side = max(1, int(np.ceil(block ** (1 / dim))))
    axes = np.meshgrid(*[np.arange(side)] * dim, indexing="ij")
    water = np.stack([axis.ravel() for axis in axes], axis=1)[:block] / side
    water = (water + rng.uniform(-0.2, 0.2, water.shape) / side) * np.where(np.arange(dim) == 0, 0.25, 1.0)
    floor = rng.random((n - block, dim))
    floor[:, -1] *= 0.01
    return np.concatenate([water, floor]).astype(dtype)


def duplicates(n: int, dim: int = 3, *, dtype: npt.DTypeLike = np.float32, seed: int = 0) -> Points:
    """Random positions with about four points each."""
    rng = np.random.default_rng(seed)
    places = rng.random((max(1, n // 4), dim))
    return places[rng.integers(len(places), size=n)].astype(dtype)


def edges(
    n: int,
    dim: int = 3,
    *,
    dtype: npt.DTypeLike = np.float32,
    seed: int = 0,
    radius: float,
    sides: tuple[float, ...],
    low: float = 0.0,
    high: tuple[float, ...] | None = None,
) -> Points:
    """Points on the edges of cells counted from `low`, points at `radius` from them, and adjacent floats of both.

    On these pairs a window without padding fails. The first point is `low` on every axis. With `high`, points lie on
    the edges of all cells up to `high`, which is the last point: for cells that follow the extent of the points.
    """
    rng = np.random.default_rng(seed)
    kind: Any = np.dtype(dtype)
    count = max(1, n // 2)
    reach = 6 if dim == 2 else 3  # few cells, so that they are crowded and their sides do not depend on n
    extent = reach * radius if high is None else np.subtract(high, low)
    steps = rng.integers(0, np.ceil(extent / np.asarray(sides)) + 1, (count, dim))
    edge = _nudge(rng, (low + steps * np.asarray(sides)).astype(kind))
    axis = rng.integers(dim, size=count)
    partner = edge.copy()
    sign = rng.choice([-1.0, 1.0], count).astype(kind)
    partner[np.arange(count), axis] += sign * kind.type(radius)
    partner = np.maximum(_nudge(rng, partner), kind.type(low))
    corner = np.full((1, dim), low, kind)
    points = np.concatenate([corner, np.maximum(edge, kind.type(low)), partner])[:n]
    if high is not None:
        points = np.minimum(points, np.asarray(high, kind))
        points[-1] = high
    return points


def _nudge(rng: np.random.Generator, values: Points) -> Points:
    """Each value, or one of the two adjacent floats."""
    towards = rng.choice([-np.inf, 0.0, np.inf], values.shape)
    stepped = np.nextafter(values, towards.astype(values.dtype))
    return np.where(towards == 0, values, stepped).astype(values.dtype)


#: The clouds that need only a size, a dimension, a dtype and a seed.
CLOUDS = {
    make.__name__: make for make in (uniform, lattice, shell, clustered, multiscale, filament, dam_break, duplicates)
}
