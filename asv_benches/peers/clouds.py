"""The clouds on which clfrnn meets its peers."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from clfrnn import clouds

from ..benchmarks.common import uniform_radius
from ..tools.clouds import cube, halos
from .peer import Array, Question

#: the tasks of a cloud that fills a cube or a surface
PLAIN = ("count", "lists", "nearest")
CLUSTERS = ("friends", "dbscan")

#: links of friends in halos, over the mean spacing
LINK = 0.2


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Cloud:
    """Points by name, and a radius that float32 holds exactly, so that every peer searches within the same one."""

    name: str
    #: the name in a plot: two short lines
    label: str
    points: Callable[[], Array]
    radius: float
    tasks: Sequence[str] = PLAIN
    #: the dimension that the points fill, by which a part of the cloud needs a larger radius for as many neighbors
    fills: int = 3
    #: (3, 3) lattice vectors as rows, where the cloud repeats
    cell: Array | None = None
    #: the points of each system, where the cloud is a batch of systems
    system: int = 0

    def batch(self, n: int) -> Array | None:
        """The system of each of n points."""
        return np.arange(n, dtype=np.int32) // self.system if self.system else None

    def part(self, question: Question, divisor: int) -> Question:
        """One of so many points, or the first of so many systems, and the radius that finds as many neighbors."""
        n = len(question.points) // divisor
        if self.system:
            n -= n % self.system
            return dataclasses.replace(question, points=question.points[:n], batch=self.batch(n))
        chosen = np.sort(np.random.default_rng(3).permutation(len(question.points))[:n])
        radius = float(np.float32(self.radius * divisor ** (1 / self.fills)))
        return dataclasses.replace(question, points=question.points[chosen], radius=radius, widest=4 * question.widest)


def uniform(n: int, neighbors: float, label: str, tasks: Sequence[str] = ("count", "lists")) -> Cloud:
    """A uniform cloud in the unit cube, with about so many neighbors for each point."""
    return Cloud(
        name=f"{n:,}, uniform, {neighbors:g} neighbors",
        label=f"{label}\n{neighbors:.0f} neighbors",
        points=functools.partial(cube, n),
        radius=float(np.float32(uniform_radius(n, neighbors))),
        tasks=tasks,
    )


def wide(radius: float) -> Cloud:
    """4,194,304 uniform points in a cube of side 180."""
    return Cloud(
        name=f"4,194,304, uniform in 180³, r {radius}",
        label=f"4.19 M in 180³\nr {radius}",
        points=functools.partial(cube, 1 << 22, 180),
        radius=float(np.float32(radius)),
        tasks=("count", "lists"),
    )


def shell(n: int, label: str) -> Cloud:
    """A thin shell of radius 0.4 with about 50 neighbors for each point: a cap of height h has the area 2 pi 0.4 h."""
    return Cloud(
        name=f"{n:,}, thin shell, 50 neighbors",
        label=f"{label} shell\n50 neighbors",
        points=functools.partial(clouds.shell, n),
        radius=float(np.float32(2 * 0.4 * np.sqrt(50 / n))),
        tasks=(*PLAIN, "normals"),
        fills=2,
    )


def crowds(n: int, label: str) -> Cloud:
    """Half of the points even, half in 1,000 halos, linked within a fifth of the mean spacing."""
    return Cloud(
        name=f"{n:,}, half of them in halos, {LINK} spacings",
        label=f"{label} halos\n{LINK} spacings",
        points=functools.partial(halos, n),
        radius=float(np.float32(LINK * n ** (-1 / 3))),
        tasks=("nearest", *CLUSTERS),
    )


def triclinic(n: int, label: str) -> Cloud:
    """Uniform points in a cell that leans along two axes, a tenth of a point per unit of volume, as atoms in Å have."""
    shape = np.array([[1, 0, 0], [0.25, 1, 0], [-0.25, 0.375, 1]])
    cell = ((10 * n) ** (1 / 3) * shape).astype(np.float32)
    return Cloud(
        name=f"{n:,}, uniform in a triclinic cell, 52 neighbors",
        label=f"{label} triclinic\n52 neighbors",
        points=lambda: (cube(n) @ cell).astype(np.float32),
        radius=5.0,
        tasks=("cells",),
        cell=cell,
    )


def molecules(many: int, size: int, label: str) -> Cloud:
    """So many open systems, each in a cube of its own at the origin, with 10 to 12 neighbors for each point."""
    return Cloud(
        name=f"{many:,} systems of {size} points",
        label=f"{label} systems\nof {size}",
        points=functools.partial(cube, many * size),
        radius=float(np.float32(uniform_radius(size, 20))),
        tasks=("batches",),
        system=size,
    )


def real(folder: Path) -> tuple[list[Cloud], list[str]]:
    """The clouds that :mod:`.data` wrote into a folder, and the names of those that are not there."""
    present, absent = [], []
    for name, (told, radius, tasks) in REAL.items():
        path = folder / f"{name}.npz"
        if not path.is_file():
            absent.append(name)
            continue
        with np.load(path) as data:
            points, cell = data["points"], data.get("cell")
        found = Cloud(
            name=f"{len(points):,}, {told}",
            label=f"{len(points):,}\n{name}",
            points=functools.partial(np.array, points),
            radius=radius,
            tasks=tasks,
            fills=3 if "cells" in tasks else 2,
            cell=cell,
        )
        present.append(found)
    return present, absent


#: real clouds by the names of their files: what they are, a radius in Å, feet or mm, and tasks
REAL: Mapping[str, tuple[str, float, Sequence[str]]] = {
    "water": ("water in a box, 5 Å", 5.0, ("cells",)),
    "protein": ("protein and water in a triclinic cell, 5 Å", 5.0, ("cells",)),
    "scan": ("laser scan of a river bank, 8 feet", 8.0, (*PLAIN, "dbscan", "normals")),
    "cortex": ("folded surface of a brain, 4 mm", 4.0, (*PLAIN, "normals")),
}

#: for CPUs, and for GPUs; the smallest ones for CPUs are so small that calls take longer than searches
SMALL = (
    uniform(1 << 9, 12, "512", (*PLAIN, *CLUSTERS)),
    uniform(1 << 12, 12, "4,096"),
    uniform(1 << 16, 3, "65,536", (*PLAIN, *CLUSTERS)),
    uniform(1 << 18, 3, "262,144"),
    uniform(1 << 18, 48, "262,144"),
    uniform(1 << 18, 145, "262,144"),
    shell(1 << 18, "262,144"),
    crowds(1 << 18, "262,144"),
    triclinic(1 << 9, "512"),
    triclinic(1 << 16, "65,536"),
    molecules(16, 32, "16"),
    molecules(4096, 32, "4,096"),
)
LARGE = (
    uniform(1 << 16, 3, "65,536"),
    uniform(1 << 16, 47, "65,536"),
    uniform(1 << 20, 3, "1.05 M", (*PLAIN, *CLUSTERS)),
    uniform(1 << 20, 48.7, "1.05 M"),
    uniform(1 << 20, 144.6, "1.05 M"),
    wide(0.5),
    wide(1.0),
    Cloud(
        name="1,048,576, 200 clusters of width 0.002, r 0.0005",
        label="1.05 M\n200 clusters",
        points=functools.partial(clouds.clustered, 1 << 20),
        radius=float(np.float32(0.0005)),
        tasks=("count", "lists"),
    ),
    shell(1 << 20, "1.05 M"),
    crowds(1 << 20, "1.05 M"),
    triclinic(1 << 16, "65,536"),
    triclinic(1 << 18, "262,144"),
    molecules(4096, 64, "4,096"),
    molecules(32768, 32, "32,768"),
)
