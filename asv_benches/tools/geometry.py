"""Normals of point clouds: from points on the device to normals there, of points on a knot.

Milliseconds on the wall clock, the medians of some calls that are waited for, and in kernels; with ``--kernels`` also
the time of each kernel. Smoothing, WLOP and distance fields are measured by ``python -m asv_benches.papers
coherent-aabb``.
"""

from __future__ import annotations

import click
import pyopencl.array as cla

import clfrnn
from clfrnn.geometry import normals

from ..benchmarks.common import profiled
from ..papers.coherent_aabb.scenes import radius_of
from ..papers.shapes import sampled
from .clocks import kernels, wall
from .tables import command, head, row, say

#: numbers of points on a GPU and on a CPU
LARGE, SMALL = 1_000_000, 50_000

#: neighbors in the balls whose points tell where the normal is, about
NEIGHBORS = (30, 100)


def print_normals(session: clfrnn.Session, n: int, *, by_kernel: bool) -> None:
    """The table of all numbers of neighbors."""
    say(session, "milliseconds on the wall clock, and in kernels", f"{n:,} points")
    head("neighbors:", "wall:", "in kernels:", *["of these"] * by_kernel)
    timing, host = profiled(session.device), sampled("knot", n, noise=3e-4).points
    for neighbors in NEIGHBORS:
        radius, points = radius_of(host, neighbors), cla.to_device(session.queue, host)

        def measured() -> None:
            normals(points, radius, session=session)  # noqa: B023 — called at once
            session.queue.finish()

        taken, points = wall(measured), cla.to_device(timing.queue, host)
        each = kernels(timing, lambda: normals(points, radius, session=timing))  # noqa: B023 — called at once
        shown = ", ".join(f"{kernel} {spent:.3f}" for kernel, spent in each.items())
        row(neighbors, f"{taken:.2f}", f"{sum(each.values()):.2f}", *[shown] * by_kernel)


@command
@click.option("--small", is_flag=True, help="Fewer points, for CPUs.")
@click.option("--kernels", "by_kernel", is_flag=True, help="The time of each kernel as well.")
def main(*, device: str | None, small: bool, by_kernel: bool) -> None:
    """Measure, and print a Markdown table."""
    print_normals(clfrnn.Session(device), SMALL if small else LARGE, by_kernel=by_kernel)


if __name__ == "__main__":
    main()
