"""The report of the paper: its frames per second beside this run's, and where the time of a frame goes."""

from __future__ import annotations

from clfrnn.models.spheres.start import block_radius

from ..paper import Measurement, Panel, Plot, Results, Section, Table, range_text
from .configurations import AXES, CONSTRUCTIONS, METHODS, ORDERS, STARTS, Axes, case, cells_case, cells_ways
from .fixed_cells import CAPACITY, PAPERS_CAPACITY

__all__ = ["sections"]

MS = 1e3

#: Numberings and reads of cells, where they are not the plain ones, short enough for a plot.
_SHORT = {("z_order", "arrays"): "Z-order", ("linear", "packed"): "fours", ("linear", "image"): "images"}


def sections(results: Results) -> list[Section]:
    """Frames per second, then the stages of a frame, then the cells of fixed capacity."""
    axes = AXES[results.scale]
    return [_claims(results, axes), _stages(results, axes), _fixed(results, axes), _heap(results, axes)]


def _claims(results: Results, axes: Axes) -> Section:
    """The two figures of the paper's text, and the same of this run."""
    ways = {
        (method, construction, order): case(axes, method, construction, order)
        for method in METHODS
        for construction in CONSTRUCTIONS
        for order in ORDERS
    }
    there = {way: rate for way, each in ways.items() if (rate := results.number(each, "frames_per_second"))}
    own = ways["uniform_grid", "sort", 1]
    rows = [
        ("paper, GeForce GTX 280", "cell by cell, by sorting, put in order every frame", "65,536", "about 175"),
        ("paper, GeForce GTX 480", "the same", "65,536", "about 460"),
        ("this run", "the same", f"{axes.n:,}", results.text(own, "frames_per_second", ".0f")),
    ]
    if there:
        method, construction, order = best = max(there, key=there.__getitem__)
        how = f"{method}, by {CONSTRUCTIONS[construction]}, put in order {ORDERS[order]}"
        rows.append(("this run, fastest", how, f"{axes.n:,}", f"{there[best]:.0f}"))
    panels = [
        Panel(
            title=f"{method}, put in order",
            y="frames per second",
            series={
                f"by {name}": (
                    (),
                    [results.number(case(axes, method, construction, order), "frames_per_second") for order in ORDERS],
                )
                for construction, name in CONSTRUCTIONS.items()
            },
            groups=_orders(),
        )
        for method in METHODS
    ]
    return Section(
        title="Frames per second",
        note=(
            "Particles are put in order by moving positions and velocities into the order of cells; never put in "
            "order, they stay in random order. The paper does it in every frame where it builds by sorting, and finds "
            "that way the faster one on most of its time's hardware; here either construction is tried with either "
            "order."
        ),
        tables=[Table(header=("", "way", "spheres", "frames per second"), rows=rows, words=2)],
        plot=Plot(
            name="frames",
            caption="Frames per second by construction, and by how often particles are put in order",
            panels=panels,
            same_y=True,
        ),
    )


def _stages(results: Results, axes: Axes) -> Section:
    """Where the time of a frame goes."""
    columns = {"collide": "collide", "reorder": "reorder", "build": "build", "build_kernels": "build, kernels"}
    columns["frame"] = "frame"
    rows = []
    for method in METHODS:
        for construction, by in CONSTRUCTIONS.items():
            for order, called in ORDERS.items():
                each = case(axes, method, construction, order)
                cells = [results.text(each, name, scale=MS) for name in columns]
                rows.append((f"{method}, by {by}", called, *cells, results.text(each, "frames_per_second", ".0f")))
    panels = [
        Panel(
            title=f"{method}, put in order",
            y="device time (ms)",
            series={
                f"{stage}, by {by}": (
                    (),
                    [_ms(results, case(axes, method, construction, order), stage) for order in ORDERS],
                )
                for stage in ("build", "collide")
                for construction, by in CONSTRUCTIONS.items()
            },
            groups=_orders(),
        )
        for method in METHODS
    ]
    return Section(
        title="The stages of a frame",
        note="Milliseconds of device time, and frames per second by the wall clock.",
        tables=[
            Table(
                header=("method and construction", "put in order", *columns.values(), "frames per second"),
                rows=rows,
                words=2,
            )
        ],
        plot=Plot(
            name="stages",
            caption="Building and colliding by construction, and by how often particles are put in order",
            panels=panels,
            same_y=True,
        ),
    )


