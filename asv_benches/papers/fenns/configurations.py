"""What is measured for the paper: scenarios, ways to search, sizes and radii."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence

from ..paper import Fact, Measurement

__all__ = [
    "AXES",
    "CALLED",
    "FENNS_WAYS",
    "GRIDS",
    "NO_ROOM",
    "SCENES",
    "WAYS",
    "Axes",
    "case",
    "grid_cells",
    "grid_side",
    "plan",
]

#: The side of the cube that points fill, by scenario. In scenario 2 the grids have the cells of FENNS's coarse grid.
SCENES: Mapping[int, float] = {1: 180.0, 2: 180.0, 3: 360.0}

#: Constructions of the grid by the names of those in the paper that they stand for, and what tables call them.
GRIDS: Mapping[str, str] = {"Hoetzlein": "counting", "Green": "sort"}
CALLED: Mapping[str, str] = {"Hoetzlein": "grid by counting", "Green": "grid by sorting"}

#: FENNS on the paper's coarse grid, and on the one that clfrnn chooses.
FENNS_WAYS = ("FENNS", "FENNS, default")

WAYS = (*GRIDS, *FENNS_WAYS, "strips")

#: The radius of a scenario at which the paper's grids did not fit into memory.
NO_ROOM: Mapping[int, float] = {1: 0.1, 3: 0.2}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Axes:
    """The sizes of a scale."""

    #: steps that are timed, at the most
    steps: int
    #: points
    sizes: Sequence[int]
    #: by scenario
    radii: Mapping[int, Sequence[float]]
    #: cells along an axis of FENNS's coarse grid, and of all grids in scenario 2
    coarse: int


_RADII = (0.2, 0.5, 0.8, 1.0)

AXES = {
    "paper": Axes(
        steps=100,
        sizes=(1_024, 8_192, 65_536, 524_288, 4_194_304),
        radii={1: (0.1, *_RADII), 2: _RADII, 3: (0.2, 0.3, 0.5, 0.8, 1.0)},
        coarse=18,
    ),
    "small": Axes(
        steps=25,
        sizes=(1_024, 8_192, 65_536),
        radii={1: (0.1, 0.2, 0.5, 1.0), 2: (0.2, 0.5, 1.0), 3: (0.2, 0.3, 0.5, 1.0)},
        coarse=18,
    ),
    "tiny": Axes(steps=2, sizes=(1_024,), radii={1: (0.1, 0.5, 1.0), 2: (0.5, 1.0), 3: (0.2, 0.5, 1.0)}, coarse=3),
}


def grid_side(axes: Axes, scenario: int, radius: float) -> float:
    """The side of a grid's cells: twice the radius, a grid density of 1 in the paper's words; in scenario 2 coarse."""
    return SCENES[scenario] / axes.coarse if scenario == 2 else 2 * radius


def grid_cells(axes: Axes, scenario: int, radius: float) -> int:
    """The cells of the paper's grid, m³: those of its table 4, which holds the whole domain."""
    return int(SCENES[scenario] / grid_side(axes, scenario, radius) * (1 + 1e-9)) ** 3


def case(axes: Axes, scenario: int, n: int, radius: float, way: str) -> Measurement:
    """The measurement of a way to search. FENNS and strips have the same one in scenarios 1 and 2."""
    options: dict[str, Fact] = {"method": "strips"}
    if way in GRIDS:
        options = {
            "method": "uniform_grid",
            "construction": GRIDS[way],
            "side": grid_side(axes, scenario, radius),
        }
    elif way in FENNS_WAYS:
        options = {"method": "fenns", **({"coarse_shape": axes.coarse} if way == "FENNS" else {})}
    return Measurement.of(n=n, scene=SCENES[scenario], radius=radius, steps=axes.steps, **options)


def plan(scale: str) -> list[Measurement]:
    """Every configuration once; those of one cloud follow each other, and in it those of one radius."""
    axes = AXES[scale]
    order = sorted(
        (SCENES[scenario], n, radius, scenario)
        for scenario, n in itertools.product(SCENES, axes.sizes)
        for radius in axes.radii[scenario]
    )
    return list(dict.fromkeys(case(axes, scenario, n, r, way) for _, n, r, scenario in order for way in WAYS))
