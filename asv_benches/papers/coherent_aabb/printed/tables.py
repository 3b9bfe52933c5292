"""The report on the paper's algorithms as printed: beside the library's, by the layout of nodes, and by their lanes."""

from __future__ import annotations

import math

from ...paper import NOTHING, Measurement, Panel, Plot, Results, Section, Table
from .sizes import LAYOUTS, SIZES, WAYS, Sizes, lanes, nodes, search

__all__ = ["sections"]

MS, MB, PERCENT = 1e3, 1e-6, 100.0

#: Of algorithm 2, in turn, and all of it.
STAGES = ("traverse", "extract", "sort", "arrange", "lists")

#: Ways to search, and what plots call them.
CALLED = dict(zip(WAYS, ("algorithm 1", "balanced", "algorithm 2", "aabb_tree"), strict=True))

#: Walks whose lanes are counted, and what tables call them.
WALKS = {
    "primary": "algorithm 1",
    "sorted": "the same, queries by leaves",
    "coherent": "algorithm 2",
    "pack": "phase I",
    "traverse": "phase II",
    "extract": "phase III",
}


def sections(results: Results) -> list[Section]:
    """The searches, figure 7, then figures 12 and 13."""
    sizes = SIZES[results.scale]
    return [_searches(results, sizes), _layouts(results, sizes), _efficiency(results, sizes)]


def _searches(results: Results, sizes: Sizes) -> Section:
    counts, lists = [], []
    for n in sizes.searched:
        for radius in sizes.radii:
            primary, balanced, coherent, own = (search(n, radius, way) for way in WAYS)
            known = [f"{n:,}", f"{radius:g}", results.text(own, "neighbors", ".1f")]
            counts.append(
                [
                    *known,
                    *(results.text(each, "count", scale=MS) for each in (primary, balanced, own)),
                    _times(results, "count", primary, balanced),
                    _times(results, "count", primary, own),
                ]
            )
            lists.append(
                [
                    *known,
                    *(results.text(each, "lists", scale=MS) for each in (primary, balanced)),
                    *(results.text(coherent, stage, scale=MS) for stage in STAGES),
                    results.text(coherent, "candidates", ",.0f"),
                    results.text(coherent, "list_bytes", ",.1f", scale=MB),
                    results.text(own, "lists", scale=MS),
                    _times(results, "lists", primary, balanced),
                    _times(results, "lists", primary, coherent),
                    _times(results, "lists", coherent, own),
                ]
            )
    first = ("points", "r / L", "neighbors")
    return Section(
        title="The algorithms as printed",
        note=(
            "The paper's algorithms in kernels of their own (`asv_benches/papers/coherent_aabb/printed`): a tree of "
            "medians with leaves of 20 points at the most, queries that are the points, in random order. Milliseconds "
            "of a count and of lists, without the tree. In algorithm 1 each query goes down by itself; *balanced* has "
            "work-items that take the next query when they are through with one. In algorithm 2 the queries of a leaf "
            "are a packet: phase II lists the points of all leaves that its swept volume meets, phase III tests each "
            "of these against the queries of the packet, and what is found is sorted by query. Both algorithms append "
            "to lists by atomic operations, and have their lengths from a run before, which is in no time here. "
            "*Candidates* are entries of the list of phase II for each query."
        ),
        tables=[
            Table(
                header=(*first, "algorithm 1", "balanced", "aabb_tree", "1 over balanced", "1 over aabb_tree"),
                rows=counts,
                words=0,
            ),
            Table(
                header=(
                    *first,
                    "algorithm 1",
                    "balanced",
                    "2: phase II",
                    "phase III",
                    "sort",
                    "rows",
                    "algorithm 2",
                    "candidates",
                    "their list, MB",
                    "aabb_tree",
                    "1 over balanced",
                    "1 over 2",
                    "2 over aabb_tree",
                ),
                rows=lists,
                words=0,
            ),
        ],
        plot=Plot(
            name="printed",
            caption="The algorithms as printed beside the library's tree, over the neighbors, both scales logarithmic",
            panels=[_panel(results, sizes, name) for name in ("count", "lists")],
        ),
    )


def _panel(results: Results, sizes: Sizes, name: str) -> Panel:
    """A count or lists of the most points by each way that has them."""
    n = max(sizes.searched)
    neighbors = [results.number(search(n, radius, "aabb_tree"), "neighbors") or math.nan for radius in sizes.radii]
    series = {
        called: (neighbors, [_ms(results.number(search(n, radius, way), name)) for radius in sizes.radii])
        for way, called in CALLED.items()
    }
    return Panel(title=f"{name}, {n:,} points", x="neighbors", y="ms", series=series, log="xy")


def _layouts(results: Results, sizes: Sizes) -> Section:
    rows = []
    for n in sizes.fitted:
        aligned, scattered = (nodes(n, layout) for layout in LAYOUTS)
        cells = [results.text(each, name, scale=MS) for name in ("span", "kernels") for each in (aligned, scattered)]
        rows.append([f"{n:,}", *cells, _times(results, "kernels", scattered, aligned)])
    return Section(
        title="Figure 7: nodes at random",
        note=(
            "Milliseconds in which the boxes of the paper's tree are fitted to the points, a launch for each level: "
            "with the nodes of a level side by side, and with all nodes at random places, where each launch asks every "
            "node for its level. First from the start of the first launch to the end of the last, then in kernels. The "
            "paper prints its figure without numbers."
        ),
        tables=[
            Table(
                header=("points", "side by side", "at random", "side by side: kernels", "at random", "ratio"),
                rows=rows,
                words=0,
            )
        ],
    )


def _efficiency(results: Results, sizes: Sizes) -> Section:
    cases = {n: lanes(sizes, n) for n in sizes.counted}
    rows = [
        [f"{n:,}", *(results.text(case, walk, ".1f", scale=PERCENT) for walk in WALKS)] for n, case in cases.items()
    ]
    series = {
        called: ([n / 1e6 for n in cases], [_percent(results, case, walk) for case in cases.values()])
        for walk, called in WALKS.items()
    }
    return Section(
        title="Figures 12 and 13: active lanes",
        note=(
            f"At r = {sizes.radius:g} L, the share of the lanes of a warp that are active, in percent, counted in a "
            "walk of the kernels above: a warp of 32 goes through every loop until its last lane is through. A box "
            "that is tested is one instruction, and so is a point that is tested, copied or kept. NVIDIA's profiler, "
            "which the paper used, counts all instructions; OpenCL has no such counter. The numbers do not depend on "
            "the device. Phase I is that of queries that are no points of the tree, in random order. The paper prints "
            "its figures without numbers; it finds algorithm 2 better in all, and phase II its bottleneck."
        ),
        tables=[Table(header=("points", *WALKS.values()), rows=rows, words=0)],
        plot=Plot(
            name="lanes",
            caption="Active lanes of warps over the number of points",
            panels=[Panel(title="active lanes", x="points (millions)", y="percent", series=series)],
        ),
    )


def _times(results: Results, name: str, above: Measurement, below: Measurement) -> str:
    ratio = results.ratio(name, above, below)
    return NOTHING if ratio is None else f"{ratio:.2f}x"


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else MS * seconds


def _percent(results: Results, case: Measurement, walk: str) -> float | None:
    value = results.number(case, walk)
    return None if value is None else PERCENT * value
