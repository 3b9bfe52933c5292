"""What is measured for the paper: ways to search, densities, populations, and whole models."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from ..paper import Fact, Measurement

__all__ = [
    "AXES",
    "CROWDS",
    "DIMS",
    "MODEL_WAYS",
    "WAYS",
    "WIDTHS",
    "Axes",
    "case",
    "model_case",
    "plan",
]

#: The ways that are compared: name in tables -> options of the index.
WAYS: Mapping[str, Mapping[str, Fact]] = {
    "original": {"method": "uniform_grid"},
    "width 0.5": {"method": "uniform_grid", "bin_width": 0.5},
    "strips 1": {"method": "strips", "bin_width": 1.0},
    "strips 0.7": {"method": "strips", "bin_width": 0.7},
    "strips 2/3": {"method": "strips", "bin_width": 2 / 3},
    "strips 0.5": {"method": "strips", "bin_width": 0.5},
    "strips 0.4": {"method": "strips", "bin_width": 0.4},
    "default": {"method": "strips"},
}

#: The bin widths of experiment 3, which the paper measured with strips, in units of the radius.
WIDTHS = {way: float(options["bin_width"]) for way, options in WAYS.items() if way.startswith("strips")}

DIMS = (2, 3)

#: The ways of experiments 1 and 6.
MODEL_WAYS = ("original", "strips 0.5", "default")

#: Neighbors at which experiment 5 scales the population, by dimension (figure 11).
CROWDS = {2: 60, 3: 100}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Axes:
    """The sizes of a scale."""

    #: actors of experiments 2 to 4, and steps of every configuration
    n: int
    steps: int
    #: neighbors by dimension, and the populations of experiment 5
    densities: Mapping[int, Sequence[int]]
    populations: Sequence[int]
    #: of experiments 1 and 6: what each model begins with, and its steps
    models: Mapping[str, Mapping[str, Fact]]
    model_steps: int


#: Of the densities in its figures the paper's text names about 52 neighbors alone, and its authors' scripts for the
#: plots in 2D leave out 200 and more (github.com/Robadob/sp-2018-08). The populations of their program are 20,000 to
#: 3,000,000. Its models make 10,000 steps; a smaller scale takes the times of fewer for as many. Keratinocytes grow
#: from their `start` to `n` cells before they are timed.
AXES = {
    "paper": Axes(
        n=1_000_000,
        steps=200,
        densities={2: (20, 52, 80, 120, 160, 200), 3: (20, 52, 80, 120, 160, 200)},
        populations=(100_000, 250_000, 500_000, 1_000_000, 1_500_000, 2_000_000, 2_500_000, 3_000_000),
        models={
            "boids": {"n": 262_144},
            "flame boids": {"n": 262_144},
            "pedestrians": {"n": 16_384},
            "flame pedestrians": {"n": 16_384},
            "keratinocytes": {"n": 25_000, "start": 2_778},
            "flame keratinocytes": {"n": 25_000, "start": 2_778},
        },
        model_steps=10_000,
    ),
    "small": Axes(
        n=20_000,
        steps=20,
        densities={2: (20, 52, 120), 3: (20, 52, 120)},
        populations=(5_000, 10_000, 20_000, 40_000),
        models={
            "boids": {"n": 16_384},
            "flame boids": {"n": 16_384},
            "pedestrians": {"n": 16_384},
            "flame pedestrians": {"n": 16_384},
            "keratinocytes": {"n": 2_500, "start": 278},
            "flame keratinocytes": {"n": 2_500, "start": 278},
        },
        model_steps=50,
    ),
    "tiny": Axes(
        n=150,
        steps=2,
        densities={2: (52,), 3: (20,)},
        populations=(75, 150),
        models={
            "boids": {"n": 600},
            "flame boids": {"n": 600},
            "pedestrians": {"n": 60},
            "flame pedestrians": {"n": 60},
            "keratinocytes": {"n": 60, "start": 60},
            "flame keratinocytes": {"n": 60, "start": 60},
        },
        model_steps=2,
    ),
}


def case(axes: Axes, dim: int, neighbors: int, way: str, n: int | None = None) -> Measurement:
    """The measurement of a way to search; with `axes.n` actors unless `n` is given."""
    return Measurement.of(dim=dim, n=n or axes.n, neighbors=neighbors, steps=axes.steps, **WAYS[way])


def model_case(axes: Axes, model: str, way: str) -> Measurement:
    """The measurement of a model of experiments 1 and 6 by a way to search."""
    return Measurement.of(model=model, steps=axes.model_steps, **axes.models[model], **WAYS[way])


def plan(scale: str) -> list[Measurement]:
    """Every configuration once, whichever of the experiments show it."""
    axes = AXES[scale]
    wanted = [case(axes, dim, k, way) for dim in DIMS for k in axes.densities[dim] for way in WAYS]
    wanted += [
        case(axes, dim, CROWDS[dim], way, n)
        for dim in DIMS
        for n in axes.populations
        for way in ("original", "strips 0.5")
    ]
    wanted += [model_case(axes, model, way) for model in axes.models for way in MODEL_WAYS]
    return list(dict.fromkeys(wanted))
