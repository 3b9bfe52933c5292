"""Figure 9 of the paper: how much the boxes of leaves grow as points move, and how long a step takes by then.

The paper's points are particles of a simulation; these move at random, so that the experiment needs no other.
"""

from __future__ import annotations

import dataclasses
import functools
import statistics
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyopencl.array as cla

import clfrnn

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


WALKS = {
    "paper": Walk(n=250_000, steps=400, reach=0.001, radius=0.01, stride=40),
    "small": Walk(n=20_000, steps=100, reach=0.004, radius=0.02, stride=10),
    "tiny": Walk(n=400, steps=4, reach=0.02, radius=0.05, stride=2),
}


def plan(scale: str) -> list[Measurement]:
    """The only measurement."""
    return [Measurement.of(experiment="growth", **dataclasses.asdict(WALKS[scale]))]


def measure(session: clfrnn.Session, measurement: Measurement) -> Numbers:
    """By the last step of each row: the largest growth of a leaf, and the mean seconds of a step of the row."""
    facts = dict(measurement.to_dict())
    return EXPERIMENTS[str(facts.pop("experiment"))](session, **facts)


def _growth(session: clfrnn.Session, n: int, steps: int, reach: float, radius: float, stride: int) -> Numbers:
    start, own = cube(n), radius * diagonal()
    path = displacements(start, reach, steps)
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


EXPERIMENTS = {"growth": _growth}


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
    """The table and the curves."""
    (case,), walk = plan(results.scale), WALKS[results.scale]
    marks = range(walk.stride, walk.steps + 1, walk.stride)
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
    return [
        Section(
            title="Figure 9: boxes that grow",
            note=(
                f"{walk.n:,} points that move by up to {walk.reach:g} L along each axis in a step, with leaves of "
                f"{LEAF}. By the last step of each row: how many times its volume at the start the box of a leaf has, "
                "at the most and in the median, where the order of points is never made anew. Milliseconds of a step "
                "with a count, the mean over the row: of these boxes, and of those whose order is made anew where a "
                f"leaf has 10 times its volume, which happened {results.text(case, 'renewed, rebuilt', '.0f')} times. "
                "The paper prints its figure, of a simulation, without numbers; it says that a box had up to 150 times "
                "its volume after 400 steps."
            ),
            tables=[
                Table(
                    header=("step", "largest growth", "median growth", "step: never anew, ms", "anew at 10, ms"),
                    rows=rows,
                    words=0,
                )
            ],
            plot=Plot(
                name="growth",
                caption="The growth of boxes, and the time of a step, over the steps",
                panels=[
                    Panel(title="volume of a leaf", x="step", y="over that at the start", series=growth, log="y"),
                    Panel(title="a step", x="step", y="update + count (ms)", series=times),
                ],
            ),
        )
    ]
