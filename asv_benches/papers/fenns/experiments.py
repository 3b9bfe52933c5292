"""The report of the paper: its tables 1 to 3 beside this run's, the parts of a step, memory, and plots of all."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from ..paper import Measurement, Panel, Plot, Results, Section, Table, range_text
from .claims import claims
from .configurations import AXES, CALLED, NO_ROOM, SCENES, WAYS, Axes, case, grid_cells
from .findings import MS, bytes_text
from .published import DEVICES, PRINTED_WAYS, TIMES, Printed, fenns_bytes, grid_bytes

__all__ = ["sections"]

#: What tables call the ways.
_NAMES = [CALLED.get(way, way) for way in WAYS]

#: The radius at which times are drawn over the number of points.
SHOWN_RADIUS = 0.5


def sections(results: Results) -> list[Section]:
    """The claims, the tables of the scenarios, where the time goes, and memory."""
    axes = AXES[results.scale]
    return [
        claims(results, axes),
        _over_radius(results, axes),
        _over_size(results, axes),
        *(_scenario(results, axes, scenario) for scenario in SCENES),
        _parts(results, axes),
        _memory(results, axes),
    ]


# --- time -----------------------------------------------------------------------------------------------------------


def _over_radius(results: Results, axes: Axes) -> Section:
    """The plots of the most points over the radius: the paper's, and this run's."""
    n = axes.sizes[-1]

    def own(scenario: int, way: str) -> tuple[list[float], list[float | None]]:
        radii = list(axes.radii[scenario])
        return radii, [_ms(results, case(axes, scenario, n, radius, way)) for radius in radii]

    return Section(
        title="Time over the radius",
        note=f"Milliseconds of a step of {n:,} points. The paper's times are in the tables and the plot below.",
        plot=Plot(
            name="radius",
            caption=f"This run: a step of {n:,} points over the radius",
            panels=_panels(WAYS, own, x="radius", log="y"),
        ),
    )


def _over_size(results: Results, axes: Axes) -> Section:
    """The plot of one radius over the number of points."""

    def own(scenario: int, way: str) -> tuple[list[float], list[float | None]]:
        cases = [case(axes, scenario, n, SHOWN_RADIUS, way) for n in axes.sizes]
        return [float(n) for n in axes.sizes], [_ms(results, each) for each in cases]

    return Section(
        title="Time over the number of points",
        note=(
            f"Milliseconds of a step at *r* = {SHOWN_RADIUS}, both scales logarithmic. Where a line is level, the "
            "device waits for launches from Python."
        ),
        plot=Plot(
            name="points",
            caption=f"This run: a step at r = {SHOWN_RADIUS} over the number of points",
            panels=_panels(WAYS, own, x="points", log="xy"),
        ),
    )


def _panels(
    ways: tuple[str, ...],
    line: Callable[[int, str], tuple[list[float], list[float | None]]],
    *,
    x: str,
    log: str,
) -> list[Panel]:
    """A panel for each scenario, with a line for each way."""
    return [
        Panel(
            title=f"Scenario {scenario}",
            x=x,
            y="update + count (ms)",
            series={CALLED.get(way, way) if ways is WAYS else way: line(scenario, way) for way in ways},
            log=log,
        )
        for scenario in SCENES
    ]


def _scenario(results: Results, axes: Axes, scenario: int) -> Section:
    """The counterpart of the paper's table of a scenario."""
    cells = {
        1: "cells of the grids of side 2 *r*",
        2: "the cells of all grids those of FENNS's coarse one",
        3: "cells of the grids of side 2 *r*",
    }[scenario]
    rows = [
        [
            f"{n:,}",
            f"{radius:g}",
            results.text(case(axes, scenario, n, radius, "strips"), "neighbors", ".2f"),
            *(_printed(scenario, n, radius, way) for way in PRINTED_WAYS),
            *(results.spread(case(axes, scenario, n, radius, way), "step", scale=MS) for way in WAYS),
        ]
        for n, radius in itertools.product(axes.sizes, axes.radii[scenario])
    ]
    header = ["points", "r", "neighbors", *(f"paper: {way}" for way in PRINTED_WAYS), *_NAMES]
    return Section(
        title=f"Scenario {scenario}: a cube of side {SCENES[scenario]:g}",
        note=(
            f"Milliseconds of update and count, the counterpart of table {scenario}; {cells}. The paper's are of a "
            f"{DEVICES[0]} and of a {DEVICES[1]}. *Neighbors* are those of a point on average. Times are medians"
            f"{_spread(results, axes, scenario)}."
        ),
        tables=[Table(header=header, rows=rows, words=0)],
        plot=_paper_plot() if scenario == 3 else None,
    )


