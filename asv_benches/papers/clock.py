"""Device time of stages that follow each other."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import pyopencl as cl

import clfrnn

from ..benchmarks.common import has_event_times

__all__ = ["Seconds", "seconds_of", "stage_seconds", "unprofiled"]


class Seconds(NamedTuple):
    """Of a stage: from the start of its first launch to the end of its last, and in kernels, without the gaps."""

    span: float
    kernels: float


def stage_seconds(session: clfrnn.Session, stages: Sequence[Callable[[], object]]) -> list[Seconds]:
    """Seconds of each stage and, last, of all together.

    The stages are run one behind another and waited for at the end, so that what the host does in a stage may hide
    behind the device's work of the one before, as it does in a loop. A stage whose launches are not the library's
    returns its event, or its events in order. In a session without event times, each stage is waited for and wall time
    stands in for both.
    """
    if not has_event_times(session):
        seconds = [_wall(session, stage) for stage in stages]
        return [Seconds(each, each) for each in [*seconds, sum(seconds)]]
    events = [_events(session, stage) for stage in stages]
    session.queue.finish()
    return [seconds_of(group) for group in [*events, [event for group in events for event in group]]]


def _events(session: clfrnn.Session, stage: Callable[[], object]) -> list[cl.Event]:
    with session.recorded() as launches:
        own = stage()
    if launches:
        return [event for _, event in launches]
    events = [own] if isinstance(own, cl.Event) else own
    assert isinstance(events, list), "a stage launches through the session, or returns its events"
    return events


def seconds_of(events: Sequence[cl.Event]) -> Seconds:
    """From the first start to the last end of events that have ended, and the sum of their times."""
    starts, ends = ([getattr(event.profile, end) for event in events] for end in ("start", "end"))
    return Seconds(1e-9 * (max(ends) - min(starts)), 1e-9 * (sum(ends) - sum(starts)))


def _wall(session: clfrnn.Session, stage: Callable[[], object]) -> float:
    started = time.perf_counter()
    held = stage()
    session.queue.finish()
    del held
    return time.perf_counter() - started


@functools.lru_cache(maxsize=1)
def unprofiled(session: clfrnn.Session) -> clfrnn.Session:
    """A session as users have it, whose launches are not slower for their times; of the same programs."""
    if not has_event_times(session):
        return session
    own = clfrnn.Session(cl.CommandQueue(session.context))
    own.profile, own.programs = session.profile, session.programs
    return own
