"""The clouds that docs/performance.md names, and the times of what is done with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import clfrnn
from clfrnn import clouds

from .benchmarks.common import Seconds, timed, uniform_radius

#: A step is measured so often, after warm-up.
STEPS = 20

Step = Callable[[], object]


def cube(n: int, side: float = 1.0) -> np.ndarray[Any, Any]:
    """A uniform cloud of fixed seed."""
    return np.random.default_rng(0).random((n, 3), dtype=np.float32) * np.float32(side)


#: name -> (cloud, radius); large ones for GPUs, small ones for CPUs
LARGE: dict[str, Callable[[], tuple[Any, float]]] = {
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
SMALL: dict[str, Callable[[], tuple[Any, float]]] = {
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


def milliseconds(session: clfrnn.Session, step: Step) -> Seconds:
    """Median times of a step."""
    return Seconds(*(1e3 * seconds for seconds in timed(session, step, STEPS)))
