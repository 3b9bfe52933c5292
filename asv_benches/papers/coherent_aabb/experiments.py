"""The report of the paper: its figures and tables beside this run's."""

from __future__ import annotations

from collections.abc import Sequence

from ..paper import NOTHING, Measurement, Panel, Plot, Results, Section, Table
from .claims import claims
from .configurations import (
    AXES,
    DIMENSION_WAYS,
    GROUP_WAYS,
    MOVING_WAYS,
    RADIUS_WAYS,
    SCHEMES,
    UPDATES,
    Axes,
    ball,
    dimension,
    group,
    moving,
    scheme,
    update,
)
from .published import GROUP_RATES, RADII, REFITS
from .surfaces.kd_trees import build, compared

__all__ = ["sections"]

MS, MB = 1e3, 1e-6


def sections(results: Results) -> list[Section]:
    """The claims, then the experiments in the paper's order."""
    axes = AXES[results.scale]
    return [
        claims(results, axes),
        _schemes(results, axes),
        _moving(results, axes),
        _radii(results, axes),
        _dimensions(results, axes),
        _updates(results, axes),
        _groups(results, axes),
    ]


def _schemes(results: Results, axes: Axes) -> Section:
    """Sections 3.2 and 4.2."""
    rows = []
    for n in axes.schemes:
        for radius in axes.radii:
            primary, coherent = (scheme(axes, n, radius, way) for way in SCHEMES)
            ratio = results.ratio("count", primary, coherent)
            times = [results.text(each, "count", scale=MS) for each in (primary, coherent)]
            gain = NOTHING if ratio is None else f"{ratio:.2f}x"
            rows.append([f"{n:,}", f"{radius:g}", results.text(coherent, "neighbors", ".1f"), *times, gain])
    return Section(
        title="The two schemes",
        note=(
            "Milliseconds of a count on the same tree, by each query for itself (the paper's algorithm 1) and by "
            "queries in packs (its algorithm 2). On a CPU there are no packs, and both are the same."
        ),
        tables=[Table(header=("points", "r / L", "neighbors", *SCHEMES, "gain"), rows=rows, words=0)],
    )


