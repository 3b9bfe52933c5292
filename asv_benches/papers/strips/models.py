"""A whole model, timed: what its queries and the construction of its indexes take of a run."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable
from typing import Any

import pyopencl as cl

import clfrnn
from clfrnn.models import Boids, Keratinocytes, Model, Pedestrians

from ...benchmarks.common import has_event_times
from ..clock import seconds_of, unprofiled
from ..paper import Measurement
from .flame_boids import FlameBoids
from .flame_keratinocytes import FlameKeratinocytes
from .flame_pedestrians import FlamePedestrians

__all__ = ["measure"]

Running = Model | FlameBoids | FlamePedestrians

#: Steps of the model that is thrown away: all that is compiled is compiled then, and the pool is filled.
WARM_UP = 3

#: Neighbors of an even cloud in the authors' programs: 262,144 boids see 0.1 far in a cube of side 5; those of
#: pedestrians follow from their number and the bins.
BOID_NEIGHBORS, PEDESTRIAN_NEIGHBORS = 8.78, 2.0

#: Of pedestrians, m: as far as they see each other by default.
PEDESTRIAN_RADIUS = 5.0

#: Rounds in which keratinocytes have grown, if they ever do, and steps of a round.
ROUNDS, ROUND = 1_000, 10


def measure(session: clfrnn.Session, measurement: Measurement) -> dict[str, float]:
    """Seconds of a step and of its query and construction, and actors and their neighbors at both ends."""
    facts = measurement.to_dict()
    steps = int(facts["steps"])
    begin(session, facts).step(WARM_UP)
    model = begin(session, facts)
    numbers = {"actors_start": float(model.n), "neighbors_start": _neighbors(model)}
    watch = Watch(model)
    for _ in range(steps):
        model.step()
        watch.count()
    numbers |= {stage: seconds / steps for stage, seconds in watch.seconds.items()}
    numbers["search"] = sum(watch.seconds.values()) / steps
    numbers |= {"actors_end": float(model.n), "neighbors_end": _neighbors(model)}
    del model, watch
    plain = begin(unprofiled(session), facts)
    plain.step(WARM_UP)  # on a queue of its own, whose first launches take longer
    plain = begin(plain.session, facts)
    plain.session.queue.finish()
    started = time.perf_counter()
    plain.step(steps)
    plain.session.queue.finish()
    numbers["total"] = (time.perf_counter() - started) / steps
    return numbers


def begin(session: clfrnn.Session, facts: dict[str, Any]) -> Running:
    """The model of a measurement, where its timing begins."""
    n = int(facts["n"])
    options = {"session": session, **{name: facts[name] for name in ("method", "bin_width") if name in facts}}
    if facts["model"] == "boids":
        return Boids(n, dim=3, neighbors=BOID_NEIGHBORS, **options)
    if facts["model"] == "flame boids":
        return FlameBoids(n, neighbors=BOID_NEIGHBORS, **options)
    if facts["model"] == "flame pedestrians":
        return FlamePedestrians(n, neighbors=PEDESTRIAN_NEIGHBORS, **options)
    if facts["model"] == "pedestrians":
        density = PEDESTRIAN_NEIGHBORS / (math.pi * PEDESTRIAN_RADIUS**2)
        return Pedestrians(n, density=density, radius=PEDESTRIAN_RADIUS, **options)
    kind = FlameKeratinocytes if facts["model"] == "flame keratinocytes" else Keratinocytes
    skin = kind(int(facts["start"]), **options)
    for _ in range(ROUNDS):
        if skin.n >= n:
            if isinstance(skin, FlameKeratinocytes):
                skin.repeats = True
            return skin
        skin.step(ROUND)
    raise AssertionError(f"after {skin.steps_done:,} steps there are {skin.n:,} cells and not {n:,}")


def _neighbors(model: Running) -> float:
    """The mean number of neighbors in the model's index; of keratinocytes, in that of the contacts."""
    return float(model.index.count().get().mean())


class Watch:
    """Stands before the indexes of a model and adds up the device time of their visits and updates.

    Without event times, each is waited for and wall time stands in.
    """

    def __init__(self, model: Running) -> None:
        self.session = model.session
        self.seconds = {"query": 0.0, "construction": 0.0}
        self._launched: list[tuple[str, list[cl.Event]]] = []
        for name in ("index", "signals"):
            if hasattr(model, name):
                setattr(model, name, _Watched(getattr(model, name), self))

    def note(self, stage: str, call: Callable[[], Any]) -> Any:
        """Call, and keep the events of what is launched."""
        if has_event_times(self.session):
            with self.session.recorded() as launches:
                outcome = call()
            self._launched.append((stage, [event for _, event in launches]))
            return outcome
        self.session.queue.finish()
        started = time.perf_counter()
        outcome = call()
        self.session.queue.finish()
        self.seconds[stage] += time.perf_counter() - started
        return outcome

    def count(self) -> None:
        """Add up what has been launched; waited for."""
        self.session.queue.finish()
        for stage, events in self._launched:
            self.seconds[stage] += seconds_of(events).span if events else 0.0
        self._launched.clear()


class _Watched:
    """An index whose visits are queries and whose updates are construction."""

    def __init__(self, index: clfrnn.Index, watch: Watch) -> None:
        self._index, self._watch = index, watch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._index, name)

    def visit(self, *given: Any, **named: Any) -> cl.Event:
        return self._watch.note("query", functools.partial(self._index.visit, *given, **named))

    def update(self, *given: Any, **named: Any) -> None:
        self._watch.note("construction", functools.partial(self._index.update, *given, **named))
