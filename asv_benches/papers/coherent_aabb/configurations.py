"""What is measured for the paper: experiments, ways to search, sizes, radii and ranges of movement."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from ..paper import Measurement

__all__ = [
    "AXES",
    "GROUP_WAYS",
    "MOVING_WAYS",
    "SCHEMES",
    "UPDATES",
    "Axes",
    "ball",
    "dimension",
    "group",
    "moving",
    "plan",
    "scheme",
    "update",
]

MOVING_WAYS = ("aabb_tree", "uniform_grid", "strips")
GROUP_WAYS = MOVING_WAYS
RADIUS_WAYS = ("aabb_tree", "strips")
DIMENSION_WAYS = ("aabb_tree", "brute_force")

#: The paper's algorithms 1 and 2: each query goes down the tree by itself, or as one of a pack.
SCHEMES = ("primary", "coherent")

#: What an update may do: fit the tree, make its order anew, or sort the points into a grid.
UPDATES = ("refit", "rebuild", "uniform_grid", "strips")

#: Neighbors of a point in every number of dimensions.
NEIGHBORS = 20


@dataclasses.dataclass(frozen=True, kw_only=True)
class Axes:
    """The sizes of a scale; radii and ranges are shares of the diagonal."""

    #: steps of points that move
    steps: int
    #: figure 10: points, how far a coordinate moves in a step at the most, and radii
    moving: Sequence[int]
    ranges: Sequence[float]
    radii: Sequence[float]
    #: table 1: points, and queries that are others
    spheres: int
    sphere_radii: Sequence[float]
    #: figure 11
    flat: int
    dims: Sequence[int]
    #: table 2
    updated: Sequence[int]
    #: figure 20: points of all groups, and the radius of the last
    groups: Sequence[int]
    group_radii: Sequence[float]
    #: sections 3.2 and 4.2
    schemes: Sequence[int]


AXES = {
    "paper": Axes(
        steps=50,
        moving=(100_000, 250_000, 500_000, 750_000, 1_000_000),
        ranges=(0.0001, 0.001, 0.01, 0.1),
        radii=(0.005, 0.01, 0.02),
        spheres=300_000,
        sphere_radii=tuple(k / 200 for k in range(1, 11)),
        flat=20_000,
        dims=tuple(range(3, 13)),
        updated=(100_000, 200_000, 300_000, 400_000, 500_000, 600_000, 700_000, 800_000, 900_000, 1_000_000, 2_000_000),
        groups=(30_000, 3_000_000),
        group_radii=(0.0025, 0.005, 0.01),
        schemes=(100_000, 300_000, 1_000_000),
    ),
    "small": Axes(
        steps=10,
        moving=(10_000, 20_000, 50_000),
        ranges=(0.0001, 0.001, 0.01, 0.1),
        radii=(0.01, 0.02),
        spheres=20_000,
        sphere_radii=(0.005, 0.01, 0.02, 0.05),
        flat=4_000,
        dims=(3, 4, 6, 8, 12),
        updated=(20_000, 50_000),
        groups=(30_000,),
        group_radii=(0.0025, 0.005, 0.01),
        schemes=(20_000, 50_000),
    ),
    "tiny": Axes(
        steps=2,
        moving=(400,),
        ranges=(0.001, 0.1),
        radii=(0.05, 0.1),
        spheres=400,
        sphere_radii=(0.05, 0.1),
        flat=300,
        dims=(3, 4),
        updated=(400,),
        groups=(300,),
        group_radii=(0.02, 0.05),
        schemes=(400,),
    ),
}


def moving(axes: Axes, n: int, reach: float, radius: float, way: str) -> Measurement:
    """Figure 10: steps of points that move by up to `reach` of the diagonal along each axis."""
    return Measurement.of(experiment="moving", n=n, reach=reach, radius=radius, way=way, steps=axes.steps)


def ball(axes: Axes, radius: float, way: str) -> Measurement:
    """Table 1: as many queries as points, which are others."""
    return Measurement.of(experiment="radius", n=axes.spheres, radius=radius, way=way)


def dimension(axes: Axes, dim: int, way: str) -> Measurement:
    """Figure 11: a radius with so many neighbors in the mean."""
    return Measurement.of(experiment="dimension", n=axes.flat, dim=dim, neighbors=NEIGHBORS, way=way)


def update(axes: Axes, n: int, way: str) -> Measurement:
    """Table 2: one update."""
    return Measurement.of(experiment="update", n=n, way=way, radius=axes.radii[0])


def group(n: int, radius: float, way: str) -> Measurement:
    """Figure 20: three groups of points with three radii."""
    return Measurement.of(experiment="groups", n=n, radius=radius, way=way)


def scheme(axes: Axes, n: int, radius: float, way: str) -> Measurement:
    """A count by one of the paper's algorithms; points as those of figure 10, at rest."""
    return Measurement.of(experiment="scheme", n=n, radius=radius, way=way, steps=axes.steps)


def plan(scale: str) -> list[Measurement]:
    """Every configuration once; those of one cloud follow each other."""
    axes = AXES[scale]
    return [
        *(
            moving(axes, n, reach, radius, way)
            for n in axes.moving
            for radius in axes.radii
            for reach in axes.ranges
            for way in MOVING_WAYS
        ),
        *(scheme(axes, n, radius, way) for n in axes.schemes for radius in axes.radii for way in SCHEMES),
        *(ball(axes, radius, way) for radius in axes.sphere_radii for way in RADIUS_WAYS),
        *(dimension(axes, dim, way) for dim in axes.dims for way in DIMENSION_WAYS),
        *(update(axes, n, way) for n in axes.updated for way in UPDATES),
        *(group(n, radius, way) for n in axes.groups for radius in axes.group_radii for way in GROUP_WAYS),
    ]