def _moving(results: Results, axes: Axes) -> Section:
    """Figure 10."""
    rows = []
    for n in axes.moving:
        for radius in axes.radii:
            for reach in axes.ranges:
                cases = {way: moving(axes, n, reach, radius, way) for way in MOVING_WAYS}
                tree = cases["aabb_tree"]
                rows.append(
                    [
                        f"{n:,}",
                        f"{radius:g}",
                        f"{reach:g}",
                        results.text(tree, "neighbors", ".1f"),
                        results.text(tree, "rebuilt", ".0f"),
                        *(results.text(each, "step", scale=MS) for each in cases.values()),
                        *(results.text(each, "lists", scale=MS) for each in cases.values()),
                    ]
                )
    radius = axes.radii[len(axes.radii) // 2]
    panels = [
        Panel(
            title=f"{reach:g} L a step",
            x="points (millions)",
            y="update + count (ms)",
            series={
                way: (
                    [n / 1e6 for n in axes.moving],
                    [_ms(results, moving(axes, n, reach, radius, way), "step") for n in axes.moving],
                )
                for way in MOVING_WAYS
            },
            log="y",
        )
        for reach in axes.ranges
    ]
    return Section(
        title="Figure 10: points that move",
        note=(
            f"Milliseconds of a step, the mean of {axes.steps} in which each coordinate moves by up to the range, a "
            "share of the diagonal *L*; *rebuilt* says in how many of these the tree made its order anew. Lists are "
            "those of the last positions, without the update. The paper prints this figure without numbers."
        ),
        tables=[
            Table(
                header=(
                    "points",
                    "r / L",
                    "range / L",
                    "neighbors",
                    "rebuilt",
                    *MOVING_WAYS,
                    *(f"lists: {way}" for way in MOVING_WAYS),
                ),
                rows=rows,
                words=0,
            )
        ],
        plot=Plot(
            name="moving",
            caption=f"Update and count at r = {radius:g} L of points that move farther and farther",
            panels=panels,
            same_y=True,
        ),
    )


def _radii(results: Results, axes: Axes) -> Section:
    """Table 1."""
    rows = []
    for radius in axes.sphere_radii:
        printed = RADII.get(radius)
        paper = [""] * 4
        if printed:
            paper = [*(f"{MS * each:.0f}" for each in printed[:2]), *(f"{each:,.0f}" for each in printed[2:])]
        tree, strips = (ball(axes, radius, way) for way in RADIUS_WAYS)
        rows.append(
            [
                f"{radius:g}",
                results.text(tree, "neighbors", ".1f"),
                *paper,
                results.text(tree, "lists", scale=MS),
                results.text(tree, "nearest", scale=MS),
                results.text(tree, "lists_bytes", ",.0f", scale=MB),
                results.text(tree, "nearest_bytes", ",.0f", scale=MB),
                results.text(strips, "lists", scale=MS),
                results.text(strips, "nearest", scale=MS),
            ]
        )
    series = {
        f"{way}, {what}": (
            list(axes.sphere_radii),
            [_ms(results, ball(axes, radius, way), name) for radius in axes.sphere_radii],
        )
        for way in RADIUS_WAYS
        for what, name in (("all points", "lists"), ("nearest", "nearest"))
    }
    return Section(
        title="Table 1: larger radii",
        note=(
            f"{axes.spheres:,} points and as many queries, which are others. Milliseconds of lists of all neighbors "
            "(*all*) and of the nearest one (*NN*), without the index's construction, and megabytes that index, search "
            "and result took at the most, besides the input. The paper's are of 300,000."
        ),
        tables=[
            Table(
                header=(
                    "r / L",
                    "neighbors",
                    "paper: all, ms",
                    "NN, ms",
                    "all, MB",
                    "NN, MB",
                    "aabb_tree: all, ms",
                    "NN, ms",
                    "all, MB",
                    "NN, MB",
                    "strips: all, ms",
                    "NN, ms",
                ),
                rows=rows,
            )
        ],
        plot=Plot(
            name="radius",
            caption="Lists of all neighbors, and the nearest one, over the radius",
            panels=[Panel(title=f"{axes.spheres:,} points", x="radius, share of L", y="ms", series=series, log="y")],
        ),
    )


def _dimensions(results: Results, axes: Axes) -> Section:
    """Figure 11."""
    names = ("update", "count", "lists")
    rows = [
        [
            str(dim),
            results.text(dimension(axes, dim, "aabb_tree"), "radius", ".3f"),
            results.text(dimension(axes, dim, "aabb_tree"), "neighbors", ".1f"),
            *(
                results.text(dimension(axes, dim, way), name, scale=MS)
                for way in DIMENSION_WAYS
                for name in (names if way == "aabb_tree" else names[1:])
            ),
        ]
        for dim in axes.dims
    ]
    series = {
        way: (list(axes.dims), [_ms(results, dimension(axes, dim, way), "count") for dim in axes.dims])
        for way in DIMENSION_WAYS
    }
    return Section(
        title="Figure 11: more dimensions",
        note=(
            f"{axes.flat:,} points, and the radius within which each has 20 neighbors in the mean. Milliseconds of a "
            "refit, a count and lists. The paper compares with locality-sensitive hashing, which is approximate, and "
            "prints no numbers; here all pairs (`brute_force`) stand beside."
        ),
        tables=[
            Table(
                header=(
                    "dim",
                    "r / L",
                    "neighbors",
                    "aabb_tree: refit",
                    "count",
                    "lists",
                    "brute_force: count",
                    "lists",
                ),
                rows=rows,
            )
        ],
        plot=Plot(
            name="dimension",
            caption="A count over the number of dimensions",
            panels=[Panel(title=f"{axes.flat:,} points", x="dimensions", y="count (ms)", series=series, log="y")],
        ),
    )


def _updates(results: Results, axes: Axes) -> Section:
    """Table 2."""
    rows = []
    for n in axes.updated:
        printed = REFITS.get(n)
        paper = [f"{MS * seconds:.3g}" for seconds in printed] if printed else [""] * 2
        cells = [results.text(update(axes, n, way), "update", ".3f", scale=MS) for way in UPDATES]
        trees = [results.text(build(n, library), "build", ",.1f", scale=MS) for library in compared(results)]
        rows.append([f"{n:,}", *paper, *cells, *trees])
    series = {
        way: (
            [float(n) for n in axes.updated],
            [_ms(results, update(axes, n, way), "update") for n in axes.updated],
        )
        for way in UPDATES
    }
    return Section(
        title="Table 2: refit and rebuild",
        note=(
            "Milliseconds of an update. A rebuild makes a new order of the points on the device, where the paper's is "
            "made on the host in 1.6 to 2.8 times the time of a query. Columns of libraries are k-d trees that "
            "these build on the host, by the wall clock, with leaves of 20 points in scipy and nanoflann; the paper's "
            "of ANN took 1,170 ms for a million points."
        ),
        tables=[
            Table(header=("points", "paper: refit", "voxel grid", *UPDATES, *compared(results)), rows=rows, words=0)
        ],
        plot=Plot(
            name="update",
            caption="An update over the number of points",
            panels=[Panel(title="Updates", x="points", y="ms", series=series, log="xy")],
        ),
    )


def _groups(results: Results, axes: Axes) -> Section:
    """Figure 20."""
    rows = []
    for n in axes.groups:
        for radius in axes.group_radii:
            printed = GROUP_RATES.get(radius) if n == min(axes.groups) else None
            paper = [f"{rate:g}" for rate in printed] if printed else [""] * 2
            cases = [group(n, radius, way) for way in GROUP_WAYS]
            ratios = [results.ratio("step", case, cases[0]) for case in cases[1:]]
            rows.append(
                [
                    f"{n:,}",
                    f"{radius:g}",
                    results.text(cases[0], "neighbors", ".1f"),
                    *paper,
                    *(results.text(each, "step", scale=MS) for each in cases),
                    *(NOTHING if ratio is None else f"{ratio:.2f}x" for ratio in ratios),
                ]
            )
    panels = [
        Panel(
            title=f"{n:,} points",
            x="radius of the last group, share of L",
            y="update + count (ms)",
            series={way: (list(axes.group_radii), _steps(results, n, axes, way)) for way in GROUP_WAYS},
            log="xy",
        )
        for n in axes.groups
    ]
    return Section(
        title="Figure 20: three groups with radii 3 r, 2 r and r",
        note=(
            "A third of the points in each of three cubes, whose sides are as 3 to 2 to 1 as their radii are: the "
            "paper says where the groups are and that the upper two are much sparser, and no more. Cells of the grids "
            "are made for the largest radius. Points rest, and are taken in all the same. Milliseconds of a step, and "
            "times as long as `aabb_tree`; the paper's are frames a second of its simulation."
        ),
        tables=[
            Table(
                header=(
                    "points",
                    "r / L",
                    "neighbors",
                    "paper: tree, fps",
                    "voxel grid, fps",
                    *GROUP_WAYS,
                    "uniform_grid over aabb_tree",
                    "strips over aabb_tree",
                ),
                rows=rows,
                words=0,
            )
        ],
        plot=Plot(name="groups", caption="Three groups with radii of their own", panels=panels),
    )


def _steps(results: Results, n: int, axes: Axes, way: str) -> Sequence[float | None]:
    return [_ms(results, group(n, radius, way), "step") for radius in axes.group_radii]


def _ms(results: Results, measurement: Measurement, name: str) -> float | None:
    value = results.number(measurement, name)
    return None if value is None else MS * value
