"""What is measured for the paper: methods, constructions, orders of the particles in memory, and its own cells."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping

from ..paper import Fact, Measurement
from .fixed_cells import CAPACITY, PAPERS_CAPACITY

__all__ = [
    "AXES",
    "CONSTRUCTIONS",
    "METHODS",
    "ORDERS",
    "STARTS",
    "Axes",
    "case",
    "cells_case",
    "cells_ways",
    "plan",
]

#: Methods that are compared: the paper's grid, and what clfrnn takes by itself.
METHODS = ("uniform_grid", "strips")

#: How the library builds the grid, and what tables call it: by counting the points of cells, on a GPU in local memory
#: by groups that select their points or by a bucket sort, elsewhere in global memory; or by the paper's radix sort.
CONSTRUCTIONS = {"counting": "counting", "sort": "sorting"}

#: After how many frames particles are put into the order of cells, 0 for never, and what tables call it.
ORDERS: Mapping[int, str] = {0: "never", 16: "every 16th frame", 1: "every frame"}

#: In which order the spheres lie in memory when the timing of the cells that atomics fill starts.
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


def cells_case(
    axes: Axes, numbering: str, start: str, *, capacity: int = CAPACITY, reads: str = "arrays"
) -> Measurement:
    """The measurement of a way to run the simulation with cells that atomics fill; of any capacity where it is 0."""
    others: dict[str, Fact] = {} if reads == "arrays" else {"reads": reads}
    if capacity not in (0, CAPACITY):
        others["capacity"] = capacity
    return Measurement.of(
        n=axes.n,
        settling=axes.settling,
        frames=axes.frames,
        method="fixed_cells" if capacity else "two_pass",
        numbering=numbering,
        start=start,
        **others,
    )


def cells_ways() -> list[tuple[str, str, int, str]]:
    """Every way to number, fill and read the cells once: numbering, capacity, reads, and what tables call it."""
    called = {0: "two passes", **{k: f"{k} places" for k in (CAPACITY, PAPERS_CAPACITY)}}
    return [
        *(("linear", capacity, "arrays", f"{text}, row by row") for capacity, text in called.items()),
        ("z_order", CAPACITY, "arrays", f"{called[CAPACITY]}, along the Z-order curve"),
        ("linear", CAPACITY, "packed", f"{called[CAPACITY]}, read from arrays of four numbers"),
        ("linear", CAPACITY, "image", f"{called[CAPACITY]}, read through images"),
    ]


def plan(scale: str) -> list[Measurement]:
    """Every way once."""
    axes = AXES[scale]
    return [
        *(case(axes, *way) for way in itertools.product(METHODS, CONSTRUCTIONS, ORDERS)),
        *(
            cells_case(axes, numbering, start, capacity=capacity, reads=reads)
            for numbering, capacity, reads, _ in cells_ways()
            for start in STARTS
        ),
    ]
