"""What is measured of the paper's simulations: water, spheres that springs push apart, and three groups that fall."""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import clfrnn
from clfrnn.models import Fluid, Spheres

from ..clock import stage_seconds, unprofiled
from ..paper import Measurement, Numbers
from .falling import Falling
from .steps import DisagreementError

__all__ = [
    "EXPERIMENTS",
    "PARTS_OF_RUN",
    "SCALES_OF_FLUIDS",
    "WAYS",
    "Sizes",
    "falling",
    "fluid",
    "measure",
    "plan",
    "springs",
]

WAYS = ("aabb_tree", "uniform_grid", "strips")

#: A run is shown in this many parts, each with the mean of its steps.
PARTS_OF_RUN = 20

#: The speed of sound, in metres per second: less than half the default, so that 2,000 steps of 250,000 particles, which
#: are 0.6 s, take water to the far wall.
SOUND = 25.0

#: Steps of another run before one that is timed: everything is compiled.
WARM_UP = 2


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sizes:
    """The sizes of a scale."""

    #: figures 18 and 19: particles of the fluid and of the spheres, and steps
    fluid: Sequence[int]
    steps: int
    #: figure 20: particles of all groups, radii of the last group as shares of the diagonal, and steps
    falling: int
    radii: Sequence[float]
    falling_steps: int


SCALES_OF_FLUIDS = {
    "paper": Sizes(
        fluid=(50_000, 100_000, 150_000, 200_000, 250_000),
        steps=2_000,
        falling=30_000,
        radii=(0.0025, 0.005, 0.01),
        falling_steps=2_000,
    ),
    "small": Sizes(fluid=(5_000, 10_000), steps=60, falling=6_000, radii=(0.005, 0.01), falling_steps=100),
    "tiny": Sizes(fluid=(400,), steps=21, falling=300, radii=(0.02,), falling_steps=4),
}


def fluid(sizes: Sizes, n: int, way: str) -> Measurement:
    """Figures 18 and 19: so many steps of a column of water that breaks down."""
    return Measurement.of(experiment="fluid", n=n, steps=sizes.steps, way=way)


def springs(sizes: Sizes, n: int, way: str) -> Measurement:
    """Figures 18 and 19 by the paper's own forces: so many steps of a block of spheres that falls apart."""
    return Measurement.of(experiment="springs", n=n, steps=sizes.steps, way=way)


def falling(sizes: Sizes, radius: float, way: str) -> Measurement:
    """Figure 20 with points that move: groups that fall, each with a radius of its own."""
    return Measurement.of(experiment="falling", n=sizes.falling, radius=radius, steps=sizes.falling_steps, way=way)


def plan(scale: str) -> list[Measurement]:
    """Every run once."""
    sizes = SCALES_OF_FLUIDS[scale]
    return [
        *(fluid(sizes, n, way) for n in sizes.fluid for way in WAYS),
        *(springs(sizes, n, way) for n in sizes.fluid for way in WAYS),
        *(falling(sizes, radius, way) for radius in sizes.radii for way in WAYS),
    ]


def measure(session: clfrnn.Session, measurement: Measurement) -> Numbers:
    """Seconds of a step, steps a second by the wall clock, new orders of a tree, and the course of the run."""
    facts = dict(measurement.to_dict())
    return EXPERIMENTS[str(facts.pop("experiment"))](session, **facts)


def _fluid(session: clfrnn.Session, n: int, steps: int, way: str) -> Numbers:
    def start(session: clfrnn.Session, **options: float) -> Fluid:
        return Fluid(n, dim=3, sound=SOUND, session=session, method=way, **options)

    water, numbers = _run(session, start, steps, way)
    return numbers | {"time": water.time, "front": water.front()}


def _springs(session: clfrnn.Session, n: int, steps: int, way: str) -> Numbers:
    def start(session: clfrnn.Session, **options: float) -> Spheres:
        return Spheres(n, session=session, method=way, **options)

    heap, numbers = _run(session, start, steps, way)
    return numbers | {"height": float(1 + heap.positions.get()[:, 2].mean())}


def _falling(session: clfrnn.Session, n: int, radius: float, steps: int, way: str) -> Numbers:
    def start(session: clfrnn.Session, **options: float) -> Falling:
        return Falling(n, radius, session=session, method=way, **options)

    groups, numbers = _run(session, start, steps, way)
    return numbers | {"height": float(groups.positions.get()[:, 1].mean())}


EXPERIMENTS: dict[str, Callable[..., Numbers]] = {"fluid": _fluid, "springs": _springs, "falling": _falling}


def _run(session: clfrnn.Session, start: Callable[..., Any], steps: int, way: str) -> tuple[Any, dict[str, float]]:
    """The simulation at its end, and the numbers of a run: each step by itself, then all behind one another."""
    own = unprofiled(session)
    for each in (session, own):
        start(each).step(WARM_UP)
        if way == "aabb_tree":  # what makes its order anew is compiled, too
            start(each, rebuild_threshold=1.0).step(WARM_UP)
    run = start(session)
    spans, rebuilt = [], []
    for _ in range(steps):
        spans.append(stage_seconds(session, [run.step])[-1].span)
        rebuilt.append(run.index.last_update == "rebuilt")
    run.index.check()
    numbers = {"step": statistics.fmean(spans), "longest": max(spans), "neighbors": _compared(session, run)}
    numbers["rebuilt"] = float(sum(rebuilt))
    if any(rebuilt):
        numbers["step_rebuilt"] = statistics.fmean(span for span, anew in zip(spans, rebuilt, strict=True) if anew)
    for k, part in enumerate(np.array_split(spans, min(PARTS_OF_RUN, steps))):
        numbers[f"part_{k:02}"] = float(part.mean())
    return run, numbers | {"rate": _rate(start(own), steps)}


def _rate(run: Any, steps: int) -> float:
    """Steps a second by the wall clock, none of them waited for but the last."""
    run.index.session.queue.finish()
    started = time.perf_counter()
    run.step(steps)
    run.index.session.queue.finish()
    return steps / (time.perf_counter() - started)


def _compared(session: clfrnn.Session, run: Any) -> float:
    """The mean number of neighbors at the end, which must be those that `strips` finds."""
    radii = getattr(run, "radii", None)
    found = run.index.count(radius=radii).get()
    expected = clfrnn.build_index(run.positions, run.index.radius, method="strips", session=session)
    if not np.array_equal(found, expected.count(radius=radii).get()):
        raise DisagreementError("other counts at the end of the run than those of strips")
    return float(found.mean())
