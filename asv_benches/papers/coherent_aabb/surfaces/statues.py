"""The models of the paper's section 5.2 with its times, the shapes that stand in for them, and what is measured.

The paper prints seconds of 30 or 100 iterations, of a field, and of one search in an iteration.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...paper import Measurement

__all__ = [
    "ANN",
    "FIELDS",
    "KITTEN",
    "SCALES_OF_STATUES",
    "SCANNED_FIELDS",
    "SCANNED_KITTEN",
    "SMOOTHED",
    "SMOOTHED_SCANS",
    "WAYS",
    "Field",
    "Kitten",
    "Sizes",
    "Smoothed",
    "bent",
    "field",
    "plan",
    "smoothing",
    "wlop",
]

WAYS = ("aabb_tree", "uniform_grid", "strips", "fenns")

#: The paper's support of a search among n points is so many times (L / n)^(1/2).
Support = int


class Smoothed(NamedTuple):
    """A model of figure 14: seconds of one search and of all iterations, by the tree and by the voxel grid."""

    model: str
    shape: str
    points: int
    support: Support
    tree: tuple[float, float]
    grid: tuple[float, float]


class Kitten(NamedTuple):
    """The model of figure 15: seconds of a search X in P, of one X in X, and of all, by the tree and the voxel grid."""

    shape: str
    points: int
    particles: int
    support: Support
    tree: tuple[float, float, float]
    grid: tuple[float, float, float]


class Field(NamedTuple):
    """A row of table 3: a distance in shares of L and widths of the grid, and seconds; None where the grid failed."""

    model: str
    shape: str
    points: int
    share: float
    widths: int
    tree: float
    grid: float | None


SMOOTHED = (
    Smoothed("Inukshuk", "tangle", 206_000, 70, (0.162, 6.33), (0.663, 22.3)),
    Smoothed("Japanese-Lady", "knot", 176_000, 20, (0.0794, 3.67), (0.245, 12.1)),
    Smoothed("Nasa", "gyroid", 889_000, 20, (0.281, 9.98), (0.636, 22.1)),
)
KITTEN = Kitten("tangle", 137_000, 20_000, 40, (0.0840, 0.0268, 13.7), (0.183, 0.0820, 29.7))
FIELDS = (
    Field("Vase-Lion", "knot", 731_000, 0.0, 4, 0.880, 1.84),
    Field("Buddha", "tangle", 678_000, 0.0, 4, 1.05, 1.64),
    Field("Vase-Lion, offset", "knot", 731_000, 0.2, 2, 1.99, None),
)

#: The same with scans of other things in the place of the models, of the number of points of the model that a row
#: names; the returns of `terrain` are fewer than any of them.
RETURNS = 110_000
SMOOTHED_SCANS = (
    SMOOTHED[0]._replace(shape="cortex"),
    SMOOTHED[1]._replace(shape="terrain", points=RETURNS),
    SMOOTHED[2]._replace(shape="cortex"),
)
SCANNED_KITTEN = KITTEN._replace(shape="terrain", points=RETURNS)
SCANNED_FIELDS = (
    FIELDS[0]._replace(shape="cortex"),
    FIELDS[1]._replace(shape="mean-cortex"),
    FIELDS[2]._replace(shape="cortex"),
)

#: Seconds of table 3 by ANN, by the model.
ANN = {"Vase-Lion": 210.0, "Buddha": 231.0, "Vase-Lion, offset": 236.0}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sizes:
    """How large a scale's clouds and grids are."""

    #: how many times fewer points and particles than the paper has
    less: int
    #: of smoothing, and of WLOP
    iterations: int
    moves: int
    #: along each axis, of a field as wide as some widths, and of one that reaches far
    cells: int
    far_cells: int
    #: how a field that reaches far is searched
    far_ways: Sequence[str] = WAYS


SCALES_OF_STATUES = {
    # With 257³ nodes fenns had not ended after several minutes on an H200; the grids took seconds, the tree 60 ms.
    "paper": Sizes(less=1, iterations=30, moves=100, cells=256, far_cells=256, far_ways=WAYS[:-1]),
    "small": Sizes(less=40, iterations=30, moves=50, cells=64, far_cells=32),
    "tiny": Sizes(less=1000, iterations=2, moves=2, cells=12, far_cells=8),
}


def smoothing(sizes: Sizes, one: Smoothed, way: str, degree: int = 1) -> Measurement:
    """Figure 14: iterations of smoothing, by planes or by polynomials of degree 2."""
    bends = {"degree": degree} if degree > 1 else {}
    return Measurement.of(
        experiment="smoothing",
        shape=one.shape,
        n=one.points // sizes.less,
        support=one.support,
        iterations=sizes.iterations,
        way=way,
        **bends,
    )


def bent(sizes: Sizes) -> Sequence[Smoothed]:
    """The models that are also smoothed by polynomials: all, and one in tests."""
    return SMOOTHED if sizes.iterations == SCALES_OF_STATUES["paper"].iterations else SMOOTHED[:1]


def wlop(sizes: Sizes, way: str, one: Kitten = KITTEN) -> Measurement:
    """Figure 15: iterations of particles that spread over a cloud."""
    return Measurement.of(
        experiment="wlop",
        shape=one.shape,
        n=one.points // sizes.less,
        particles=one.particles // sizes.less,
        support=one.support,
        iterations=sizes.moves,
        way=way,
    )


def field(sizes: Sizes, one: Field, way: str) -> Measurement:
    """Table 3: the distances of all nodes of a grid."""
    return Measurement.of(
        experiment="field",
        shape=one.shape,
        n=one.points // sizes.less,
        share=one.share,
        widths=one.widths,
        cells=sizes.far_cells if one.share else sizes.cells,
        way=way,
    )


def plan(scale: str) -> Sequence[Measurement]:
    """Every configuration once; those of one cloud follow each other. Tests do without scans, which no test fetches."""
    sizes = SCALES_OF_STATUES[scale]
    made = [
        *(smoothing(sizes, one, way) for one in SMOOTHED for way in WAYS),
        *(smoothing(sizes, one, way, 2) for one in bent(sizes) for way in WAYS),
        *(wlop(sizes, way) for way in WAYS),
        *_fields(sizes, FIELDS),
    ]
    return made if scale == "tiny" else made + scanned(sizes)


def scanned(sizes: Sizes) -> list[Measurement]:
    """The same of scans, but for polynomials of degree 2."""
    return [
        *(smoothing(sizes, one, way) for one in SMOOTHED_SCANS for way in WAYS),
        *(wlop(sizes, way, SCANNED_KITTEN) for way in WAYS),
        *_fields(sizes, SCANNED_FIELDS),
    ]


def _fields(sizes: Sizes, fields: Sequence[Field]) -> Iterator[Measurement]:
    return (field(sizes, one, way) for one in fields for way in (sizes.far_ways if one.share else WAYS))
