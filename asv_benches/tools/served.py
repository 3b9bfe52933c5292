"""Steps of the clfrnn that Python finds first, each done when a line of input names it: see ``versions.py``.

Nothing of this package is imported, as the other checkout may have another.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
import pyopencl as cl
import pyopencl.array as cla

import clfrnn

#: Steps that a line of input asks for, before which as many were done to warm up.
STEPS = 20

#: Uniform clouds in the unit cube: points, neighbors of each, and whether it is periodic.
CLOUDS = [
    (1 << 16, 3, False),
    (1 << 16, 47, False),
    (1 << 16, 3, True),
    (1 << 18, 3, False),
    (1 << 18, 48, False),
    (1 << 20, 3, False),
]


def steps(session: clfrnn.Session, scale: int) -> Iterator[tuple[str, Callable[[], object]]]:
    """An update with counts and one with lists, by name; of each cloud one point in `scale`."""
    for many, neighbors, periodic in CLOUDS:
        n = many // scale
        points = np.random.default_rng(0).random((n, 3), dtype=np.float32)
        radius = (neighbors / (n * 4 / 3 * np.pi)) ** (1 / 3)
        domain: dict[str, Any] = {"box": (1.0,) * 3, "periodic": True} if periodic else {}
        on_device = cla.to_device(session.queue, points)
        index = clfrnn.build_index(on_device, radius, session=session, **domain)

        def step(ask: str, index: clfrnn.Index = index, on_device: cla.Array = on_device) -> object:
            index.update(on_device)
            return getattr(index, ask)()

        name = f"{n:,}, {neighbors} neighbors{', periodic' if periodic else ''}"
        yield f"{name} | counts", lambda step=step: step("count")
        yield f"{name} | lists", lambda step=step: step("query")


def wall(session: clfrnn.Session, step: Callable[[], object], *, waited: bool = True) -> float:
    """Milliseconds of a step, the mean of some that are waited for one by one, or of which the last alone is."""
    session.queue.finish()
    started = time.perf_counter()
    for _ in range(STEPS):
        held = step()
        if waited:
            session.queue.finish()
            del held
    session.queue.finish()
    return 1e3 * (time.perf_counter() - started) / STEPS


def loop(session: clfrnn.Session, step: Callable[[], object]) -> float:
    """The same of a loop."""
    return wall(session, step, waited=False)


def span(session: clfrnn.Session, step: Callable[[], object]) -> float:
    """Milliseconds from the first launch's start to the last one's end, the median of some."""
    spans = []
    for _ in range(STEPS):
        with session.recorded() as launches:
            held = step()
        session.queue.finish()
        del held
        spans.append(1e-6 * (launches[-1][1].profile.end - launches[0][1].profile.start))
    return statistics.median(spans)


def main(device: str, scale: str) -> None:
    """Say whose steps there are, and which, then the time of each that is named."""
    plain = clfrnn.Session(device or None)
    clocks = [(wall, plain), (loop, plain)]
    if plain.device.profiling_timer_resolution:
        properties = cl.command_queue_properties.PROFILING_ENABLE
        clocks.append((span, clfrnn.Session(cl.CommandQueue(plain.context, plain.device, properties))))
    known = {}
    for clock, session in clocks:
        for name, step in steps(session, int(scale)):
            known[f"{name} | {clock.__name__}"] = (clock, session, step)
            clock(session, step)
    click.echo(f"{Path(clfrnn.__file__).parent}\t{plain.profile}")
    click.echo("\t".join(known))
    for line in sys.stdin:
        clock, session, step = known[line.rstrip("\n")]
        click.echo(clock(session, step))


if __name__ == "__main__":
    main(*sys.argv[1:])
