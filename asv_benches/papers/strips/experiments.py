"""The report of the paper's experiments: tables, and the counterparts of figures 7 to 11."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ..paper import NOTHING, Measurement, Panel, Plot, Results, Section, Table, range_text
from .claims import MS, claims, saved, share
from .configurations import AXES, CROWDS, DIMS, WAYS, WIDTHS, Axes, case
from .whole_models import shares, whole_models

__all__ = ["sections"]


#: Points tested for each neighbor in 2D on average, as the paper states it in table 1 and section 6.3.
SURPLUS = {"strips 1": "2.86", "strips 0.7": "1.54", "strips 2/3": "2.26", "strips 0.5": "1.99", "strips 0.4": "1.54"}


def sections(results: Results) -> list[Section]:
    """The claims, then experiment by experiment."""
    axes = AXES[results.scale]
    return [
        claims(results, axes),
        shares(results, axes),
        _strips(results, axes),
        _widths(results, axes),
        _surplus(results, axes),
        _combined(results, axes),
        _construction(results, axes),
        _population(results, axes),
        whole_models(results, axes),
    ]


# --- tables and figures ---------------------------------------------------------------------------------------------


def _strips(results: Results, axes: Axes) -> Section:
    """Experiment 2: the original and strips of width 1."""

    def row(dim: int, k: int) -> list[str]:
        original, strips = (case(axes, dim, k, way) for way in ("original", "strips 1"))
        return [
            _with_ends(results, original, "query"),
            _with_ends(results, strips, "query"),
            range_text([saved(results, axes, dim, k)], ".3f", ""),
            range_text([results.ratio("query", original, strips)], ".2f", "x"),
            _met(results, original),
        ]

    return Section(
        title="Experiment 2: strips",
        note=(
            f"Milliseconds of a query, {axes.n:,} actors, {axes.steps} steps: the mean, and in brackets the first "
            "and the last ten steps. The paper's axis is not in its text, which names about 52 neighbors; its authors' "
            "[scripts](https://github.com/Robadob/sp-2018-08) for the plots in 2D leave out 200 neighbors and more. "
            "The densities here are chosen accordingly. *Neighbors met* are the mean over all actors, those at the "
            "border included, at the start and after the last step."
        ),
        tables=_by_density(axes, ("original", "strips 1", "saved", "speed-up", "neighbors met"), row),
        plot=_lines_by_density(
            results,
            axes,
            "figure-7",
            "Counterpart of figure 7: query time of the original and of strips over density",
            ("original", "strips 1"),
        ),
    )


def _widths(results: Results, axes: Axes) -> Section:
    """Experiment 3: bin widths."""
    ways = (*WIDTHS, "default")

    def row(dim: int, k: int) -> list[str]:
        cases = {way: case(axes, dim, k, way) for way in ways}
        times = {way: results.number(cases[way], "query") for way in WIDTHS}
        there = {way: time for way, time in times.items() if time is not None}
        best = min(there, key=there.__getitem__).removeprefix("strips ") if there else NOTHING
        return [*(results.text(each, "query", scale=MS) for each in cases.values()), best]

    return Section(
        title="Experiment 3: proportional bin width",
        note=(
            f"Milliseconds of a query, {axes.n:,} actors, {axes.steps} steps. In the paper 0.5 is the best width in 2D "
            "and in 3D, by about 15 % and by up to 27 %; 0.7, 2/3 and 0.4 are slower than 1 in 2D."
        ),
        tables=_by_density(axes, (*ways, "best width"), row),
        plot=_lines_by_density(
            results, axes, "figure-8", "Counterpart of figure 8: query time of strips over density, by bin width", ways
        ),
    )


def _surplus(results: Results, axes: Axes) -> Section:
    """What a query tests for each neighbor, beside table 1 of the paper."""
    k = {dim: axes.densities[dim][-1] for dim in DIMS}
    rows = []
    for way, width in WIDTHS.items():
        cells, expected = [], {2: (2 + width) ** 2 / math.pi, 3: (2 + width) ** 3 / (4 / 3 * math.pi)}
        for dim in DIMS:
            cells += [f"{expected[dim]:.2f}", results.text(case(axes, dim, k[dim], way), "tested_start", ".2f")]
        rows.append((way, SURPLUS[way], *cells))
    return Section(
        title="Surplus: points tested for each neighbor",
        note=(
            f"At the uniform start, at {k[2]} neighbors in 2D and {k[3]} in 3D, by a sample of a thousand queries. A "
            "window of side 2*r* at a random place meets 2/*w* + 1 cells on an axis on average, so that (2 + *w*)²/π "
            "points are tested for each neighbor in 2D and (2 + *w*)³/(4π/3) in 3D, away from the border. The "
            "paper's table 1 and section 6.3 give less for 0.7 and 0.4: its equation 4 swaps the weights of the larger "
            "and the smaller window, which matters where 2/*w* is no whole number, and for 0.4 the text gives 0.7's "
            "average."
        ),
        tables=[
            Table(
                header=("", "paper, 2D", "(2 + w)²/π", "this run, 2D", "(2 + w)³/(4π/3)", "this run, 3D"),
                rows=rows,
            )
        ],
    )


def _combined(results: Results, axes: Axes) -> Section:
    """Figure 9: the original beside each optimisation alone, and both."""
    ways = ("original", "strips 1", "width 0.5", "strips 0.5", "default")

    def row(dim: int, k: int) -> list[str]:
        cases = [case(axes, dim, k, way) for way in ways]
        gains = [range_text([results.ratio("query", cases[0], each)], ".2f", "x") for each in cases[1:]]
        return [_with_ends(results, each, "query") for each in cases if each is not cases[1]] + gains

    shown = [way for way in ways if way != "strips 1"]  # experiment 2 shows its times
    header = (*shown, *(f"{way} over original" for way in ways[1:]))
    return Section(
        title="Experiments 2 and 3 together",
        note="Milliseconds of a query: the mean, and in brackets the first and the last ten steps.",
        tables=_by_density(axes, header, row),
        plot=_lines_by_density(
            results,
            axes,
            "figure-9",
            "Counterpart of figure 9: query time of the original, of strips, of narrow bins, and of both",
            ways,
        ),
    )


def _construction(results: Results, axes: Axes) -> Section:
    """Experiment 4: construction beside query."""
    ways = ("original", "strips 0.5")

    def row(dim: int, k: int) -> list[str]:
        cells = []
        for way in ways:
            each = case(axes, dim, k, way)
            cells += [results.text(each, name, scale=MS) for name in ("construction", "query")]
            cells.append(range_text([share(results, each)], ".1f", " %"))
        return cells

    def series(dim: int) -> dict[str, tuple[Sequence[float], Sequence[float | None]]]:
        return {
            f"{way}, {name}": _over_density(results, axes, dim, way, name)
            for way in ways
            for name in ("query", "construction")
        }

    header = [f"{way}: {name}" for way in ways for name in ("construction", "query", "share")]
    panels = [
        Panel(title=f"{dim}D", x="neighbors", y="time of a step (ms)", series=series(dim), log="y") for dim in DIMS
    ]
    return Section(
        title="Experiment 4: construction",
        note="Milliseconds, and the construction's share of both. In the paper it is 3 % or less.",
        tables=_by_density(axes, header, row),
        plot=Plot(
            name="figure-10",
            caption="Counterpart of figure 10: query and construction over density, on a logarithmic scale",
            panels=panels,
        ),
    )


def _population(results: Results, axes: Axes) -> Section:
    """Experiment 5: the population grows at a constant density."""
    ways = ("original", "strips 0.5")

    def query(dim: int, way: str, n: int, *, millions: float = 1.0) -> str:
        return results.text(case(axes, dim, CROWDS[dim], way, n), "query", scale=MS / millions)

    def row(dim: int, n: int) -> list[str]:
        cases = [case(axes, dim, CROWDS[dim], way, n) for way in ways]
        cells = [text for way in ways for text in (query(dim, way, n), query(dim, way, n, millions=n / 1e6))]
        return [f"{n:,}", *cells, range_text([results.ratio("query", *cases)], ".2f", "x")]

    def over_population(dim: int, way: str) -> tuple[list[float], list[float | None]]:
        times = [results.number(case(axes, dim, CROWDS[dim], way, n), "query") for n in axes.populations]
        return [n / 1e6 for n in axes.populations], [_ms(time) for time in times]

    def table(dim: int) -> Table:
        header = [f"{dim}D: actors"] + [text for way in ways for text in (way, f"{way}, per million")] + ["speed-up"]
        return Table(header=header, rows=[row(dim, n) for n in axes.populations])

    panels = [
        Panel(
            title=f"{dim}D, {CROWDS[dim]} neighbors",
            x="actors (millions)",
            y="query (ms)",
            series={way: over_population(dim, way) for way in ways},
        )
        for dim in DIMS
    ]
    return Section(
        title="Experiment 5: population",
        note=(
            f"Milliseconds of a query, and for each million actors, at {CROWDS[2]} neighbors in 2D and {CROWDS[3]} in "
            "3D. In the paper both ways are linear in the population up to 3 million actors; its authors' "
            "[program](https://github.com/Robadob/sp-2018-08) begins with 20,000. Here they are linear where the time "
            "for each million is the same."
        ),
        tables=[table(dim) for dim in DIMS],
        plot=Plot(name="figure-11", caption="Counterpart of figure 11: query time over the population", panels=panels),
    )


# --- what the sections share ----------------------------------------------------------------------------------------


def _by_density(axes: Axes, header: Sequence[str], row: Callable[[int, int], Sequence[str]]) -> list[Table]:
    """A table for 2D and one for 3D, a row for each density."""
    return [
        Table(
            header=(f"{dim}D: neighbors", *header),
            rows=[(str(k), *row(dim, k)) for k in axes.densities[dim]],
        )
        for dim in DIMS
    ]


def _lines_by_density(results: Results, axes: Axes, name: str, caption: str, ways: Sequence[str]) -> Plot:
    """Query time over density, a panel for 2D and one for 3D."""
    panels = [
        Panel(
            title=f"{dim}D, {axes.n:,} actors",
            x="neighbors",
            y="query (ms)",
            series={_label(way): _over_density(results, axes, dim, way, "query") for way in ways},
        )
        for dim in DIMS
    ]
    return Plot(name=name, caption=caption, panels=panels)


def _over_density(
    results: Results, axes: Axes, dim: int, way: str, name: str
) -> tuple[list[float], list[float | None]]:
    densities = axes.densities[dim]
    return [float(k) for k in densities], [_ms(results.number(case(axes, dim, k, way), name)) for k in densities]


def _label(way: str) -> str:
    """A way in a legend."""
    assert way in WAYS
    return "original, cell by cell" if way == "original" else way


def _with_ends(results: Results, measurement: Measurement, name: str) -> str:
    """Mean milliseconds, and in brackets those of the first and of the last steps."""
    mean = results.text(measurement, name, scale=MS)
    if results.number(measurement, name) is None:
        return mean
    start, steady = (results.text(measurement, f"{name}_{end}", scale=MS) for end in ("start", "steady"))
    return f"{mean} ({start}, {steady})"


def _met(results: Results, measurement: Measurement) -> str:
    """The neighbors that actors have at the start and at the end."""
    return ", ".join(results.text(measurement, f"neighbors_{end}", ".1f") for end in ("start", "steady"))


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else MS * seconds