def _spread(results: Results, axes: Axes, scenario: int) -> str:
    """What the medians are of, and that quartiles stand behind them, where there are any."""
    cases = [
        case(axes, scenario, n, radius, way)
        for n, radius in itertools.product(axes.sizes, axes.radii[scenario])
        for way in WAYS
    ]
    of = f" of {range_text((results.number(each, 'timed') for each in cases), '.0f')} steps"
    quartiles = any(results.number(each, "step_low") is not None for each in cases)
    return of + (", with the quartiles in brackets" if quartiles else "")


def _paper_plot() -> Plot:
    """What the paper has of the most points over the radius, on the newer of its devices."""
    n = max(printed.n for printed in TIMES)

    def line(scenario: int, way: str) -> tuple[list[float], list[float | None]]:
        found = {
            at.radius: times[0] for at, times in TIMES.items() if (at.scenario, at.n, at.way) == (scenario, n, way)
        }
        return list(found), list(found.values())

    return Plot(
        name="paper",
        caption=f"The paper, {DEVICES[0]}: {n:,} points over the radius",
        panels=_panels(PRINTED_WAYS, line, x="radius", log="y"),
    )


def _printed(scenario: int, n: int, radius: float, way: str) -> str:
    """The paper's times on its devices."""
    if radius == NO_ROOM.get(scenario) and way != "FENNS":
        return "no room"
    found = TIMES.get(Printed(scenario, n, radius, way))
    return " / ".join(f"{time:.2f}" for time in found) if found else "not run"


def _parts(results: Results, axes: Axes) -> Section:
    """Update and count apart, with the most points."""
    rows = []
    for scenario, radius in _pairs(axes):
        cells = []
        for way in WAYS:
            each = case(axes, scenario, axes.sizes[-1], radius, way)
            update, count, kernels = (results.text(each, name, scale=MS) for name in ("update", "count", "kernels"))
            cells.append(f"{update} + {count}, {kernels}" if results.number(each, "step") is not None else update)
        rows.append([f"{scenario}", f"{radius:g}", *cells])
    return Section(
        title="Where the time goes",
        note=(
            f"Milliseconds with {axes.sizes[-1]:,} points: update + count, and behind the comma the sum of all kernels "
            "of a step. What a step takes beyond that is gaps between launches."
        ),
        tables=[Table(header=["scenario", "r", *_NAMES], rows=rows, words=0)],
    )


# --- memory ---------------------------------------------------------------------------------------------------------


def _memory(results: Results, axes: Axes) -> Section:
    """Bytes beside the sorted copy of the points, with the most points."""
    n = axes.sizes[-1]
    rows = []
    for scenario, radius in _pairs(axes):
        cells = grid_cells(axes, scenario, radius)
        row = [f"{scenario}", f"{radius:g}", f"{round(cells ** (1 / 3))}³", bytes_text(grid_bytes(n, cells))]
        for way in WAYS:
            each = case(axes, scenario, n, radius, way)
            kept, taken = (results.number(each, name) for name in ("kept", "build"))
            row.append(results.text(each, "kept") if kept is None else f"{bytes_text(kept)}, {bytes_text(taken)}")
        rows.append(row)
    copy = results.number(case(axes, 1, n, axes.radii[1][0], "strips"), "copy")
    return Section(
        title="Additional memory",
        note=(
            f"With {n:,} points. Every way keeps a sorted copy of the points, {bytes_text(copy)}. What stands here "
            "comes on top: what the index keeps, and behind the comma the most that building it took from the device, "
            "buffers of the build alone included, in the sizes in which the pool takes memory. By the paper, its grids "
            "need 8 *n* + 4 *m*³ bytes (Hoetzlein's 8 *n* + 8 *m*³ where the scan has an output of its own), and FENNS "
            f"8 *l*³, here {bytes_text(fenns_bytes(axes.coarse**3))}. The paper's grids had no room at *r* = "
            f"{NO_ROOM[1]} in scenario 1 and at {NO_ROOM[3]} in scenario 3. Ours hold at most four cells a point, or "
            "wrap around a torus of two to four, and so fit."
        ),
        tables=[Table(header=["scenario", "r", "paper's grid", "8 n + 4 m³", *_NAMES], rows=rows, words=0)],
    )


def _pairs(axes: Axes) -> Iterator[tuple[int, float]]:
    """Every scenario with its radii."""
    return ((scenario, radius) for scenario in SCENES for radius in axes.radii[scenario])


def _ms(results: Results, measurement: Measurement) -> float | None:
    seconds = results.number(measurement, "step")
    return None if seconds is None else MS * seconds
