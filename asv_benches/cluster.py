"""Clusters: friends of friends and DBSCAN, from points on the device to labels there, for even clouds and for halos.

Milliseconds on the wall clock and in kernels, the medians of some calls that are waited for, with a linking length of a
fifth of the mean spacing, as catalogues of halos take it, and 5 points that make one core. With ``--kernels`` also the
time of each kernel; with ``--scikit-learn``, wall times beside ``sklearn.cluster.DBSCAN``.
"""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Callable
from typing import Any

import click
import numpy as np
import pyopencl.array as cla

import clfrnn
from clfrnn.cluster import Clusters, dbscan, friends_of_friends
from clfrnn.errors import ClfrnnError

from .benchmarks.common import profiled
from .nearest import halos
from .provenance import say

#: numbers of points on a GPU and on a CPU
LARGE, SMALL = (1_000_000, 10_000_000, 36_900_000), (1_000_000,)

#: the linking length over the mean spacing, and the points within it that make one core
LINK, CORE = 0.2, 5

#: calls that are measured, and the seconds after which three are enough
CALLS, ENOUGH = 15, 3.0


def universe(n: int, *, seed: int = 0) -> Any:
    """Half of the points even in the unit cube, half in halos of 20 and more with 200 times the mean density."""
    rng = np.random.default_rng(seed)
    sizes = np.minimum(20 + 20 * rng.pareto(0.9, n // 40 + 1), min(2e4, n / 50)).astype(int)
    sizes = sizes[: np.searchsorted(np.cumsum(sizes), n // 2) + 1]
    which = np.repeat(np.arange(len(sizes)), sizes)[: n // 2]
    radii = np.cbrt(3 * sizes / (800 * np.pi * n))
    away = rng.standard_normal((len(which), 3))
    away *= (radii[which] * rng.random(len(which)) / np.linalg.norm(away, axis=1))[:, None]
    crowded = (rng.random((len(sizes), 3))[which] + away) % 1
    return rng.permutation(np.concatenate([rng.random((n - len(which), 3)), crowded])).astype(np.float32)


#: clouds by name
CLOUDS: dict[str, Callable[[int], Any]] = {
    "even": lambda n: np.random.default_rng(0).random((n, 3), dtype=np.float32),
    "halos": halos,
    "universe": universe,
}

#: what is measured: points, length and session go in
SEARCHES: dict[str, Callable[..., Clusters]] = {
    "friends_of_friends": friends_of_friends,
    "dbscan": functools.partial(dbscan, min_samples=CORE),
}


def wall(step: Callable[[], object], repeats: int = CALLS) -> float:
    """The median wall time of a step in milliseconds, after two that compile and fill the pool."""
    step()
    step()
    times: list[float] = []
    while len(times) < repeats and (len(times) < 3 or sum(times) < 1e3 * ENOUGH):
        started = time.perf_counter()
        step()
        times.append(1e3 * (time.perf_counter() - started))
    return statistics.median(times)


def print_clusters(session: clfrnn.Session, sizes: tuple[int, ...], *, by_kernel: bool) -> None:
    """The table of both searches."""
    say(session, "milliseconds on the wall clock, and in kernels")
    click.echo(f"| cloud | search | clusters | wall | in kernels |{' of these |' * by_kernel}")
    click.echo(f"|---|---|---:|---:|---:|{'---|' * by_kernel}")
    timing = profiled(session.device)
    for n in sizes:
        for name, make in CLOUDS.items():
            host, length = make(n), LINK * n ** (-1 / 3)
            for search, find in SEARCHES.items():
                points = cla.to_device(session.queue, host)
                taken = wall(lambda: find(points, length, session=session).num_clusters)  # noqa: B023 — called at once
                points = cla.to_device(timing.queue, host)
                find(points, length, session=timing)
                with timing.recorded() as launches:
                    found = find(points, length, session=timing)
                timing.queue.finish()
                each = [(kernel, 1e-6 * (event.profile.end - event.profile.start)) for kernel, event in launches]
                row = f"| {name}, {n:,} | `{search}` | {found.num_clusters:,} | {taken:.2f} "
                row += f"| {sum(spent for _, spent in each):.2f} |"
                shown = ", ".join(f"{kernel} {spent:.3f}" for kernel, spent in each)
                click.echo(f"{row} {shown} |" if by_kernel else row)


def print_beside_scikit_learn(session: clfrnn.Session, n: int) -> None:
    """The table beside scikit-learn, from points in host memory to labels in host memory."""
    from sklearn.cluster import DBSCAN  # noqa: PLC0415 — scikit-learn is optional

    say(session, "milliseconds on the wall clock", f"{n:,} points, min_samples={CORE}")
    click.echo("| cloud | eps in spacings | `dbscan` | `DBSCAN`, n_jobs=2 | ratio | labels that differ |")
    click.echo("|---|---:|---:|---:|---:|---:|")
    for name, make in CLOUDS.items():
        for reach in (LINK, 1.0) if name == "even" else (LINK,):
            points, eps = make(n), reach * n ** (-1 / 3)
            ours = functools.partial(dbscan, points, eps, CORE, session=session)
            mine = wall(lambda: ours().to_host(), 3)  # noqa: B023 — called at once
            labels = ours().labels.get()
            started = time.perf_counter()
            theirs = DBSCAN(eps=eps, min_samples=CORE, n_jobs=2).fit(points)
            other = 1e3 * (time.perf_counter() - started)
            differ = int((labels != theirs.labels_).sum())
            click.echo(f"| {name} | {reach} | {mine:.0f} | {other:.0f} | {other / mine:.0f} | {differ} |")


@click.command()
@click.option("--device", help="As for `clfrnn search`.")
@click.option("--small", is_flag=True, help="The clouds for CPUs.")
@click.option("--points", type=int, help="Clouds of this size alone.")
@click.option("--kernels", "by_kernel", is_flag=True, help="The time of each kernel as well.")
@click.option("--scikit-learn", "beside", is_flag=True, help="Beside scikit-learn's DBSCAN.")
def main(*, device: str | None, small: bool, points: int | None, by_kernel: bool, beside: bool) -> None:
    """Measure, and print a Markdown table."""
    sizes = (points,) if points else SMALL if small else LARGE
    try:
        session = clfrnn.Session(device)
        if beside:
            print_beside_scikit_learn(session, points or SMALL[0])
        else:
            print_clusters(session, sizes, by_kernel=by_kernel)
    except ClfrnnError as error:
        raise click.ClickException(str(error)) from error


if __name__ == "__main__":
    main()
