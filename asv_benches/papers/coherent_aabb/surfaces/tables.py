"""The report on surfaces and distance fields: figures 14 and 15 and table 3 of the paper beside this run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from ....tools.scans import SOURCES
from ...paper import Measurement, Panel, Plot, Results, Section, Table, range_text
from ...shapes import DIAGONAL, NOISE
from .kd_trees import compared
from .kd_trees import field as kd_field
from .statues import (
    ANN,
    FIELDS,
    KITTEN,
    SCALES_OF_STATUES,
    SCANNED_FIELDS,
    SCANNED_KITTEN,
    SMOOTHED,
    SMOOTHED_SCANS,
    WAYS,
    Field,
    Kitten,
    Sizes,
    Smoothed,
    bent,
    field,
    smoothing,
    wlop,
)

__all__ = ["sections"]

MS = 1e3

#: Milliseconds of the paper's tree and of its voxel grid, which failed once.
Pair = tuple[float, float | None]


class Row(NamedTuple):
    """A model, with what is measured of its stand-in by each way, and the paper's times of searches and of all."""

    model: str
    points: int
    cases: Sequence[Measurement]
    searches: Pair
    total: Pair


def sections(results: Results) -> list[Section]:
    """What the three have in common, then each of them."""
    sizes = SCALES_OF_STATUES[results.scale]
    groups = _there(
        results,
        {
            "smoothing": _smoothed(sizes, SMOOTHED),
            "polynomials": _smoothed(sizes, SMOOTHED, degree=2)[: len(bent(sizes))],
            "WLOP": _spread(sizes, KITTEN),
            "distance fields": _fields(sizes, FIELDS),
        },
    )
    polynomials = groups.pop("polynomials", [])
    parts = {
        "smoothing": partial(_smoothing, sizes, polynomials),
        "WLOP": partial(_wlop, sizes),
        "distance fields": partial(_distances, sizes),
    }
    return [
        *([_overview(results, groups)] if groups else []),
        *(part(results, groups[what]) for what, part in parts.items() if what in groups),
        *_scans(results, sizes),
    ]


def _there(results: Results, groups: dict[str, list[Row]]) -> dict[str, list[Row]]:
    """The rows of which something was measured, and what has such rows."""
    rows = {what: [row for row in every if results.has(row.cases)] for what, every in groups.items()}
    return {what: some for what, some in rows.items() if some}


def _smoothing(sizes: Sizes, polynomials: Sequence[Row], results: Results, smoothed: Sequence[Row]) -> Section:
    """Figure 14."""
    return Section(
        title="Figure 14: smoothing",
        note=(
            f"`smooth` in {sizes.iterations} iterations, with the paper's support as the radius. {_LISTED} The "
            "paper projects on polynomials over planes. The first two tables are of planes, one visit for each "
            "iteration, and the next two of polynomials of degree 2 over them (`degree=2`), two visits."
        ),
        tables=[*_tables(results, smoothed), *(_tables(results, polynomials) if polynomials else [])],
    )


def _wlop(sizes: Sizes, results: Results, spread: Sequence[Row]) -> Section:
    """Figure 15."""
    return Section(
        title="Figure 15: WLOP",
        note=(
            f"`wlop` of {KITTEN.particles // sizes.less:,} particles in {sizes.moves} iterations. *Neighbors* are "
            "the points in the ball of a particle. An iteration takes two searches, of particles among the points "
            f"and among each other. {_LISTED}"
        ),
        tables=_tables(results, spread),
    )


def _distances(sizes: Sizes, results: Results, fields: Sequence[Row]) -> Section:
    """Table 3."""
    return Section(
        title="Table 3: distance fields",
        note=(
            f"`distance_field` at {sizes.cells + 1}³ nodes of a cube around the stand-in, with r = 4 w for cells "
            f"of the width w; for the offset surface at {sizes.far_cells + 1}³ nodes, with r = 0.2 L + 2 w. The "
            "paper has 257³ nodes in all, and prints one time. The surface itself is contoured on the host and is "
            "in no time here, as in the paper. *Defined* is the share of nodes that have a point within r."
        ),
        tables=[*_tables(results, fields, _DEFINED), *([_libraries(results, sizes)] if compared(results) else [])],
    )


