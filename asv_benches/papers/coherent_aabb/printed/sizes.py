"""What is measured of the paper's algorithms as printed."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from ...paper import Measurement

__all__ = ["LAYOUTS", "SIZES", "WAYS", "Sizes", "lanes", "nodes", "plan", "search"]

#: Algorithm 1, also with work-items that take one query after another; algorithm 2; and the library's tree.
WAYS = ("primary", "balanced", "coherent", "aabb_tree")

#: Nodes of a level side by side, or all nodes at random.
LAYOUTS = ("aligned", "scattered")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sizes:
    """The sizes of a scale; radii are shares of the diagonal."""

    searched: Sequence[int]
    radii: Sequence[float]
    #: figure 7
    fitted: Sequence[int]
    #: figures 12 and 13, and their radius
    counted: Sequence[int]
    radius: float


SIZES = {
    "paper": Sizes(
        searched=(100_000, 300_000, 1_000_000),
        radii=(0.005, 0.01, 0.02),
        fitted=(100_000, 300_000, 1_000_000),
        counted=(100_000, 300_000, 500_000, 1_000_000),
        radius=0.01,
    ),
    "small": Sizes(searched=(10_000,), radii=(0.01, 0.02), fitted=(10_000, 50_000), counted=(10_000,), radius=0.02),
    "tiny": Sizes(searched=(400,), radii=(0.05,), fitted=(400,), counted=(400,), radius=0.05),
}


def search(n: int, radius: float, way: str) -> Measurement:
    """Neighbors of all points by an algorithm."""
    return Measurement.of(experiment="printed", n=n, radius=radius, way=way)


def nodes(n: int, layout: str) -> Measurement:
    """Figure 7: boxes that are fitted anew."""
    return Measurement.of(experiment="nodes", n=n, layout=layout)


def lanes(sizes: Sizes, n: int) -> Measurement:
    """Figures 12 and 13: the shares of active lanes."""
    return Measurement.of(experiment="lanes", n=n, radius=sizes.radius)


def plan(scale: str) -> Sequence[Measurement]:
    """Every configuration once; those of one cloud follow each other."""
    sizes = SIZES[scale]
    every = sorted({*sizes.searched, *sizes.fitted, *sizes.counted})
    return [
        each
        for n in every
        for each in [
            *(search(n, radius, way) for radius in sizes.radii for way in WAYS if n in sizes.searched),
            *(nodes(n, layout) for layout in LAYOUTS if n in sizes.fitted),
            *(lanes(sizes, n) for _ in range(n in sizes.counted)),
        ]
    ]
