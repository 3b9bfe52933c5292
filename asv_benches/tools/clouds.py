"""Clouds of the tables: those that docs/measured/tables/ name, and even and crowded ones of any size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clfrnn import clouds

from ..benchmarks.common import uniform_radius


def cube(n: int, side: float = 1.0) -> np.ndarray[Any, Any]:
    """A uniform cloud of fixed seed."""
    return np.random.default_rng(0).random((n, 3), dtype=np.float32) * np.float32(side)


def halos(n: int, *, many: int = 1000, width: float = 0.02, seed: int = 0) -> Any:
    """Half of the points even in the unit cube, the other half in halos whose density falls with the square."""
    rng = np.random.default_rng(seed)
    even = rng.random((n - n // 2, 3))
    away = rng.standard_normal((n // 2, 3))
    away *= (width * rng.random(n // 2) / np.linalg.norm(away, axis=1))[:, None]
    crowded = rng.random((many, 3))[rng.integers(many, size=n // 2)] + away
    return rng.permutation(np.concatenate([even, crowded])).astype(np.float32)


def universe(n: int, *, seed: int = 0) -> Any:
    """Half of the points even in the unit cube, half in halos of 20 and more with 200 times the mean density."""
    rng = np.random.default_rng(seed)
    sizes = np.minimum(20 + 20 * rng.pareto(0.9, n // 40 + 1), min(2e4, n / 50)).astype(int)
    sizes = sizes[: np.searchsorted(np.cumsum(sizes), n // 2) + 1]
    which = np.repeat(np.arange(len(sizes)), sizes)[: n // 2]
    radii = np.cbrt(3 * sizes / (800 * np.pi * n))
    away = rng.standard_normal((len(which), 3))
    away *= (radii[which] * rng.random(len(which)) / np.linalg.norm(away, axis=1))[:, None]
    crowded = (rng.random((len(sizes), 3))[which] + away) % 1
    return rng.permutation(np.concatenate([rng.random((n - len(which), 3)), crowded])).astype(np.float32)


def gaussian_halos(n: int, *, many: int = 2000, widths: tuple[float, float] = (-3.5, -2.0), seed: int = 0) -> Any:
    """Half of the points even in the unit cube, half in normal halos; decimal logarithms of widths are even."""
    rng = np.random.default_rng(seed)
    sigmas = 10.0 ** rng.uniform(*widths, many)
    which = rng.integers(many, size=n // 2)
    crowded = rng.random((many, 3))[which] + sigmas[which, None] * rng.standard_normal((n // 2, 3))
    return rng.permutation(np.concatenate([rng.random((n - n // 2, 3)), crowded])).astype(np.float32)


def speck(n: int, *, width: float = 1e-7, seed: int = 0) -> Any:
    """One of a hundred points even in the unit cube, the others in a cube of that width at its low corner."""
    rng = np.random.default_rng(seed)
    few = n // 100
    return rng.permutation(np.concatenate([rng.random((few, 3)), width * rng.random((n - few, 3))])).astype(np.float32)


def strayed(n: int, *, away: float = 1e6, seed: int = 0) -> Any:
    """Even points in the unit cube, and one that is far away."""
    points = np.random.default_rng(seed).random((n, 3)).astype(np.float32)
    points[n // 2] = away
    return points


def coincident(n: int, *, together: int = 2000, seed: int = 0) -> Any:
    """Half of the points even in the unit cube, the others at places that so many of them share."""
    rng = np.random.default_rng(seed)
    places = rng.random((-(-n // (2 * together)), 3)).repeat(together, axis=0)[: n // 2]
    return rng.permutation(np.concatenate([rng.random((n - n // 2, 3)), places])).astype(np.float32)


#: clouds by name, each with its radius
Named = dict[str, Callable[[], tuple[Any, float]]]

#: large ones for GPUs, small ones for CPUs
LARGE: Named = {
    "4.19 M in 180³, r 0.2": lambda: (cube(1 << 22, 180), 0.2),
    "4.19 M in 180³, r 0.5": lambda: (cube(1 << 22, 180), 0.5),
    "4.19 M in 180³, r 0.8": lambda: (cube(1 << 22, 180), 0.8),
    "4.19 M in 180³, r 1.0": lambda: (cube(1 << 22, 180), 1.0),
    "1.05 M, 49 neighbors": lambda: (cube(1 << 20), uniform_radius(1 << 20, 48.7)),
    "1.05 M, 145 neighbors": lambda: (cube(1 << 20), uniform_radius(1 << 20, 144.6)),
    "1.05 M, 200 clusters of width 0.002, r 0.0005": lambda: (clouds.clustered(1 << 20), 0.0005),
    "1.05 M, 200 clusters of width 0.002, r 0.0002": lambda: (clouds.clustered(1 << 20), 0.0002),
    "1.05 M, thin shell, 50 neighbors": lambda: (clouds.shell(1 << 20), 0.00552),
    "1.05 M, 3 neighbors": lambda: (cube(1 << 20), uniform_radius(1 << 20, 3)),
    "16.8 M, 3 neighbors": lambda: (cube(1 << 24), uniform_radius(1 << 24, 3)),
    "1.05 M, three decades of scale, r 0.0002": lambda: (clouds.multiscale(1 << 20, 3, seed=1), 0.0002),
    "262,144, 3 neighbors": lambda: (cube(1 << 18), uniform_radius(1 << 18, 3)),
    "262,144, 48 neighbors": lambda: (cube(1 << 18), uniform_radius(1 << 18, 48)),
    "65,536, 3 neighbors": lambda: (cube(1 << 16), uniform_radius(1 << 16, 3)),
    "65,536, 47 neighbors": lambda: (cube(1 << 16), uniform_radius(1 << 16, 47)),
}
SMALL: Named = {
    **{name: LARGE[name] for name in ("262,144, 3 neighbors", "262,144, 48 neighbors")},
    "262,144, 145 neighbors": lambda: (cube(1 << 18), uniform_radius(1 << 18, 145)),
    "65,536, 3 neighbors": LARGE["65,536, 3 neighbors"],
}


def is_uniform(name: str) -> bool:
    """Whether a named cloud fills its cube evenly."""
    return not any(word in name for word in ("cluster", "shell", "decades"))


def moved(points: Any, radius: float) -> Any:
    """The points elsewhere, on each axis by a tenth of the radius (a standard deviation)."""
    away = 0.1 * radius * np.random.default_rng(2).standard_normal(points.shape)
    return (points + away).astype(points.dtype)


def side_of(name: str) -> float:
    """The side of the cube of a named cloud."""
    return 180.0 if "180" in name else 1.0


#: clouds of any size by name
CLOUDS: dict[str, Callable[[int], Any]] = {"even": cube, "halos": halos, "universe": universe}

#: clouds of any size that are far from even, by name
CROWDS: dict[str, Callable[[int], Any]] = {
    "halos of many widths": gaussian_halos,
    "speck": speck,
    "stray at 1e6": strayed,
    "coincident by 2,000": coincident,
}