def _scans(results: Results, sizes: Sizes) -> list[Section]:
    """The same of scans, where any of it was measured."""
    groups = _there(
        results,
        {
            "smoothing": _smoothed(sizes, SMOOTHED_SCANS),
            "WLOP": _spread(sizes, SCANNED_KITTEN),
            "distance fields": _fields(sizes, SCANNED_FIELDS),
        },
    )
    if not groups:
        return []
    sources = (f"`{name}` is {one.what}, out of the package {one.requirement}" for name, one in SOURCES.items())
    return [
        Section(
            title="The same with scans",
            note=(
                f"Scans of other things in the place of the models, which `asv_benches.tools.scans` fetches: "
                f"{'; '.join(sources)}. Points are drawn evenly on the triangles of the cortices, with noise as above, "
                "and those of `terrain` are its own, some of them or all. The first table has ratios, the next two "
                "smoothing, then two of WLOP and two of distance fields, each with the columns that it has above."
            ),
            tables=[
                _ratios(results, groups),
                *(
                    table
                    for what, rows in groups.items()
                    for table in _tables(results, rows, _DEFINED if what == "distance fields" else _NEIGHBORS)
                ),
            ],
            plot=_plot(results, "scans", "Scans in the place of the models", groups),
        )
    ]


#: The column in front of the times: its title, the number, and how it is written.
_NEIGHBORS, _DEFINED = ("neighbors", "neighbors", ".1f"), ("defined", "defined", ".3f")
_LISTED = "The paper's times are those of its searches, which list neighbors, and the wall clock's in its second table."


def _smoothed(sizes: Sizes, models: Sequence[Smoothed], degree: int = 1) -> list[Row]:
    many = 30
    return [
        Row(
            one.model,
            printed.points,
            [smoothing(sizes, one, way, degree) for way in WAYS],
            (many * MS * one.tree[0], many * MS * one.grid[0]),
            (MS * one.tree[1], MS * one.grid[1]),
        )
        for printed, one in zip(SMOOTHED, models, strict=True)
    ]


def _spread(sizes: Sizes, one: Kitten) -> list[Row]:
    many, searches = 100, [MS * (each[0] + each[1]) for each in (KITTEN.tree, KITTEN.grid)]
    return [
        Row(
            "Kitten",
            KITTEN.points,
            [wlop(sizes, way, one) for way in WAYS],
            (many * searches[0], many * searches[1]),
            (MS * KITTEN.tree[2], MS * KITTEN.grid[2]),
        )
    ]


def _fields(sizes: Sizes, fields: Sequence[Field]) -> list[Row]:
    rows = []
    for one in fields:
        printed = (MS * one.tree, None if one.grid is None else MS * one.grid)
        rows.append(Row(one.model, one.points, [field(sizes, one, way) for way in WAYS], printed, printed))
    return rows


def _overview(results: Results, groups: dict[str, list[Row]]) -> Section:
    """How much longer other ways take than the tree, and the bars of all."""
    less = SCALES_OF_STATUES[results.scale].less
    fewer = f"has 1 point for {less} of the model's" if less > 1 else "has as many points as the model"
    return Section(
        title="Section 5.2: surfaces and distance fields",
        note=(
            "The paper's scanned models are not in this project. What is measured are points drawn evenly on a knot, a "
            f"gyroid and a tangle (x⁴ - 5 x² summed over the axes, plus 11.8, is 0), the stand-ins: each {fewer}, and "
            "neither its details nor its uneven density. Where points are smoothed or resampled, they stand off by "
            f"noise of {NOISE:g} L. The paper's supports, as 20 (L / n)^½, depend on the unit of length; here L is "
            f"{DIAGONAL:g} units, which gives as many neighbors as the tables say.\n\n"
            "Milliseconds: in kernels, of points on the device, the index and its updates included; and on the wall "
            "clock from points in host memory to a result in host memory, as the paper's total time includes copies. "
            "Fields of all ways are compared bit by bit, smoothed points and particles after two iterations, as sums "
            "run in other orders. The table has the time of other ways over that of `aabb_tree`, in kernels; the "
            "paper's is that of its voxel grid."
        ),
        tables=[_ratios(results, groups)],
        plot=_plot(results, "surfaces", "Stand-ins for the models", groups),
    )


