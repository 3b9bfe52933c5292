"""The figures of docs/guides/models/index.md: what a step of each model takes, on the device and in a loop.

Time in kernels is the median of 25 steps. A loop is waited for at its end, in a session as users have it; its time is
the least of three. Both begin when a model has run for some steps, as written in its row.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

import click

import clfrnn
from clfrnn.models import Boids, Circles, Fluid, Keratinocytes, Model, Pedestrians, Spheres

from .benchmarks.common import device_seconds, profiled
from .benchmarks.flock import GATHERING, NEIGHBORS
from .benchmarks.models import SETTLING
from .tools.tables import command, head, row, say

#: Steps of a loop.
LAP = 100

#: The methods that the AABB paper's simulation is compared by.
METHODS = ("strips", "uniform_grid", "aabb_tree")


class Row(NamedTuple):
    """A model: its name, what makes it in a session, and the steps after which it is timed."""

    name: str
    make: Callable[..., Model]
    settled: int = SETTLING

    def settled_in(self, session: clfrnn.Session) -> Model:
        """The model when it has run for these steps."""
        model = self.make(session=session)
        model.step(self.settled)
        session.queue.finish()
        return model


def _large() -> list[Row]:
    """As many particles as in the papers, and spheres at rest."""
    flock = functools.partial(Boids, 262_144, neighbors=NEIGHBORS)
    return [
        Row("Spheres", functools.partial(Spheres, 65_536)),
        Row("Spheres", functools.partial(Spheres, 65_536), 1_000),
        Row("Spheres", functools.partial(Spheres, 1_000_000), 1_000),
        Row("Boids", flock, 20),
        Row("Boids", flock, GATHERING),
        *(Row(f"Fluid in 3D, {method}", functools.partial(Fluid, 250_000, dim=3, method=method)) for method in METHODS),
        Row("Fluid in 2D", functools.partial(Fluid, 250_000, dim=2)),
        Row("Pedestrians", functools.partial(Pedestrians, 16_384)),
        Row("Keratinocytes", functools.partial(Keratinocytes, 25_000)),
    ]


def _small(n: int) -> list[Row]:
    """As many particles of each as a CPU moves well."""
    named: dict[str, Callable[..., Model]] = {
        "Circles": functools.partial(Circles, n, 20),
        "Spheres": functools.partial(Spheres, n),
        "Boids": functools.partial(Boids, n),
        "Fluid in 2D": functools.partial(Fluid, n, dim=2),
        "Fluid in 3D": functools.partial(Fluid, n, dim=3),
        "Pedestrians": functools.partial(Pedestrians, n),
        "Keratinocytes": functools.partial(Keratinocytes, n),
    }
    return [Row(name, make, 20) for name, make in named.items()]


def in_a_loop(session: clfrnn.Session, made: Row, lap: int) -> float:
    """The milliseconds of a step in a loop."""
    model, taken = made.settled_in(session), []
    for _ in range(3):
        started = time.perf_counter()
        model.step(lap)
        session.queue.finish()
        taken.append(1e3 * (time.perf_counter() - started) / lap)
    return min(taken)


def print_models(session: clfrnn.Session, rows: Iterable[Row], lap: int) -> None:
    """The table."""
    plain = clfrnn.Session(session.device)
    say(session, "milliseconds of a step")
    head("model", "particles:", "after steps:", "neighbors:", "in kernels:", "in a loop:", "steps a second:")
    for each in rows:
        model = each.settled_in(session)
        device, loop = 1e3 * device_seconds(session, model.step), in_a_loop(plain, each, lap)
        cells = [_neighbors(model), f"{device:.3f}", f"{loop:.3f}", f"{1e3 / loop:,.0f}"]
        row(each.name, f"{len(model.positions):,}", f"{each.settled:,}", *cells)


def _neighbors(model: Model) -> str:
    """Neighbors of a particle in the mean, of models with one index."""
    index = getattr(model, "index", None)
    return f"{index.count().get().mean():.1f}" if index is not None else ""


@command
@click.option("--small", is_flag=True, help="20,000 particles of each model, for CPUs.")
def main(*, device: str | None, small: bool) -> None:
    """Measure, and print a Markdown table."""
    print_models(profiled(device), _small(20_000) if small else _large(), LAP)


if __name__ == "__main__":
    main()
