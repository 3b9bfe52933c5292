"""The figures that "auto" rests on: strips beside fenns over even clouds, and what "auto" takes.

Update + count and update + lists in device time, milliseconds: the last event's end minus the first event's start, the
median of 10 steps after warm-up. The radius follows from how many neighbors a point shall have.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import click
import numpy as np
import pyopencl.array as cla

import clfrnn
from clfrnn.errors import ClfrnnError

from .benchmarks.common import profiled, timed

STEPS = 10
METHODS = ("strips", "fenns")


class Cloud(NamedTuple):
    """An even cloud in the unit square or cube, by what decides how long a search of it takes."""

    n: int
    dim: int
    dtype: str
    periodic: bool
    neighbors: float

    def __str__(self) -> str:
        kind = f"{self.dim}D{', periodic' if self.periodic else ''}{', float64' if self.dtype == 'float64' else ''}"
        return f"{self.n:,} | {kind} | {self.neighbors:g}"

    def search(self) -> tuple[np.ndarray[Any, Any], float, dict[str, Any]]:
        """The points, the radius, and the domain."""
        points = np.random.default_rng(0).random((self.n, self.dim)).astype(self.dtype)
        ball = math.pi ** (self.dim / 2) / math.gamma(self.dim / 2 + 1)
        radius = (self.neighbors / (ball * self.n)) ** (1 / self.dim)
        return points, radius, {"box": (1.0,) * self.dim, "periodic": True} if self.periodic else {}


def clouds(sizes: tuple[int, ...], neighbors: tuple[float, ...]) -> Iterator[Cloud]:
    """Every size with every kind of cloud and number of neighbors."""
    kinds = [
        (3, "float32", False),
        (2, "float32", False),
        (3, "float32", True),
        (2, "float32", True),
        (3, "float64", False),
    ]
    for n, kind, each in itertools.product(sizes, kinds, neighbors):
        yield Cloud(n, *kind, each)


def measure(session: clfrnn.Session, cloud: Cloud) -> tuple[list[float], str]:
    """Update + count by both methods, update + lists by both, and what "auto" takes."""
    points, radius, domain = cloud.search()
    on_device = cla.to_device(session.queue, points)
    indexes = [clfrnn.build_index(on_device, radius, method=method, session=session, **domain) for method in METHODS]
    pairs = {int(index.count().get().sum(dtype=np.int64)) for index in indexes}
    assert len(pairs) == 1, "both find the same"

    def step(index: clfrnn.Index, *, lists: bool) -> object:
        index.update(on_device)
        return index.query() if lists else index.count()

    times = [
        1e3 * timed(session, lambda index=index, lists=lists: step(index, lists=lists), STEPS).span
        for lists in (False, True)
        for index in indexes
    ]
    chosen = clfrnn.build_index(on_device, radius, session=session, **domain).method
    return times, chosen


@click.command()
@click.option("--device", help="As for `clfrnn search`.")
@click.option("--points", "sizes", multiple=True, type=int, default=(1 << 16, 1 << 18, 1 << 20, 1 << 22))
@click.option("--neighbors", multiple=True, type=float, default=(0.5, 3.0, 10.0, 25.0))
def main(device: str | None, sizes: tuple[int, ...], neighbors: tuple[float, ...]) -> None:
    """Measure, and print a Markdown table."""
    try:
        session = profiled(device)
    except ClfrnnError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"clfrnn {clfrnn.__version__}, {session.profile}\n")
    click.echo("| points | | neighbors | counts: strips | fenns | | lists: strips | fenns | | auto |")
    click.echo("|---:|---|---:|---:|---:|---:|---:|---:|---:|---|")
    for cloud in clouds(sizes, neighbors):
        if cloud.dtype == "float64" and not session.profile.fp64:
            continue
        (strips, fenns, strips_lists, fenns_lists), chosen = measure(session, cloud)
        click.echo(
            f"| {cloud} | {strips:.3f} | {fenns:.3f} | {fenns / strips:.2f} x "
            f"| {strips_lists:.3f} | {fenns_lists:.3f} | {fenns_lists / strips_lists:.2f} x | {chosen} |"
        )


if __name__ == "__main__":
    main()
