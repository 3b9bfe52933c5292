"""Normals of point clouds: from points on the device to normals there, of points on a knot.

Milliseconds on the wall clock, the medians of some calls that are waited for, and in kernels; with ``--kernels`` also
the time of each kernel. Smoothing, WLOP and distance fields are measured by ``python -m asv_benches.papers
coherent-aabb``.
"""

from __future__ import annotations

from collections import Counter

import click
import numpy as np
import pyopencl.array as cla

import clfrnn
from clfrnn.errors import ClfrnnError
from clfrnn.geometry import normals

from .benchmarks.common import profiled
from .cluster import wall
from .papers.shapes import sampled
from .provenance import say

#: numbers of points on a GPU and on a CPU
LARGE, SMALL = 1_000_000, 50_000

#: neighbors in the balls whose points tell where the normal is, about
NEIGHBORS = (30, 100)


def reach(points: np.ndarray, neighbors: int) -> float:
    """The radius of a ball with about so many points, by the balls of some of them."""
    some = np.random.default_rng(1).choice(len(points), 64, replace=False)
    squares = [np.partition(((points - points[one]) ** 2).sum(axis=1), neighbors)[neighbors] for one in some]
    return float(np.sqrt(np.median(squares)))


def print_normals(session: clfrnn.Session, n: int, *, by_kernel: bool) -> None:
    """The table of all numbers of neighbors."""
    say(session, "milliseconds on the wall clock, and in kernels", f"{n:,} points")
    click.echo(f"| neighbors | wall | in kernels |{' of these |' * by_kernel}")
    click.echo(f"|---:|---:|---:|{'---|' * by_kernel}")
    timing, host = profiled(session.device), sampled("knot", n, noise=3e-4).points
    for neighbors in NEIGHBORS:
        radius, points = reach(host, neighbors), cla.to_device(session.queue, host)

        def measured() -> None:
            normals(points, radius, session=session)  # noqa: B023 — called at once
            session.queue.finish()

        taken, points = wall(measured), cla.to_device(timing.queue, host)
        normals(points, radius, session=timing)
        with timing.recorded() as launches:
            normals(points, radius, session=timing)
        timing.queue.finish()
        each: Counter[str] = Counter()
        for kernel, event in launches:
            each[kernel] += 1e-6 * (event.profile.end - event.profile.start)
        row = f"| {neighbors} | {taken:.2f} | {each.total():.2f} |"
        shown = ", ".join(f"{kernel} {spent:.3f}" for kernel, spent in each.most_common())
        click.echo(f"{row} {shown} |" if by_kernel else row)


@click.command()
@click.option("--device", help="As for `clfrnn search`.")
@click.option("--small", is_flag=True, help="Fewer points, for CPUs.")
@click.option("--kernels", "by_kernel", is_flag=True, help="The time of each kernel as well.")
def main(*, device: str | None, small: bool, by_kernel: bool) -> None:
    """Measure, and print a Markdown table."""
    try:
        print_normals(clfrnn.Session(device), SMALL if small else LARGE, by_kernel=by_kernel)
    except ClfrnnError as error:
        raise click.ClickException(str(error)) from error


if __name__ == "__main__":
    main()
