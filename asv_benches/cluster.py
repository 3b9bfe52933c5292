"""Clusters: friends of friends and DBSCAN, from points on the device to labels there, for even clouds and for crowds.

Milliseconds on the wall clock and in kernels, the medians of some calls that are waited for, with a linking length of a
fifth of the mean spacing, as catalogues of halos take it, and 5 points that make one core. With ``--kernels`` also the
time of each kernel; with ``--scikit-learn``, wall times beside ``sklearn.cluster.DBSCAN``.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable

import click
import pyopencl.array as cla

import clfrnn
from clfrnn.cluster import Clusters, dbscan, friends_of_friends

from .benchmarks.common import profiled
from .tools.clocks import kernels, wall
from .tools.clouds import CLOUDS, CROWDS
from .tools.tables import command, head, row, say

#: numbers of points on a GPU and on a CPU
LARGE, SMALL = (1_000_000, 10_000_000, 36_900_000), (1_000_000,)

#: the linking length over the mean spacing, and the points within it that make one core
LINK, CORE = 0.2, 5

#: what is measured: points, length and session go in
SEARCHES: dict[str, Callable[..., Clusters]] = {
    "friends_of_friends": friends_of_friends,
    "dbscan": functools.partial(dbscan, min_samples=CORE),
}


def print_clusters(session: clfrnn.Session, sizes: tuple[int, ...], *, by_kernel: bool) -> None:
    """The table of both searches."""
    say(session, "milliseconds on the wall clock, and in kernels")
    head("cloud", "search", "clusters:", "wall:", "in kernels:", *["of these"] * by_kernel)
    timing = profiled(session.device)
    for n in sizes:
        for name, make in {**CLOUDS, **CROWDS}.items():
            host, length = make(n), LINK * n ** (-1 / 3)
            for search, find in SEARCHES.items():
                ours = functools.partial(find, cla.to_device(session.queue, host), length, session=session)
                taken = wall(lambda: ours().num_clusters)  # noqa: B023 — called at once
                found = ours().num_clusters
                timed = functools.partial(find, cla.to_device(timing.queue, host), length, session=timing)
                each = kernels(timing, timed)
                shown = ", ".join(f"{kernel} {spent:.3f}" for kernel, spent in each.items())
                cells = [f"{found:,}", f"{taken:.2f}", f"{sum(each.values()):.2f}", *[shown] * by_kernel]
                row(f"{name}, {n:,}", f"`{search}`", *cells)


def print_beside_scikit_learn(session: clfrnn.Session, n: int) -> None:
    """The table beside scikit-learn, from points in host memory to labels in host memory."""
    from sklearn.cluster import DBSCAN  # noqa: PLC0415 — scikit-learn is optional

    say(session, "milliseconds on the wall clock", f"{n:,} points, min_samples={CORE}")
    head("cloud", "eps in spacings:", "`dbscan`:", "`DBSCAN`, n_jobs=2:", "ratio:", "labels that differ:")
    for name, make in CLOUDS.items():
        for reach in (LINK, 1.0) if name == "even" else (LINK,):
            points, eps = make(n), reach * n ** (-1 / 3)
            ours = functools.partial(dbscan, points, eps, CORE, session=session)
            mine = wall(lambda: ours().to_host(), 3)  # noqa: B023 — called at once
            started = time.perf_counter()
            theirs = DBSCAN(eps=eps, min_samples=CORE, n_jobs=2).fit(points)
            other = 1e3 * (time.perf_counter() - started)
            differ = int((ours().labels.get() != theirs.labels_).sum())
            row(name, reach, f"{mine:.0f}", f"{other:.0f}", f"{other / mine:.0f}", differ)


@command
@click.option("--small", is_flag=True, help="The clouds for CPUs.")
@click.option("--points", type=int, help="Clouds of this size alone.")
@click.option("--kernels", "by_kernel", is_flag=True, help="The time of each kernel as well.")
@click.option("--scikit-learn", "beside", is_flag=True, help="Beside scikit-learn's DBSCAN.")
def main(*, device: str | None, small: bool, points: int | None, by_kernel: bool, beside: bool) -> None:
    """Measure, and print a Markdown table."""
    session = clfrnn.Session(device)
    if beside:
        print_beside_scikit_learn(session, points or SMALL[0])
    else:
        print_clusters(session, (points,) if points else SMALL if small else LARGE, by_kernel=by_kernel)


if __name__ == "__main__":
    main()
