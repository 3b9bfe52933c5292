"""Clocks of a step, in milliseconds: by events of the device, on the host's clock, in a loop, and by kernel."""

from __future__ import annotations

import collections
import math
import statistics
import time
from collections.abc import Callable

import clfrnn

from ..benchmarks.common import Seconds, timed

#: How often a step is timed, after warm-up.
STEPS = 20

Step = Callable[[], object]


def milliseconds(session: clfrnn.Session, step: Step, enough: float = math.inf) -> Seconds:
    """Median times of a step; five of them are enough where they took `enough` seconds."""
    return Seconds(*(1e3 * seconds for seconds in timed(session, step, STEPS, enough)))


def wall(step: Step, repeats: int = 15, enough: float = 3.0) -> float:
    """The median wall time of a step that waits for itself, after two that compile and fill the pool.

    Three are enough where they took `enough` seconds.
    """
    step()
    step()
    times: list[float] = []
    while len(times) < repeats and (len(times) < 3 or sum(times) < 1e3 * enough):
        started = time.perf_counter()
        step()
        times.append(1e3 * (time.perf_counter() - started))
    return statistics.median(times)


def in_a_loop(session: clfrnn.Session, step: Step) -> float:
    """The wall time of a step in a loop that is waited for at its end, the median of five loops behind one."""
    loops = []
    for _ in range(6):
        session.queue.finish()
        started = time.perf_counter()
        for _ in range(STEPS):
            step()
        session.queue.finish()
        loops.append(1e3 * (time.perf_counter() - started) / STEPS)
    return statistics.median(loops[1:])


def kernels(session: clfrnn.Session, step: Step, repeats: int = 1, warm_up: int = 1) -> dict[str, float]:
    """The median time of each kernel of a step, in their order; of those launched more than once the sum."""
    steps: list[dict[str, float]] = []
    for _ in range(warm_up + repeats):
        with session.recorded() as launches:
            held = step()
        session.queue.finish()
        del held
        times: dict[str, float] = collections.defaultdict(float)
        for name, event in launches:
            times[name] += 1e-6 * (event.profile.end - event.profile.start)
        steps.append(times)
    return {name: statistics.median(each[name] for each in steps[warm_up:] if name in each) for name in steps[-1]}