def _plot(results: Results, name: str, shown: str, groups: dict[str, list[Row]]) -> Plot:
    """The bars of all ways."""
    panels = [
        Panel(
            title=what,
            y="in kernels (ms)",
            series={
                way: ((), [_ms(results.number(row.cases[k], "kernels")) for row in rows]) for k, way in enumerate(WAYS)
            },
            groups=[f"{row.model}, {row.cases[0].to_dict()['shape']}".replace(", ", ",\n") for row in rows],
            # one of several fields takes hundreds of times as long as another
            log="y" if what == "distance fields" and len(rows) > 1 else "",
        )
        for what, rows in groups.items()
    ]
    return Plot(name=name, caption=f"{shown}: smoothing, WLOP and distance fields", panels=panels)


def _ratios(results: Results, groups: dict[str, list[Row]]) -> Table:
    """The time of other ways over that of the tree, in kernels."""
    lines = [
        [
            what,
            range_text([_over(row.searches) for row in rows], ".2f", "x"),
            *(
                range_text([results.ratio("kernels", row.cases[k], row.cases[0]) for row in rows], ".2f", "x")
                for k in range(1, len(WAYS))
            ),
        ]
        for what, rows in groups.items()
    ]
    return Table(header=("over aabb_tree", "paper: voxel grid", *WAYS[1:]), rows=lines)


def _tables(results: Results, rows: Sequence[Row], extra: tuple[str, str, str] = _NEIGHBORS) -> list[Table]:
    """The times in kernels beside those of the paper's searches, and the wall times beside its total."""
    name, number, spec = extra
    kernels, walls = [], []
    for row in rows:
        facts = row.cases[0].to_dict()
        model, shape = f"{row.model}, {row.points:,}", f"{facts['shape']}, {facts['n']:,}"
        known = results.text(row.cases[0], number, spec)
        kernels.append([model, shape, known, *_printed(row.searches), *_cells(results, row, "kernels")])
        walls.append([model, shape, *_printed(row.total), *_cells(results, row, "wall")])
    paper = ("paper: tree", "paper: voxel grid")
    return [
        Table(header=("model, points", "stand-in, points", name, *paper, *WAYS), rows=kernels, words=2),
        Table(header=("model, points", "stand-in, points", *paper, *(f"{w}: wall" for w in WAYS)), rows=walls, words=2),
    ]


def _libraries(results: Results, sizes: Sizes) -> Table:
    """Table 3 by libraries that are in the place of ANN."""
    names = compared(results)
    rows = [
        [
            f"{one.model}, {one.points:,}",
            f"{MS * ANN[one.model]:,.0f}",
            results.text(field(sizes, one, WAYS[0]), "wall", ",.1f", scale=MS),
            *(results.text(kd_field(sizes, one, library), "wall", ",.0f", scale=MS) for library in names),
        ]
        for one in FIELDS
    ]
    return Table(header=("model, points", "paper: ANN", f"{WAYS[0]}: wall", *names), rows=rows)


def _cells(results: Results, row: Row, name: str) -> list[str]:
    return [results.text(case, name, ",.1f", scale=MS) for case in row.cases]


def _printed(pair: Pair) -> list[str]:
    return ["failed" if value is None else f"{value:,.0f}" for value in pair]


def _over(pair: Pair) -> float | None:
    tree, grid = pair
    return None if grid is None else grid / tree


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else MS * seconds
