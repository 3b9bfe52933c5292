"""The report on simulations: figures 18 to 20 of the paper beside this run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from ..paper import NOTHING, Measurement, Panel, Plot, Results, Section, Table
from .fluids import PARTS_OF_RUN, SCALES_OF_FLUIDS, WAYS, Sizes, falling, fluid, springs
from .published import GROUP_RATES

__all__ = ["RATES", "sections"]

MS = 1e3

#: What was measured of a run by each way.
Case = Callable[[str], Measurement]

#: Figure 18: steps a second with the tree and with the voxel grid, by the number of particles.
RATES: Mapping[int, tuple[float, float]] = {
    50_000: (60.98, 21.75),
    100_000: (25.41, 10.63),
    150_000: (20.91, 6.656),
    200_000: (16.55, 4.762),
    250_000: (13.84, 3.662),
}


def sections(results: Results) -> list[Section]:
    """The spheres, the fluid, then the groups."""
    sizes = SCALES_OF_FLUIDS[results.scale]
    return [_springs(results, sizes), _fluids(results, sizes), _groups(results, sizes)]


def _springs(results: Results, sizes: Sizes) -> Section:
    """Figures 18 and 19, as the paper has them."""
    runs = {f"{n:,}": (RATES.get(n), partial(springs, sizes, n)) for n in sizes.fluid}
    largest = sizes.fluid[-1]
    return Section(
        title="Figures 18 and 19: spheres that springs push apart",
        note=(
            f"{sizes.steps:,} steps of `clfrnn.models.Spheres` in 3D, a block that falls apart in a box: the forces of "
            "Green's program, which the paper's simulation is, in one search and one update a step. Milliseconds of a "
            "step are the mean, each step waited for; steps a second are by the wall clock, without waits. *Rebuilt* "
            "counts steps in which the tree made its order anew (in the paper 33 of 2,000, with 250,000 particles), "
            "and *longest* is the longest step with the tree. The paper's times of single steps are drawn without "
            "numbers."
        ),
        tables=[_table(results, "spheres", runs)],
        plot=_plot(results, "springs", f"{largest:,} spheres", sizes.steps, partial(springs, sizes, largest)),
    )


def _fluids(results: Results, sizes: Sizes) -> Section:
    """Figures 18 and 19."""
    runs = {f"{n:,}": (RATES.get(n), partial(fluid, sizes, n)) for n in sizes.fluid}
    largest = sizes.fluid[-1]
    return Section(
        title="Figures 18 and 19: a fluid",
        note=(
            f"{sizes.steps:,} steps of `clfrnn.models.Fluid` in 3D, a column of water that breaks down in a tank. A "
            "step is two visits, for densities and for forces, and one update, where the paper's has one search. "
            "Columns as for the spheres."
        ),
        tables=[_table(results, "particles", runs)],
        plot=_plot(results, "fluid", f"{largest:,} particles", sizes.steps, partial(fluid, sizes, largest)),
    )


def _groups(results: Results, sizes: Sizes) -> Section:
    """Figure 20, in motion."""
    printed = GROUP_RATES if sizes.falling == 30_000 else {}
    runs = {f"{radius:g}": (printed.get(radius), partial(falling, sizes, radius)) for radius in sizes.radii}
    radius = sizes.radii[-1]
    return Section(
        title="Figure 20 in motion: three groups that fall",
        note=(
            f"{sizes.falling_steps:,} steps of {sizes.falling:,} particles in three groups, as those of figure 20, "
            "which fall to the floor and push each other where they are nearer than a diameter, half the mean "
            "distance in their group at the start. Each searches within the radius of its group, 3 r, 2 r or r, where "
            "r is a share of the diagonal; cells of the grids are made for the largest. Columns as for the spheres."
        ),
        tables=[_table(results, "r / L", runs)],
        plot=_plot(results, "falling", f"r = {radius:g} L", sizes.falling_steps, partial(falling, sizes, radius)),
    )


_PAPER = ("paper: tree, steps/s", "voxel grid, steps/s")
_HEADER = (
    *(f"{way}: ms" for way in WAYS),
    *(f"{way}: steps/s" for way in WAYS),
    "rebuilt",
    "longest, ms",
    "uniform_grid over aabb_tree",
)


def _table(results: Results, first: str, runs: Mapping[str, tuple[Sequence[float] | None, Case]]) -> Table:
    """The paper's rates and those of this run, a row for each case; `first` is the header of what tells them apart."""
    rows = [
        [
            label,
            *(["", ""] if rates is None else [f"{rate:g}" for rate in rates]),
            results.text(case(WAYS[0]), "neighbors", ".1f"),
            *_row(results, case),
        ]
        for label, (rates, case) in runs.items()
        if results.has(case(way) for way in WAYS)
    ]
    return Table(header=(first, *_PAPER, "neighbors", *_HEADER), rows=rows, words=0)


def _row(results: Results, case: Case) -> list[str]:
    """The numbers of a run by all ways."""
    tree = case(WAYS[0])
    ratio = results.ratio("step", case("uniform_grid"), tree)
    return [
        *(results.text(case(way), "step", scale=MS) for way in WAYS),
        *(results.text(case(way), "rate", ",.1f") for way in WAYS),
        results.text(tree, "rebuilt", ".0f"),
        results.text(tree, "longest", scale=MS),
        NOTHING if ratio is None else f"{ratio:.2f}x",
    ]


def _plot(results: Results, name: str, title: str, steps: int, case: Case) -> Plot:
    """The course of a run: the mean of each part of it."""
    parts = min(PARTS_OF_RUN, steps)
    middles = [steps * (k + 0.5) / parts for k in range(parts)]
    series = {}
    for way in WAYS:
        values = [results.number(case(way), f"part_{k:02}") for k in range(parts)]
        series[way] = (middles, [None if value is None else MS * value for value in values])
    panel = Panel(title=title, x="step", y="a step (ms)", series=series)
    return Plot(name=name, caption="The time of a step in the course of a run", panels=[panel])
