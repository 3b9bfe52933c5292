"""Figures of docs/measured/tables for trees: what they take to be made, fitted and searched, beside grids.

Device time is the last event's end minus the first event's start, milliseconds, the median of 20 and more after
warm-up; a step, an update and a count, is its share of a loop of 20 that is waited for at its end, in a session as
users have it, the median of five. Points are moved by a fiftieth of the radius, there and back.
"""

from __future__ import annotations

import statistics
from typing import Any

import click
import numpy as np
import pyopencl.array as cla

import clfrnn
from clfrnn import clouds

from ..benchmarks.common import profiled
from ..papers.coherent_aabb.steps import update_seconds
from .clocks import Step, in_a_loop
from .clocks import milliseconds as times_of
from .clouds import LARGE, SMALL
from .tables import command, head, row, say

GRIDS = ["uniform_grid", "strips"]

#: The largest of radii that are log-uniform over three decades, for 2^20 points.
LARGEST = [0.00005, 0.0001, 0.0002, 0.001]
POINTS, FEW_POINTS = 1 << 20, 1 << 16

#: Of steps that took so many seconds together, five are enough.
ENOUGH = 1.0


def milliseconds(session: clfrnn.Session, step: Step) -> float:
    """Median device time."""
    return times_of(session, step, ENOUGH).span


class Cloud:
    """Points at two places, in a session with event times and in one as users have it."""

    def __init__(self, session: clfrnn.Session, plain: clfrnn.Session, points: Any, radius: float) -> None:
        away = 0.02 * radius * np.random.default_rng(1).standard_normal(points.shape)
        moved = (points + away).astype(points.dtype)
        self.session, self.plain, self.radius = session, plain, radius
        self.places = {each: [cla.to_device(each.queue, k) for k in (points, moved)] for each in (session, plain)}

    def index(self, session: clfrnn.Session, method: str, **options: Any) -> clfrnn.Index:
        """An index over the points."""
        return clfrnn.build_index(self.places[session][0], self.radius, method=method, session=session, **options)

    def update(self, *, anew: bool) -> float:
        """Median milliseconds of a tree's update: its boxes fitted, or its order made anew."""
        tree = self.index(self.session, "aabb_tree", rebuild_threshold=1.0 if anew else np.inf)
        seconds = update_seconds(self.session, tree, *self.places[self.session], anew=anew)
        return 1e3 * statistics.median(seconds)

    def step(self, method: str) -> float:
        """Milliseconds of an update and a count in a loop."""
        index, places = self.index(self.plain, method), self.places[self.plain]

        def step() -> object:
            places.reverse()
            index.update(places[0])
            return index.count()

        return in_a_loop(self.plain, step)


def print_steps(session: clfrnn.Session, *, small: bool) -> None:
    """Making, fitting and counting, and steps beside the grid's."""
    columns = ["neighbors", "construction", "anew", "refit", "count", "uniform_grid: count", "strips: count"]
    columns += ["step", "uniform_grid: step", "step over uniform_grid's"]
    head("cloud", *(f"{each}:" for each in columns))
    plain = clfrnn.Session(session.device)
    for name, make in (SMALL if small else LARGE).items():
        if not small and (not name.startswith("1.05 M") or name.endswith(", 3 neighbors")):
            continue
        cloud = Cloud(session, plain, *make())
        indexes = [cloud.index(session, method) for method in ("aabb_tree", *GRIDS)]
        pairs = {int(index.count().get().sum(dtype=np.int64)) for index in indexes}
        assert len(pairs) == 1, "all find the same"
        found = pairs.pop()
        assert found, "a benchmark that finds nothing measures nothing"
        construction = milliseconds(session, lambda cloud=cloud: cloud.index(session, "aabb_tree"))
        counts = [milliseconds(session, index.count) for index in indexes]
        step, grid = cloud.step("aabb_tree"), cloud.step("uniform_grid")
        times = [construction, cloud.update(anew=True), cloud.update(anew=False), *counts, step, grid]
        neighbors = found / indexes[0].num_points
        row(name, f"{neighbors:.2f}", *(f"{each:.3f}" for each in times), f"{step / grid:.2f}")


def print_radii(session: clfrnn.Session, n: int) -> None:
    """Counts with radii of the points' own, by the tree and by grids; the largest finds as many points for any n."""
    click.echo("")
    head(
        "largest radius",
        "mean neighbors:",
        "aabb_tree:",
        *(f"{each}:" for each in GRIDS),
        "better grid over aabb_tree:",
    )
    points = cla.to_device(session.queue, clouds.multiscale(n, 3, seed=1))
    shares = (10 ** np.random.default_rng(0).uniform(-3, 0, n)).astype(np.float32)
    for nominal in LARGEST:
        largest = nominal * (POINTS / n) ** (1 / 3)
        radii = cla.to_device(session.queue, shares * np.float32(largest))
        times, found = [], set()
        for method in ("aabb_tree", *GRIDS):
            index = clfrnn.build_index(points, largest, method=method, session=session)
            found.add(int(index.count(radius=radii).get().sum(dtype=np.int64)))
            times.append(milliseconds(session, lambda index=index, radii=radii: index.count(radius=radii)))
        assert len(found) == 1, "all find the same"
        cells = [f"{found.pop() / n:.1f}", *(f"{each:.3f}" for each in times)]
        row(f"{largest:.5g}", *cells, f"{min(times[1:]) / times[0]:.1f}")


@command
@click.option("--small", is_flag=True, help="The clouds for CPUs.")
def main(*, device: str | None, small: bool) -> None:
    """Measure, and print two Markdown tables."""
    session = profiled(device)
    say(session)
    print_steps(session, small=small)
    print_radii(session, FEW_POINTS if small else POINTS)


if __name__ == "__main__":
    main()
