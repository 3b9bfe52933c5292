"""The bench: steps that users run, at few and many neighbors, and the time of one run under any tuning."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

import pyopencl as cl
import pyopencl.array as cla

from ..api import build_index, nearest, search
from ..clouds import uniform
from ..profile import DeviceProfile
from ..runtime.session import Session
from ..tuning import Tuning, default_tuning

__all__ = ["Bench", "Step", "steps_for"]

#: Neighbors of a point that count as few, some and many, and of a point among all of a tree.
_FEW, _SOME, _MANY, _MOST = 6.0, 20.0, 50.0, 200.0

#: Bytes of a device's memory for each point that a step may have: a list, its first pass, and the same of its rivals.
_BYTES_OF_POINT = 4096

#: Runs of a step whose median is one time; fewer runs where these take that many seconds together.
_RUNS, _LONG = 5, 0.004

#: Runs before the first time: the first compiles, the second takes memory.
_WARM_UP = 2


class Step(NamedTuple):
    """One step: what is done with an even cloud of how many points."""

    what: str
    n: int
    #: neighbors that a point has; 0 where a step has no radius
    neighbors: float = 0.0
    dim: int = 3

    def __str__(self) -> str:
        found = f", {self.neighbors:g} neighbors" if self.neighbors else ""
        return f"{self.what}, {self.n:,} points{f' in {self.dim}D' if self.dim != 3 else ''}{found}"

    @property
    def by_host(self) -> bool:
        """Whether the host's clock tells its time on any device, as most of it is spent there."""
        return self.what == "search once"

    def of(self, session: Session) -> Callable[[], object]:
        """The step as a function, in a session, over points on its device."""
        points = cla.to_device(session.queue, uniform(self.n, self.dim, seed=1))
        if self.what.startswith("nearest"):
            return lambda: nearest(points, int(self.what.split()[1]), session=session)
        ball = math.pi ** (self.dim / 2) / math.gamma(self.dim / 2 + 1)
        radius = (self.neighbors / (ball * self.n)) ** (1 / self.dim)
        if self.by_host:
            return lambda: search(points, radius, session=session)
        index = build_index(points, radius, session=session)
        query = index.query if self.what == "list" else index.count

        def step() -> object:
            index.update(points)
            return query()

        return step


def steps_for(profile: DeviceProfile) -> dict[str, Step]:
    """All steps by the names that choices call them by, as large as suits the device."""
    gpu, once = profile.kind == "gpu", default_tuning(profile).auto.pairs_once
    most = 1 << max(10, (profile.global_memory // _BYTES_OF_POINT).bit_length() - 1)
    n = min(most, 1 << 20 if gpu else 1 << 17)
    tree_n = n // (8 if gpu else 16)
    return {
        "count few": Step("count", n, _FEW),
        "count some": Step("count", n, _SOME),
        "count many": Step("count", n, _MANY),
        "list many": Step("list", n, _MANY),
        "nearest some": Step("nearest 16", n // 4),
        "nearest many": Step("nearest 30", n // 4),
        "tree on a line": Step("count", n, _FEW, dim=1),
        "tree few": Step("count", tree_n, _SOME, dim=4),
        "tree many": Step("count", tree_n, _MOST, dim=4),
        # Between the thresholds among which is chosen up to which all pairs are tested.
        "once few": Step("search once", once * 3 // 4, _SOME),
        "once many": Step("search once", once * 3 // 2, _SOME),
    }


class Bench:
    """A device at work for the tuner.

    A CPU is timed by the host's clock, as the host that launches is the device; a GPU by its events, from the first
    one's start to the last one's end. Steps that the host takes most of are timed by its clock, in a session as users
    have it.
    """

    def __init__(self, session: Session) -> None:
        self.steps = steps_for(session.profile)
        self.by_events = session.profile.kind == "gpu" and bool(session.device.profiling_timer_resolution)
        self._plain, self._timed = session, _with_events(session) if self.by_events else session
        self._samples: dict[tuple[Tuning, str], Callable[[], float]] = {}

    def sample(self, tuning: Tuning, name: str) -> Callable[[], float]:
        """A function that gives the seconds of a step under a tuning; what it runs is compiled by now.

        Raises
        ------
        ClfrnnError
            The device refuses the step.
        """
        key = tuning, name
        if key not in self._samples:
            step = self.steps[name]
            events = self.by_events and not step.by_host
            session = (self._timed if events else self._plain).with_tuning(tuning)
            run = step.of(session)
            for _ in range(_WARM_UP):
                run()
            session.queue.finish()
            clock = _seconds_of_events if events else _seconds_of_host
            self._samples[key] = lambda: _median(lambda: clock(session, run))
        return self._samples[key]

    def forget(self, *tunings: Tuning) -> None:
        """Forget the indices of all other tunings than these, and give their memory back."""
        self._samples = {key: sample for key, sample in self._samples.items() if key[0] in tunings}
        for session in {self._plain, self._timed}:
            session.trim()


def _with_events(session: Session) -> Session:
    """A session of the same device whose events have times."""
    context = cl.Context([session.device])  # held here, as some queues do not hold it
    return Session(cl.CommandQueue(context, properties=cl.command_queue_properties.PROFILING_ENABLE))


def _median(clock: Callable[[], float]) -> float:
    times: list[float] = []
    while len(times) < _RUNS and sum(times) < _LONG:
        times.append(clock())
    return statistics.median(times)


def _seconds_of_host(session: Session, run: Callable[[], object]) -> float:
    started = time.perf_counter()
    held = run()  # until the queue is done, so that its memory is not in use twice
    session.queue.finish()
    seconds = time.perf_counter() - started
    del held
    return seconds


def _seconds_of_events(session: Session, run: Callable[[], object]) -> float:
    with session.recorded() as launches:
        held = run()
    session.queue.finish()
    del held
    first, last = launches[0][1], launches[-1][1]
    return 1e-9 * float(last.profile.end - first.profile.start)