def _fixed(results: Results, axes: Axes) -> Section:
    """The grids by atomics as the paper has them."""
    columns = {"collide": "collide", "build": "build", "build_kernels": "build, kernels", "frame": "frame"}
    rows = []
    for numbering, capacity, reads, called in cells_ways():
        for start, lies in STARTS.items():
            each = cells_case(axes, numbering, start, capacity=capacity, reads=reads)
            cells = [results.text(each, name, scale=MS) for name in columns]
            lost = results.text(each, "lost", ",.0f") if capacity else ""
            rows.append((called, lies, *cells, lost, results.text(each, "frames_per_second", ".0f")))
    return Section(
        title="Cells that atomic operations fill",
        note=(
            "Experiments of the benchmarks, not methods of the library: atomic operations in global memory fill cells "
            f"of fixed capacity in one pass, {CAPACITY} places or the paper's {PAPERS_CAPACITY}; or a pass counts the "
            "spheres of each cell, a scan says where cells begin, and a second pass writes them, which the paper names "
            "for cells of any number. A sphere reads 27 cells, and positions and velocities in the order of the "
            f"caller's arrays. Of {PAPERS_CAPACITY} places, which suffice where spheres do not overlap, those for "
            "which a cell has no place are left out, as by the paper's program: *lost* counts them at the end. With "
            f"{CAPACITY} an error would be raised. Arrays of four numbers and images, which are the paper's textures, "
            "are written anew in each build. Milliseconds of device time, and frames per second by the wall clock."
        ),
        tables=[
            Table(
                header=("cells", "spheres", *columns.values(), "lost", "frames per second"),
                rows=rows,
                words=2,
            )
        ],
        plot=Plot(
            name="cells",
            caption="Building and colliding with cells that atomic operations fill, in kernels and in device time",
            panels=[
                _fixed_panel(results, axes, *each) for each in (("build, kernels", "build_kernels"), ("collide",) * 2)
            ],
        ),
    )


def _fixed_panel(results: Results, axes: Axes, title: str, stage: str) -> Panel:
    """A stage of a frame with each kind of cells."""
    ways = cells_ways()
    return Panel(
        title=title,
        y="device time (ms)",
        series={
            lies: (
                (),
                [
                    _ms(results, cells_case(axes, numbering, start, capacity=capacity, reads=reads), stage)
                    for numbering, capacity, reads, _ in ways
                ],
            )
            for start, lies in STARTS.items()
        },
        groups=[
            _SHORT.get((numbering, reads), called.split(",")[0].replace(" ", "\n"))
            for numbering, _, reads, called in ways
        ],
    )


def _heap(results: Results, axes: Axes) -> Section:
    """Whether what was timed is the steady state."""
    plan = [
        case(axes, method, construction, order)
        for method in METHODS
        for construction in CONSTRUCTIONS
        for order in ORDERS
    ]
    rows = [
        ("spheres", f"{axes.n:,}"),
        ("radius, in a box of side 2", f"1/{1 / block_radius(axes.n, 3):.4g}"),
        ("frames before timing", f"{axes.settling:,}"),
        ("spheres that touch a sphere, mean", range_text((results.number(each, "touching") for each in plan), ".2f")),
        (
            "root mean square speed after timing, radii per frame",
            range_text((results.number(each, "radii_per_frame") for each in plan), ".1e"),
        ),
    ]
    return Section(
        title="The heap",
        note="The same for every way to run it; afterwards they differ by rounding.",
        tables=[Table(header=("", ""), rows=rows)],
    )


def _orders() -> list[str]:
    """Names of groups, short enough to stand side by side."""
    return [name.replace(" frame", "\nframe") for name in ORDERS.values()]


def _ms(results: Results, measurement: Measurement, name: str) -> float | None:
    value = results.number(measurement, name)
    return None if value is None else MS * value
