"""Figure 9 of the paper: how much the boxes of leaves grow as points move, and how long a step takes by then.

The paper's points are particles of a simulation, as those of the model Spheres; points that move at random are
measured beside them.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyopencl.array as cla

import clfrnn
from clfrnn.models import Spheres

from ..clock import stage_seconds
from ..paper import Measurement, Numbers, Panel, Plot, Results, Section, Table
from .scenes import cube, diagonal, displacements
from .steps import DisagreementError

__all__ = ["EXPERIMENTS", "measure", "plan", "sections"]

#: Points of a leaf, as the paper's.
LEAF = 20

#: A side counts as no shorter than this share of the radius, as the library has it, so that flat leaves have a volume.
LEAST_SIDE = 1 / 16

#: Boxes that are fitted for ever, and those of an order that is made anew by the default threshold.
THRESHOLDS: Mapping[str, dict[str, Any]] = {"fitted": {"rebuild_threshold": np.inf}, "renewed": {}}

MS = 1e3


@dataclasses.dataclass(frozen=True, kw_only=True)
class Walk:
    """Points that move: how many, in how many steps, how far in each along an axis, and the radius, shares of L."""

    n: int
    steps: int
    reach: float
    radius: float
    #: how many steps make a row of the table
    stride: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Fall:
    """A block of spheres that falls apart: how many, and in how many updates, one after every so many steps."""

    n: int
    steps: int
    every: int
    #: how many updates make a row of the table
    stride: int


FALLS = {
    "paper": Fall(n=250_000, steps=400, every=5, stride=40),
    "small": Fall(n=8_000, steps=100, every=10, stride=10),
    "tiny": Fall(n=400, steps=4, every=20, stride=2),
}

WALKS = {
    "paper": Walk(n=250_000, steps=400, reach=0.001, radius=0.01, stride=40),
    "small": Walk(n=20_000, steps=100, reach=0.004, radius=0.02, stride=10),
    "tiny": Walk(n=400, steps=4, reach=0.02, radius=0.05, stride=2),
}


def plan(scale: str) -> list[Measurement]:
    """The simulation, then points that move at random."""
    return [
        Measurement.of(experiment="fall", **dataclasses.asdict(FALLS[scale])),
        Measurement.of(experiment="growth", **dataclasses.asdict(WALKS[scale])),
    ]


def measure(session: clfrnn.Session, measurement: Measurement) -> Numbers:
    """By the last step of each row: the largest growth of a leaf, and the mean seconds of a step of the row."""
    facts = dict(measurement.to_dict())
    return EXPERIMENTS[str(facts.pop("experiment"))](session, **facts)


def _growth(session: clfrnn.Session, n: int, steps: int, reach: float, radius: float, stride: int) -> Numbers:
    start = cube(n)
    return _grown(session, [start, *displacements(start, reach, steps)], radius * diagonal(), stride)


def _fall(session: clfrnn.Session, n: int, steps: int, every: int, stride: int) -> Numbers:
    """Positions of a run first, then what a tree makes of them; also how far the fastest sphere moves in an update."""
    heap = Spheres(n, session=session, method="strips")
    path = [heap.positions.get() for _ in heap.run(steps * every, every=every, progress=False)]
    moved = [np.abs(after - before).max() for before, after in itertools.pairwise(path)]
    return _grown(session, path, 2 * heap.radius, stride) | {"moved": float(max(moved) / heap.radius)}


def _grown(session: clfrnn.Session, path: Sequence[np.ndarray[Any, Any]], own: float, stride: int) -> dict[str, float]:
    """What becomes of boxes, and of times, along a path of positions, the first of which are the start."""
    start, *path = path
    steps = len(path)
    numbers: dict[str, float] = {}
    for name, options in THRESHOLDS.items():
        index = clfrnn.build_index(start, own, method="aabb_tree", leaf_size=LEAF, session=session, **options)
        order = index.order.get()
        seconds, rebuilt = [], 0
        for positions in [start, start, *path]:
            points = cla.to_device(session.queue, positions)
            seconds.append(stage_seconds(session, [functools.partial(index.update, points), index.count])[-1].span)
            rebuilt += index.last_update == "rebuilt"
        for last in range(stride, steps + 1, stride):
            numbers[f"{name} {last}"] = statistics.fmean(seconds[2:][last - stride : last])
        numbers[f"{name}, rebuilt"] = float(rebuilt)
        _compare(session, index, path[-1], own)
        if name == "fitted":
            before = volumes(start, order, own)
            for last in range(stride, steps + 1, stride):
                growth = volumes(path[last - 1], order, own) / before
                numbers[f"growth {last}"], numbers[f"median {last}"] = float(growth.max()), float(np.median(growth))
    return numbers


EXPERIMENTS: dict[str, Callable[..., Numbers]] = {"fall": _fall, "growth": _growth}


def volumes(points: np.ndarray[Any, Any], order: np.ndarray[Any, Any], radius: float) -> np.ndarray[Any, Any]:
    """The volumes of the boxes around the points of full leaves, which hold consecutive points of `order`."""
    full = len(order) // LEAF
    leaves = points[order[: full * LEAF]].astype(np.float64).reshape(full, LEAF, points.shape[1])
    volume: np.ndarray[Any, Any] = np.maximum(np.ptp(leaves, axis=1), LEAST_SIDE * radius).prod(axis=1)
    return volume


def _compare(session: clfrnn.Session, index: clfrnn.Index, points: np.ndarray[Any, Any], radius: float) -> None:
    """Raise where the index has other counts than `strips`."""
    expected = clfrnn.build_index(points, radius, method="strips", session=session).count().get()
    if not np.array_equal(index.count().get(), expected):
        raise DisagreementError("other counts than those of strips")


def sections(results: Results) -> list[Section]:
    """The tables and the curves: of the simulation, then of points that move at random."""
    (fall, growth), heap, walk = plan(results.scale), FALLS[results.scale], WALKS[results.scale]
    spheres = (
        f"{heap.n:,} spheres of `clfrnn.models.Spheres`, a block that falls apart by the forces of the paper's "
        f"simulation, with an update of the tree after every {heap.every} steps of the model, in which the fastest "
        f"moves by {results.text(fall, 'moved', '.2f')} radii along an axis. The paper prints its figure without "
        "numbers; it says that a box had up to 150 times its volume after 400 steps. "
    )
    points = f"{walk.n:,} points that move by up to {walk.reach:g} L along each axis in a step. "
    return [
        _section(results, fall, heap, title="Figure 9: boxes that grow, in a simulation", note=spheres + _COMMON),
        _section(results, growth, walk, title="Figure 9, of points that move at random", note=points + _COMMON),
    ]


_COMMON = (
    f"Leaves have {LEAF} points. By the last update of each row: how many times its volume at the start the box of a "
    "leaf has, at the most and in the median, where the order of points is never made anew. Milliseconds of an update "
    "with a count, the mean over the row: of these boxes, and of those whose order is made anew where a leaf has 10 "
    "times its volume. "
)


def _section(results: Results, case: Measurement, run: Walk | Fall, *, title: str, note: str) -> Section:
    marks = range(run.stride, run.steps + 1, run.stride)
    rows = [
        [
            str(last),
            results.text(case, f"growth {last}", ".1f"),
            results.text(case, f"median {last}", ".1f"),
            *(results.text(case, f"{name} {last}", scale=MS) for name in THRESHOLDS),
        ]
        for last in marks
    ]
    across = [float(last) for last in marks]

    def curve(name: str, scale: float = 1.0) -> tuple[list[float], list[float | None]]:
        found = [results.number(case, f"{name} {last}") for last in marks]
        return across, [None if value is None else scale * value for value in found]

    growth = {"largest": curve("growth"), "median": curve("median")}
    times = {"never anew": curve("fitted", MS), "anew at 10": curve("renewed", MS)}
    anew = results.text(case, "renewed, rebuilt", ".0f")
    return Section(
        title=title,
        note=f"{note}The order was made anew {anew} times.",
        tables=[
            Table(
                header=("update", "largest growth", "median growth", "never anew, ms", "anew at 10, ms"),
                rows=rows,
                words=0,
            )
        ],
        plot=Plot(
            name=str(case.to_dict()["experiment"]),
            caption="The growth of boxes, and the time of an update with a count",
            panels=[
                Panel(title="volume of a leaf", x="update", y="over that at the start", series=growth, log="y"),
                Panel(title="update and count", x="update", y="ms", series=times),
            ],
        ),
    )
