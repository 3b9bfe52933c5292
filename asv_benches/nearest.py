"""The k nearest neighbors: times in kernels of an update with them, for even clouds and for clouds with halos.

Milliseconds in kernels, the median of some steps, of the points themselves without each point itself, within the radius
that :func:`clfrnn.nearest` begins with. With ``--kernels``, what other ways of finding them take, one beside the other;
with ``--unbounded``, the wall time of :func:`clfrnn.nearest` without a radius; with ``--scipy``, that beside
``scipy.spatial.cKDTree`` with two workers, its construction included. With ``--crowds``, the last two search halos of
many widths, a speck, points with a stray, and coincident points.
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
from .tools.clouds import CLOUDS, CROWDS
from .tools.tables import command, head, row, say

#: numbers of neighbors
KS = (8, 16, 30)

#: numbers of points on a GPU and on a CPU
LARGE, SMALL = (1_000_000, 10_000_000), (65_536, 262_144)

#: steps that took so many seconds together are enough
ENOUGH = 1.0

#: the clouds by name
Kinds = dict[str, Callable[[int], Any]]
KINDS: Kinds = {name: CLOUDS[name] for name in ("even", "halos")}

#: points of the comparison with scipy, and k
PEER_POINTS, PEER_K = 262_144, 16

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
    """A cloud on the device, and k."""

    name: str
    points: Any
    k: int


def tasks(session: clfrnn.Session, sizes: tuple[int, ...], kinds: Kinds) -> Iterator[Task]:
    """Every cloud with every k."""
    for n in sizes:
        for name, make in kinds.items():
            points = cla.to_device(session.queue, make(n))
            yield from (Task(f"{name}, {n:,}", points, k) for k in KS)


def reach_of(session: clfrnn.Session, task: Task) -> float:
    """The radius that a search for the k nearest of a cloud begins with."""
    low, high = (each.tolist() for each in clfrnn.bounds(task.points, session=session))
    n = task.points.shape[0]
    reach = first_reach(session.tuning, n=n, k=task.k, low=low, high=high, lengths=(0.0,) * 3)
    assert reach is not None, "there are enough points"
    return reach


def kernels_of(
    session: clfrnn.Session, task: Task, find: Callable[[clfrnn.Index, int], object]
) -> tuple[float, float, str]:
    """Milliseconds in kernels of an update with the nearest, the share of full rows, and the times by kernel."""
    index = clfrnn.build_index(task.points, reach_of(session, task), session=session)
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
    for task in tasks(session, sizes, KINDS):
        for name, (find, numbers) in ways.items():
            try:
                total, full, each = kernels_of(session.with_tuning(session.tuning.but(**numbers)), task, find)
            except ClfrnnError as error:
                row(task.name, task.k, name, type(error).__name__, "", "")
                continue
            row(task.name, task.k, name, f"{total:.3f}", f"{100 * full:.2f} %", each)


def print_unbounded(session: clfrnn.Session, sizes: tuple[int, ...], ways: dict[str, Any], kinds: Kinds) -> None:
    """The table of searches without a radius, points on the device; times in kernels where the device tells them."""
    say(session, "milliseconds on the wall clock, and in kernels")
    head("cloud", "k:", "way", "clfrnn.nearest:", "in kernels:", "searches:")
    timing = profiled(session.device)
    for task in tasks(timing, sizes, kinds):
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


def print_beside_scipy(session: clfrnn.Session, kinds: Kinds) -> None:
    """The table beside scipy, from points in host memory to results in host memory."""
    from scipy.spatial import cKDTree  # noqa: PLC0415 — scipy is optional

    say(session, "milliseconds on the wall clock", f"{PEER_POINTS:,} points, k={PEER_K}")
    head("cloud", "clfrnn.nearest:", "cKDTree.query, workers=2:", "ratio:")
    for name, make in kinds.items():
        points = make(PEER_POINTS)
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
@click.option("--crowds", is_flag=True, help="With --unbounded or --scipy: clouds that are far from even.")
def main(*, device: str | None, small: bool, points: int | None, crowds: bool, **ways: bool) -> None:
    """Measure, and print a Markdown table."""
    sizes, kinds = (points,) if points else SMALL if small else LARGE, CROWDS if crowds else KINDS
    if ways["beside"]:
        print_beside_scipy(clfrnn.Session(device), kinds)
    elif ways["unbounded"] or crowds:
        planned = {"as planned": UNBOUNDED["as planned"]}
        print_unbounded(clfrnn.Session(device), sizes, planned if crowds else UNBOUNDED, kinds)
    else:
        print_steps(profiled(device), sizes, WAYS if ways["by_kernel"] else {"as planned": WAYS["as planned"]})


if __name__ == "__main__":
    main()
