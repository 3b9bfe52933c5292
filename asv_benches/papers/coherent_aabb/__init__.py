"""Xing, Wang and Hui (2016): coherent range search on AABB-trees that are refitted as points move."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import clfrnn

from ...tools.scans import SOURCES, missing
from ..paper import Measurement, Numbers, Paper, Results, Section
from . import configurations, experiments, fluid_tables, fluids, growth, printed, steps, surfaces
from .surfaces import kd_trees

__all__ = ["PAPER"]


class Part(NamedTuple):
    """A part of the paper: the names of its experiments, and what a :class:`Paper` has of each."""

    names: Collection[str]
    plan: Callable[[str], Sequence[Measurement]]
    measure: Callable[[clfrnn.Session, Measurement], Numbers]
    sections: Callable[[Results], Sequence[Section]]


#: What is measured of its section 5.1 and of groups of points, of its algorithms as printed, of libraries of k-d trees,
#: which stand in tables of other parts, of boxes that grow, of surfaces, then of simulations.
PARTS = (
    Part(steps.EXPERIMENTS, configurations.plan, steps.measure, experiments.sections),
    Part(printed.EXPERIMENTS, printed.plan, printed.measure, printed.sections),
    Part(kd_trees.EXPERIMENTS, kd_trees.plan, kd_trees.measure, lambda _: ()),
    Part(growth.EXPERIMENTS, growth.plan, growth.measure, growth.sections),
    Part(surfaces.EXPERIMENTS, surfaces.plan, surfaces.measure, surfaces.sections),
    Part(fluids.EXPERIMENTS, fluids.plan, fluids.measure, fluid_tables.sections),
)


def plan(scale: str) -> list[Measurement]:
    """The plans of all parts."""
    return [measurement for part in PARTS for measurement in part.plan(scale)]


def measure(session: clfrnn.Session, measurement: Measurement) -> Numbers:
    """One measurement of any part."""
    (part,) = (part for part in PARTS if measurement.to_dict()["experiment"] in part.names)
    return part.measure(session, measurement)


def sections(results: Results) -> list[Section]:
    """The sections of those parts of which something was measured."""
    there = {measurement.to_dict()["experiment"] for measurement in [*results.numbers, *results.failures]}
    return [section for part in PARTS if there & set(part.names) for section in part.sections(results)]


def absent(measurement: Measurement) -> str:
    """Why a measurement of a scan or of another library is left out, where that is not here."""
    facts = measurement.to_dict()
    if "library" in facts:
        return kd_trees.missing(str(facts["library"]))
    return missing(str(facts["shape"])) if facts.get("shape") in SOURCES else ""


PAPER = Paper(
    name="coherent-aabb",
    title="Coherent range search on AABB-trees",
    source=(
        "L. Xing, C. C. L. Wang, K.-C. Hui: *Coherent Spherical Range-Search for Dynamic Points on GPUs* "
        "(2016). Its figures 9 to 11, 14, 15 and 18 to 20, tables 1 to 3, and the two schemes of sections 3.2 and 4.2. "
        "The paper's own times are of a GeForce GTX 660 Ti."
    ),
    timed=(
        "Points lie uniformly at random in a cube (but for groups and surfaces), in random order on the device, as the "
        "paper's. Radii and ranges of movement are shares of the cube's diagonal, *L*. Times are device time, from the "
        "start of the first launch to the end of the last, gaps between launches included. A step takes points into "
        "the index (*update*) and counts the neighbors of every point. Where every step may differ, as trees are built "
        "again now and then, the number is the mean over all steps, as in the paper; else it is the median. "
        "The counts of every way are compared point by point with those of `strips`, beyond three dimensions with "
        "those of `brute_force`, of points that move at their last positions, and so are distances to the nearest; a "
        "way that differs has failed.\n\n"
        "The paper's voxel-based search is `uniform_grid` here, Green's grid as the paper's is, built by counting. "
        "`strips` is clfrnn's default. The other searches that the paper compares with (LSH, shifted sorting, ANN) are "
        "not in this project. Outside of the simulations, points are displaced at random."
    ),
    plan=plan,
    measure=measure,
    sections=sections,
    absent=absent,
)
