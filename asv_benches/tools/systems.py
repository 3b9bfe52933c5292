"""Many systems of 64 points each, beside one system with as many points of the same density, by `strips`.

Milliseconds in kernels of an update with a count or a list. The points of many systems come system by system, or in
random order. Boxes repeat, or there are none; then points at the faces of a system have fewer neighbors.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import click
import numpy as np
import pyopencl.array as cla

import clfrnn

from ..benchmarks.batches import OF_SYSTEM
from ..benchmarks.common import profiled, uniform_radius
from .clocks import milliseconds
from .tables import command, head, row, say

#: points on a GPU and on a CPU
LARGE, SMALL = 262_144, 65_536

#: whether boxes repeat, and about how many neighbors a point has in them
ROWS = ((True, 12), (True, 30), (False, 12))

#: No more steps are timed once some have taken so many seconds.
ENOUGH = 2.0


class Cloud(NamedTuple):
    """Points, a radius, and the systems and boxes that an index of them is given."""

    points: np.ndarray[Any, Any]
    radius: float
    given: dict[str, Any]


def clouds(n: int, neighbors: int, *, periodic: bool) -> Iterator[Cloud]:
    """One system, many whose points come in order, and many whose points come in random order."""
    draw, many = np.random.default_rng(0), n // OF_SYSTEM
    points = draw.random((many * OF_SYSTEM, 3), dtype=np.float32)
    yield Cloud(points, uniform_radius(len(points), neighbors), {"box": np.ones(3)} if periodic else {})
    batch = np.repeat(np.arange(many), OF_SYSTEM)
    boxes = {"box": np.ones((many, 3))} if periodic else {}
    for order in (slice(None), draw.permutation(len(points))):
        yield Cloud(points[order], uniform_radius(OF_SYSTEM, neighbors), {"batch": batch[order], **boxes})


def step_times(session: clfrnn.Session, cloud: Cloud) -> tuple[float, float, float]:
    """Milliseconds of an update with a count and with a list, and the neighbors of a point in the mean."""
    points = cla.to_device(session.queue, cloud.points)
    index = clfrnn.build_index(points, cloud.radius, method="strips", session=session, **cloud.given)

    def counted() -> object:
        index.update(points)
        return index.count()

    def listed() -> object:
        index.update(points)
        return index.query()

    count, lists = (milliseconds(session, step, ENOUGH).kernels for step in (counted, listed))
    return count, lists, float(index.count().get().mean())


@command
@click.option("--points", "n", type=click.IntRange(min=OF_SYSTEM), help=f"By default {LARGE:,}; on a CPU {SMALL:,}.")
def main(*, device: str | None, n: int | None) -> None:
    """Measure, and print a Markdown table."""
    session = profiled(device)
    n = n or (LARGE if session.profile.kind == "gpu" else SMALL)
    say(session, f"{n:,} points, {n // OF_SYSTEM:,} systems", "milliseconds in kernels")
    head("systems", "neighbors in one:", "in many:", "step", "one system:", "many systems:", "in random order:")
    for periodic, neighbors in ROWS:
        one, ordered, mixed = (step_times(session, cloud) for cloud in clouds(n, neighbors, periodic=periodic))
        for k, step in enumerate(("count", "list")):
            row(
                "periodic" if periodic else "open",
                f"{one[2]:.0f}",
                f"{ordered[2]:.0f}",
                step,
                *(f"{each[k]:.3f}" for each in (one, ordered, mixed)),
            )


if __name__ == "__main__":
    main()
