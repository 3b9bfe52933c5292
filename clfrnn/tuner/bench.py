"""The bench: steps of a device under any tuning, as functions that give the time of one run."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

import pyopencl as cl
import pyopencl.array as cla

from ..runtime.session import Session
from ..tuning import Tuning
from .steps import Step, steps_for

__all__ = ["Bench"]

#: Runs of a step whose median is one time; fewer runs where these take that many seconds together.
_RUNS, _LONG = 5, 0.004

#: Runs before the first time: the first compiles, the second takes memory.
_WARM_UP = 2


class Bench:
    """A device at work for the tuner.

    A CPU is timed by the host's clock, as the host that launches is the device; a GPU by its events, from the first
    one's start to the last one's end. Steps that the host takes most of are timed by its clock, in a session as users
    have it.
    """

    def __init__(self, session: Session) -> None:
        self.plain = session
        self.steps: Mapping[str, Step] = steps_for(session.profile)
        self.timed = _with_events(session) if session.profile.kind == "gpu" else session
        self._sessions: dict[tuple[Tuning, bool], Session] = {}
        self._points: dict[tuple[Any, ...], Any] = {}
        self._made: dict[tuple[Tuning, str], Callable[[], float]] = {}

    @property
    def by_events(self) -> bool:
        """Whether the times of most steps are those of events."""
        return self.timed is not self.plain

    def sample(self, tuning: Tuning, name: str) -> Callable[[], float]:
        """A function that gives the seconds of a step under a tuning; what it runs is compiled by now.

        Raises
        ------
        ClfrnnError
            The device refuses the step.
        """
        key = tuning, name
        if key not in self._made:
            step = self.steps[name]
            session = self._session(tuning, wall=step.wall)
            run = step.of(session, self._on_device(step, session))
            for _ in range(_WARM_UP):
                run()
            session.queue.finish()
            clock = _seconds_of_events if self.by_events and not step.wall else _seconds_of_host
            self._made[key] = lambda: _median(lambda: clock(session, run))
        return self._made[key]

    def forget(self, *tunings: Tuning) -> None:
        """Forget the indices of all other tunings than these, and give their memory back."""
        self._made = {key: made for key, made in self._made.items() if key[0] in tunings}
        self._sessions = {key: session for key, session in self._sessions.items() if key[0] in tunings}
        for session in {self.plain, self.timed}:
            session.trim()

    def _session(self, tuning: Tuning, *, wall: bool) -> Session:
        key = tuning, wall
        if key not in self._sessions:
            self._sessions[key] = (self.plain if wall else self.timed).with_tuning(tuning)
        return self._sessions[key]

    def _on_device(self, step: Step, session: Session) -> cla.Array:
        """The points of a step, which steps of the same cloud share."""
        key = (*step._replace(what="", neighbors=0.0), session.queue.int_ptr)
        if key not in self._points:
            self._points[key] = cla.to_device(session.queue, step.points())
        return self._points[key]


def _with_events(session: Session) -> Session:
    """A session of the same device whose events have times; the same session where the device has no timer."""
    if not session.device.profiling_timer_resolution:
        return session
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
