"""What is measured for the paper: methods, constructions, and orders of the particles in memory."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping

from ..paper import Measurement

__all__ = ["AXES", "CONSTRUCTIONS", "METHODS", "ORDERS", "Axes", "case", "plan"]

#: Methods that are compared: the paper's grid, and what clfrnn takes by itself.
METHODS = ("uniform_grid", "strips")

#: How the grid is built: by atomics (Hoetzlein 2014 rather than the paper's cells of fixed room), or by sorting.
CONSTRUCTIONS = {"counting": "atomics", "sort": "sorting"}

#: After how many frames particles are put into the order of cells, 0 for never, and what tables call it.
ORDERS: Mapping[int, str] = {0: "never", 16: "every 16th frame", 1: "every frame"}


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


def plan(scale: str) -> list[Measurement]:
    """Every way once."""
    return [case(AXES[scale], *way) for way in itertools.product(METHODS, CONSTRUCTIONS, ORDERS)]
