"""Geometry of point clouds: from points on the device to results there, at the sizes of the AABB paper (§5.2).

Milliseconds on the wall clock, the medians of some calls that are waited for, and in kernels; with ``--kernels`` also
the time of each kernel. The clouds are even points of a torus with a little noise, which stand for the paper's statues.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import click
import numpy as np
import pyopencl.array as cla

import clfrnn
from clfrnn.errors import ClfrnnError
from clfrnn.geometry import distance_field, normals, smooth, wlop

from .benchmarks.common import profiled
from .cluster import wall
from .provenance import say

#: how many times fewer points and nodes ``--small`` takes
SMALLER = 20


def torus(n: int, seed: int = 0) -> tuple[Any, Any]:
    """Even points of a torus of radii 1 and 0.4, with noise of a thousandth, and its normals."""
    rng = np.random.default_rng(seed)
    around = np.empty(0)
    while len(around) < n:  # the outside has more area than the inside
        angle = rng.uniform(0, 2 * np.pi, 2 * n)
        around = np.append(around, angle[rng.random(2 * n) < (1 + 0.4 * np.cos(angle)) / 1.4])[:n]
    along = rng.uniform(0, 2 * np.pi, n)
    ring = np.stack([np.cos(along), np.sin(along), np.zeros(n)], axis=1)
    away = np.cos(around)[:, None] * ring + np.sin(around)[:, None] * np.float64([0, 0, 1])
    return (ring + rng.normal(0.4, 0.001, (n, 1)) * away).astype(np.float32), away.astype(np.float32)


def reach(n: int, many: float) -> float:
    """The radius of a ball on the torus with about so many points."""
    return float(np.sqrt(many * 4 * np.pi**2 * 0.4 / (np.pi * n)))


#: what is measured: number of points, and a call of it by points, normals, the share of nodes, and session
WORK: dict[str, tuple[int, Callable[[Any, Any, int, Any], Any]]] = {
    "normals, 30 neighbors": (1_000_000, lambda p, _, __, s: normals(p, reach(len(p), 30), session=s)),
    "smooth, 30 neighbors, 30 iterations": (
        889_000,
        lambda p, _, __, s: smooth(p, reach(len(p), 30), iterations=30, session=s),
    ),
    "wlop, 20,000 particles, 100 iterations": (
        137_000,
        lambda p, _, less, s: wlop(p, 20_000 // less, reach(20_000 // less, 25 * np.pi), seed=0, session=s),
    ),
    "distance field, 257³ nodes, r = 4 w": (
        731_000,
        lambda p, up, less, s: field(p, up, round(256 / less ** (1 / 3)), s).values,
    ),
}


def field(points: Any, toward: Any, cells: int, session: Any) -> Any:
    """The distance field of the torus, with that many cells along each axis."""
    width = 3 / cells
    bounds = [[-1.5] * 3, [1.5] * 3]
    return distance_field(points, toward, spacing=width, radius=4 * width, bounds=bounds, session=session)


def print_geometry(session: clfrnn.Session, less: int, *, by_kernel: bool) -> None:
    """The table of all of them."""
    say(session, "milliseconds on the wall clock, and in kernels", f"sizes over {less}" if less > 1 else "")
    click.echo(f"| what | points | wall | in kernels |{' of these |' * by_kernel}")
    click.echo(f"|---|---:|---:|---:|{'---|' * by_kernel}")
    timing = profiled(session.device)
    for what, (n, call) in WORK.items():
        host = torus(n // less)
        points, toward = (cla.to_device(session.queue, each) for each in host)

        def measured() -> None:
            call(points, toward, less, session)  # noqa: B023 — called at once
            session.queue.finish()

        taken = wall(measured)
        points, toward = (cla.to_device(timing.queue, each) for each in host)
        call(points, toward, less, timing)
        with timing.recorded() as launches:
            call(points, toward, less, timing)
        timing.queue.finish()
        each: Counter[str] = Counter()
        for kernel, event in launches:
            each[kernel] += 1e-6 * (event.profile.end - event.profile.start)
        row = f"| {what} | {n // less:,} | {taken:.2f} | {each.total():.2f} |"
        shown = ", ".join(f"{kernel} {spent:.3f}" for kernel, spent in each.most_common())
        click.echo(f"{row} {shown} |" if by_kernel else row)


@click.command()
@click.option("--device", help="As for `clfrnn search`.")
@click.option("--small", is_flag=True, help="The sizes for CPUs.")
@click.option("--kernels", "by_kernel", is_flag=True, help="The time of each kernel as well.")
def main(*, device: str | None, small: bool, by_kernel: bool) -> None:
    """Measure, and print a Markdown table."""
    try:
        print_geometry(clfrnn.Session(device), SMALLER if small else 1, by_kernel=by_kernel)
    except ClfrnnError as error:
        raise click.ClickException(str(error)) from error


if __name__ == "__main__":
    main()
