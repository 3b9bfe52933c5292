"""Groß, Köster and Krüger (2019): FENNS, a coarse grid in memory and a fine one made on the fly."""

from __future__ import annotations

from ..paper import Paper
from .configurations import plan
from .experiments import sections
from .steps import measure

__all__ = ["PAPER"]

PAPER = Paper(
    name="fenns",
    title="FENNS: a coarse grid in memory, a fine one on the fly",
    source=(
        "J. Groß, M. Köster, A. Krüger: *Fast and Efficient Nearest Neighbor Search for Particle Simulations*. "
        "Computer Graphics and Visual Computing 2019, [doi:10.2312/cgvc.20191258]"
        "(https://doi.org/10.2312/cgvc.20191258). Scenarios 1 to 3, its tables 1 to 4. The paper's own times are of a "
        "GeForce GTX 1080 Ti and a GeForce GTX Titan X, medians of 100 runs."
    ),
    timed=(
        "Points lie uniformly at random in a cube of side 180 (scenarios 1 and 2) or 360 (scenario 3), in random order "
        "on the device. A step takes them into the index (*update*) and counts the neighbors of every point (*count*). "
        "Times are device time, from the start of the first launch to the end of the last, gaps between launches "
        "included; *in kernels* is the sum of the launches alone. Each number is the median over up to 100 steps, at "
        "least five and no more than half a second takes. The counts of every way are compared point by point with "
        "those of strips, and a way that differs has failed.\n\n"
        "*Grid by counting* and *grid by sorting* are `uniform_grid`, with the paper's cells of side 2 *r* and in "
        "scenario 2 of side 10. They stand for the paper's Hoetzlein, who counts the points of cells by atomic "
        "operations in global memory, and Green, who sorts points by cells: by counting, groups on a GPU select the "
        "points of their cells, or sort points into buckets that they fill in local memory. *FENNS* has the paper's "
        "coarse grid of 18 x 18 x 18 cells, *FENNS, default* the one that clfrnn chooses; *strips* is clfrnn's "
        "default. Two things of the grids differ from the "
        "paper's. A query walks over the cells that its window meets, at most 8 of side 2 *r*, where the paper's walks "
        "over 27. And a domain of more than four cells a point is not held whole: it wraps around a torus of about two "
        "cells a point, so that the 450³ or 900³ cells of the small radii are never stored."
    ),
    plan=plan,
    measure=measure,
    sections=sections,
)
