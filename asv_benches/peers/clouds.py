"""The clouds on which clfrnn meets its peers."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from clfrnn import clouds

from ..benchmarks.common import uniform_radius
from ..tools.clouds import cube

Points = np.ndarray[Any, Any]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cloud:
    """Points by name, and a radius that float32 holds exactly, so that every peer searches within the same one."""

    name: str
    #: the name in a plot: two short lines
    label: str
    points: Callable[[], Points]
    radius: float
    #: the dimension that the points fill, by which a part of the cloud needs a larger radius for as many neighbors
    fills: int = 3

    def part(self, points: Points, divisor: int) -> tuple[Points, float]:
        """The first of so many parts, points being in random order, and the radius that finds as many neighbors."""
        return points[: len(points) // divisor], float(np.float32(self.radius * divisor ** (1 / self.fills)))


def uniform(n: int, neighbors: float, label: str) -> Cloud:
    """A uniform cloud in the unit cube, with about so many neighbors for each point."""
    return Cloud(
        name=f"{n:,}, uniform, {neighbors:g} neighbors",
        label=f"{label}\n{neighbors:.0f} neighbors",
        points=functools.partial(cube, n),
        radius=float(np.float32(uniform_radius(n, neighbors))),
    )


def wide(radius: float) -> Cloud:
    """4,194,304 uniform points in a cube of side 180."""
    return Cloud(
        name=f"4,194,304, uniform in 180³, r {radius}",
        label=f"4.19 M in 180³\nr {radius}",
        points=functools.partial(cube, 1 << 22, 180),
        radius=float(np.float32(radius)),
    )


def shell(n: int, label: str) -> Cloud:
    """A thin shell of radius 0.4 with about 50 neighbors for each point: a cap of height h has the area 2 pi 0.4 h."""
    return Cloud(
        name=f"{n:,}, thin shell, 50 neighbors",
        label=f"{label} shell\n50 neighbors",
        points=functools.partial(clouds.shell, n),
        radius=float(np.float32(2 * 0.4 * np.sqrt(50 / n))),
        fills=2,
    )


#: for CPUs, and for GPUs; the first two are so small that calls take longer than searches
SMALL = (
    uniform(1 << 9, 12, "512"),
    uniform(1 << 12, 12, "4,096"),
    uniform(1 << 16, 3, "65,536"),
    uniform(1 << 18, 3, "262,144"),
    uniform(1 << 18, 48, "262,144"),
    uniform(1 << 18, 145, "262,144"),
    shell(1 << 18, "262,144"),
)
LARGE = (
    uniform(1 << 16, 3, "65,536"),
    uniform(1 << 16, 47, "65,536"),
    uniform(1 << 20, 48.7, "1.05 M"),
    uniform(1 << 20, 144.6, "1.05 M"),
    wide(0.5),
    wide(1.0),
    Cloud(
        name="1,048,576, 200 clusters of width 0.002, r 0.0005",
        label="1.05 M\n200 clusters",
        points=functools.partial(clouds.clustered, 1 << 20),
        radius=float(np.float32(0.0005)),
    ),
    shell(1 << 20, "1.05 M"),
)
