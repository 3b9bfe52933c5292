"""Device time of stages that follow each other."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import pyopencl as cl

import clfrnn

__all__ = ["stage_seconds"]


def stage_seconds(session: clfrnn.Session, stages: Sequence[Callable[[], object]]) -> list[float]:
    """Seconds of each stage and, last, of all together: from the start of the first launch to the end of the last.

    The stages are run one behind another and waited for at the end, so that what the host does in a stage may hide
    behind the device's work of the one before, as it does in a loop. A stage whose launches are not the library's
    returns its event. On devices without event times, each stage is waited for and wall time stands in.
    """
    if not session.profile.event_timer:
        seconds = [_wall(session, stage) for stage in stages]
        return [*seconds, sum(seconds)]
    events = [_events(session, stage) for stage in stages]
    session.queue.finish()
    spans = [_span(group) for group in events]
    return [*spans, _span([event for group in events for event in group])]


def _events(session: clfrnn.Session, stage: Callable[[], object]) -> list[cl.Event]:
    with session.recorded() as launches:
        own = stage()
    if launches:
        return [event for _, event in launches]
    assert isinstance(own, cl.Event), "a stage launches through the session, or returns its event"
    return [own]


def _span(events: Sequence[cl.Event]) -> float:
    return 1e-9 * (max(event.profile.end for event in events) - min(event.profile.start for event in events))


def _wall(session: clfrnn.Session, stage: Callable[[], object]) -> float:
    started = time.perf_counter()
    held = stage()
    session.queue.finish()
    del held
    return time.perf_counter() - started
