"""The k nearest neighbors: times in kernels of an update with them, for even clouds and for clouds with halos.

Milliseconds in kernels, the median of some steps, of the points themselves without each point itself, within the radius
that :func:`clfrnn.nearest` begins with. With ``--kernels``, what other ways of finding them take, one beside the other;
with ``--unbounded``, the wall time of :func:`clfrnn.nearest` without a radius; with ``--scipy``, that beside
``scipy.spatial.cKDTree`` with two workers, its construction included.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import click
import pyopencl.array as cla

import clfrnn
from clfrnn.answers.nearest.plan import first_reach
from clfrnn.errors import ClfrnnError

from .benchmarks.common import has_event_times, profiled
from .tools.clocks import kernels, milliseconds, wall
from .tools.clouds import CLOUDS
from .tools.tables import command, head, row, say

#: numbers of neighbors
KS = (8, 16, 30)

#: numbers of points on a GPU and on a CPU
LARGE, SMALL = (1_000_000, 10_000_000), (65_536, 262_144)

#: steps that took so many seconds together are enough
ENOUGH = 1.0

#: the clouds, and of the comparison with scipy their points and k
KINDS, PEER_POINTS, PEER_K = ("even", "halos"), 262_144, 16

#: ways of searching without a radius
UNBOUNDED: dict[str, tuple[str, dict[str, dict[str, Any]]]] = {
    "as planned": ("auto", {}),
    "a shorter reach where points crowd": ("strips", {"nearest": {"crowded": 2.0}}),
    "the reach of an even cloud": ("strips", {"nearest": {"crowded": 1e9}}),
    "fewer neighbors foreseen": ("strips", {"nearest": {"foreseen": 1.0}}),
    "neighbors counted first": ("auto", {"nearest": {"counted_first": 1, "even": math.inf}}),
    "aabb_tree": ("aabb_tree", {}),
}

#: ways of finding the k nearest within a radius: the query, and numbers of the tuning
WAYS: dict[str, tuple[Callable[[clfrnn.Index, int], object], dict[str, dict[str, Any]]]] = {
    "as planned": (lambda index, k: index.nearest(k=k), {}),
    "neighbors counted first": (
        lambda index, k: index.nearest(k=k),
        {"nearest": {"counted_first": 1, "even": math.inf}},
    ),
    "rows as heaps": (lambda index, k: index.nearest(k=k), {"nearest": {"register_places": 0}}),
    "lists by distance": (lambda index, _: index.query(sort="distance", distances=True), {}),
}


class Task(NamedTuple):
    """A cloud on the device, k, and the radius that a search for its k nearest begins with."""

    name: str
    points: Any
    k: int
    radius: float


def tasks(session: clfrnn.Session, sizes: tuple[int, ...]) -> Iterator[Task]:
    """Every cloud with every k."""
    for n in sizes:
        for name in KINDS:
            host = CLOUDS[name](n)
            low, high = host.min(axis=0).tolist(), host.max(axis=0).tolist()
            points = cla.to_device(session.queue, host)
            for k in KS:
                reach = first_reach(session.tuning, n=n, k=k, low=low, high=high, lengths=(0.0,) * 3)
                assert reach is not None, "there are enough points"
                yield Task(f"{name}, {n:,}", points, k, reach)


def kernels_of(
    session: clfrnn.Session, task: Task, find: Callable[[clfrnn.Index, int], object]
) -> tuple[float, float, str]:
    """Milliseconds in kernels of an update with the nearest, the share of full rows, and the times by kernel."""
    index = clfrnn.build_index(task.points, task.radius, session=session)
    full = float((index.count(to_host=True) >= task.k).mean())

    def step() -> object:
        index.update(task.points)
        return find(index, task.k)

    total = milliseconds(session, step, ENOUGH).kernels
    times = kernels(session, step, warm_up=0) if has_event_times(session) else {}
    return total, full, ", ".join(f"{name} {each:.3f}" for name, each in times.items())


def print_steps(session: clfrnn.Session, sizes: tuple[int, ...], ways: dict[str, Any]) -> None:
    """The table of updates with the k nearest, a row for each way of finding them."""
    say(session, "milliseconds in kernels")
    head("cloud", "k:", "way", "update + nearest:", "full rows:", "of these")
    for task in tasks(session, sizes):
        for name, (find, numbers) in ways.items():
            try:
                total, full, each = kernels_of(session.with_tuning(session.tuning.but(**numbers)), task, find)
            except ClfrnnError as error:
                row(task.name, task.k, name, type(error).__name__, "", "")
                continue
            row(task.name, task.k, name, f"{total:.3f}", f"{100 * full:.2f} %", each)


def print_unbounded(session: clfrnn.Session, sizes: tuple[int, ...], ways: dict[str, Any]) -> None:
    """The table of searches without a radius, points on the device; times in kernels where the device tells them."""
    say(session, "milliseconds on the wall clock, and in kernels")
    head("cloud", "k:", "way", "clfrnn.nearest:", "in kernels:", "searches:")
    timing = profiled(session.device)
    for task in tasks(timing, sizes):
        host = task.points.get()
        points = cla.to_device(session.queue, host)
        for name, (method, numbers) in ways.items():
            plain, timed_one = (each.with_tuning(each.tuning.but(**numbers)) for each in (session, timing))

            def step(points: Any, own: clfrnn.Session, k: int = task.k, method: str = method) -> None:
                clfrnn.nearest(points, k, method=method, session=own)
                own.queue.finish()

            taken = wall(lambda: step(points, plain))  # noqa: B023 — called at once
            step(task.points, timed_one)
            with timed_one.recorded() as launches:
                step(task.points, timed_one)
            spent = sum(1e-6 * (event.profile.end - event.profile.start) for _, event in launches)
            searches = 1 + sum(launch == "take_short_rows" for launch, _ in launches)
            row(task.name, task.k, name, f"{taken:.2f}", f"{spent:.2f}", searches)


def print_beside_scipy(session: clfrnn.Session) -> None:
    """The table beside scipy, from points in host memory to results in host memory."""
    from scipy.spatial import cKDTree  # noqa: PLC0415 — scipy is optional

    say(session, "milliseconds on the wall clock", f"{PEER_POINTS:,} points, k={PEER_K}")
    head("cloud", "clfrnn.nearest:", "cKDTree.query, workers=2:", "ratio:")
    for name in KINDS:
        points = CLOUDS[name](PEER_POINTS)
        tree = cKDTree(points)

        def ours(points: Any = points) -> object:
            return clfrnn.nearest(points, PEER_K, session=session).to_host()

        def theirs(points: Any = points, tree: Any = tree) -> object:
            return tree.query(points, PEER_K + 1, workers=2)

        mine, other = wall(ours), wall(theirs)
        row(name, f"{mine:.1f}", f"{other:.1f}", f"{other / mine:.1f}")


@command
@click.option("--small", is_flag=True, help="The clouds for CPUs.")
@click.option("--points", type=int, help="Clouds of this size alone.")
@click.option("--kernels", "by_kernel", is_flag=True, help="Every way of finding them, one beside the other.")
@click.option("--unbounded", is_flag=True, help="Searches without a radius.")
@click.option("--scipy", "beside", is_flag=True, help="Beside scipy's cKDTree.")
def main(
    *, device: str | None, small: bool, points: int | None, by_kernel: bool, unbounded: bool, beside: bool
) -> None:
    """Measure, and print a Markdown table."""
    sizes = (points,) if points else SMALL if small else LARGE
    if beside:
        print_beside_scipy(clfrnn.Session(device))
    elif unbounded:
        print_unbounded(clfrnn.Session(device), sizes, UNBOUNDED)
    else:
        print_steps(profiled(device), sizes, WAYS if by_kernel else {"as planned": WAYS["as planned"]})


if __name__ == "__main__":
    main()
