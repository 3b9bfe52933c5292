"""Xing, Wang and Hui (2016): coherent range search on AABB-trees that are refitted as points move."""

from __future__ import annotations

from ..paper import Paper
from .configurations import plan
from .experiments import sections
from .steps import measure

__all__ = ["PAPER"]

PAPER = Paper(
    name="coherent-aabb",
    title="Coherent range search on AABB-trees",
    source=(
        "L. Xing, C. C. L. Wang, K.-C. Hui: *Coherent Spherical Range-Search for Dynamic Points on GPUs* "
        "(2016). Its figures 10, 11 and 20, its tables 1 and 2, and the two schemes of its sections 3.2 and 4.2. The "
        "paper's own times are of a GeForce GTX 660 Ti."
    ),
    timed=(
        "Points lie uniformly at random in a cube (but for the groups), in random order on the device, as the paper's. "
        "Radii and ranges of movement are shares of the cube's diagonal, *L*. Times are device time, from the start of "
        "the first launch to the end of the last, gaps between launches included. A step takes the points into the "
        "index (*update*) and counts the neighbors of every point. Where every step may differ, as trees are built "
        "again now and then, the number is the mean over all steps, as in the paper; else it is the median. "
        "The counts of every way are compared point by point with those of `strips`, beyond three dimensions with "
        "those of `brute_force`, of points that move at their last positions, and so are distances to the nearest; a "
        "way that differs has failed.\n\n"
        "The paper's voxel-based search is `uniform_grid` here, Green's grid as the paper's is, built by counting. "
        "`strips` is clfrnn's default. The other searches that the paper compares with (LSH, shifted sorting, ANN) are "
        "not in this project. Nothing is simulated: points are displaced at random."
    ),
    plan=plan,
    measure=measure,
    sections=sections,
)
