"""What is measured for the paper: methods, constructions, orders of the particles in memory, and its own cells."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping

from ..paper import Measurement

__all__ = ["AXES", "CONSTRUCTIONS", "METHODS", "NUMBERINGS", "ORDERS", "STARTS", "Axes", "case", "fixed_case", "plan"]

#: Methods that are compared: the paper's grid, and what clfrnn takes by itself.
METHODS = ("uniform_grid", "strips")

#: How the grid is built: by atomics (Hoetzlein 2014 rather than the paper's cells of fixed room), or by sorting.
CONSTRUCTIONS = {"counting": "atomics", "sort": "sorting"}

#: After how many frames particles are put into the order of cells, 0 for never, and what tables call it.
ORDERS: Mapping[int, str] = {0: "never", 16: "every 16th frame", 1: "every frame"}

#: How the cells of fixed capacity are numbered, and what tables call it.
NUMBERINGS = {"linear": "row by row", "z_order": "along the Z-order curve"}

#: In which order the spheres lie in memory when the timing of cells of fixed capacity starts.
STARTS = {"random": "in random order", "cells": "in the order of cells"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Axes:
    """The sizes of a scale: spheres, frames until they lie, frames that are timed."""

    n: int
    settling: int
    frames: int


AXES = {
    "paper": Axes(n=65_536, settling=4_000, frames=320),
    "small": Axes(n=8_192, settling=2_000, frames=48),
    "tiny": Axes(n=64, settling=100, frames=2),
}


def case(axes: Axes, method: str, construction: str, reorder: int) -> Measurement:
    """The measurement of a way to run the simulation."""
    return Measurement.of(
        n=axes.n,
        settling=axes.settling,
        frames=axes.frames,
        method=method,
        construction=construction,
        reorder=reorder,
    )


def fixed_case(axes: Axes, numbering: str, start: str) -> Measurement:
    """The measurement of a way to run the simulation with cells of fixed capacity."""
    return Measurement.of(
        n=axes.n,
        settling=axes.settling,
        frames=axes.frames,
        method="fixed_cells",
        numbering=numbering,
        start=start,
    )


def plan(scale: str) -> list[Measurement]:
    """Every way once."""
    axes = AXES[scale]
    return [
        *(case(axes, *way) for way in itertools.product(METHODS, CONSTRUCTIONS, ORDERS)),
        *(fixed_case(axes, *way) for way in itertools.product(NUMBERINGS, STARTS)),
    ]
