"""The table of what the paper concludes, what its own tables say about it, and what a run says today."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from ..paper import Results, Section, Table
from .configurations import CALLED, FENNS_WAYS, GRIDS, Axes
from .findings import (
    Finding,
    Times,
    beside_strips,
    best,
    bytes_text,
    falls,
    finds_no_room,
    flat,
    grows,
    keeps,
    leads_on_coarse_cells,
    likes_room,
    paper_times,
    run_times,
    spares,
    spares_by_formula,
    wins,
    worst,
)
from .published import DEVICES, fenns_bytes

__all__ = ["claims"]

#: A conclusion about time, in the paper's numbers where it has some, and its check.
TIMED: Sequence[tuple[str, str, Callable[[Times], Finding]]] = (
    *((f"scenario {k}: FENNS is faster than both grids", "in most cases", partial(wins, scenario=k)) for k in (1, 3)),
    ("scenarios 1 and 3: FENNS's largest lead over a grid", "80, in edge cases 374", best),
    *((f"scenario {k}: FENNS over the faster grid, at the most", "3.6", partial(worst, scenario=k)) for k in (1, 2, 3)),
    ("scenario 1: FENNS takes longer as the radius grows", "it does", grows),
    *((f"scenario 1: {CALLED[way]} is faster as the radius grows", "it is", partial(falls, way=way)) for way in GRIDS),
    *((f"scenario 2: {CALLED[way]}, most over least", "no difference", partial(flat, way=way)) for way in GRIDS),
    ("scenario 2: grids over FENNS, most points", "FENNS is faster", leads_on_coarse_cells),
    ("FENNS in scenario 1 over scenario 3, most points", "3 is faster", likes_room),
)


def claims(results: Results, axes: Axes) -> Section:
    """The section of the claims."""
    runs = [run_times(results, axes, way) for way in FENNS_WAYS]
    papers = [paper_times(axes, device) for device in range(len(DEVICES))]
    rows = [_row(what, said, [check(times) for times in (*papers, *runs)]) for what, said, check in TIMED]
    kernels = [run_times(results, axes, way, "kernels") for way in FENNS_WAYS]
    rows += [
        _only_run(f"scenario {k}: FENNS is faster than both grids, in kernels", [wins(times, k) for times in kernels])
        for k in (1, 3)
    ]
    rows.append(_only_run("strips over FENNS", [beside_strips(times) for times in runs]))
    return Section(
        title="The paper's conclusions and this run",
        note=(
            "The same reckoning for the paper's two tables of times and for this run, with FENNS on the paper's coarse "
            "grid and on clfrnn's own. A ratio is of times; one in front of brackets is that with the most points, "
            "which decides, and in brackets stand those of all. *Holds* asks for what the paper says: more than half "
            "of all cases, 80 at least, 3.6 at the most, and else for a difference of more than 5 %, or of none. Radii "
            "that the paper could not run are left out. One printed value of the GTX 1080 Ti looks like a slip and "
            "makes its largest ratio in scenario 3: 0.09 ms for Green with 8,192 points at *r* = 0.5, between 6.37 and "
            "1.74."
        ),
        tables=[_table(rows), _table(_memory(results, axes))],
    )


def _table(rows: Sequence[Sequence[str]]) -> Table:
    header = ("conclusion", "paper's text", "today", *DEVICES, "this run", "this run, default")
    return Table(header=header, rows=rows, words=3)


def _memory(results: Results, axes: Axes) -> list[list[str]]:
    """The conclusions about memory; the formulas stand in for both devices of the paper."""
    least = bytes_text(fenns_bytes(axes.coarse**3))
    found = [[check(results, axes, way) for way in FENNS_WAYS] for check in (keeps, spares)]
    said = (
        ("FENNS keeps beside the points", f"8 l³, {least}"),
        ("grids over FENNS, memory beside the points", "GB to kB"),
    )
    rows = [
        _row(*said[0], [(least, None)] * len(DEVICES) + found[0]),
        _row(*said[1], [(spares_by_formula(axes), None)] * len(DEVICES) + found[1]),
    ]
    grids = finds_no_room(results, axes)
    said_of_grids = ("grids at r = 0.1 in scenario 1 and 0.2 in 3", "no room")
    return [*rows, _row(*said_of_grids, [("no room", None)] * len(DEVICES) + [grids] * len(FENNS_WAYS))]


def _row(what: str, said: str, findings: Sequence[Finding]) -> list[str]:
    return [what, said, _verdict(*(holds for _, holds in findings[-2:])), *(told for told, _ in findings)]


def _only_run(what: str, findings: Sequence[Finding]) -> list[str]:
    """A row that the paper has no counterpart of."""
    return [what, "not in the paper", "", *("" for _ in DEVICES), *(told for told, _ in findings)]


def _verdict(paper: bool | None, default: bool | None) -> str:
    """Of FENNS on the paper's coarse grid, and on the default one where that differs."""
    if paper is None or default is None:
        return "not measured"
    words = {True: "holds", False: "does not hold"}
    return words[paper] if paper == default else f"{words[paper]}; by default {words[default]}"
