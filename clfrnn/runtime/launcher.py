"""Launcher: enqueues kernels, long launches in slices."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import math
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyopencl as cl

from ..profile import DeviceProfile
from ..tuning import Tuning
from .launch_limits import launch_budget
from .program import Kernel
from .runs import Runs

__all__ = ["Launcher"]


@dataclasses.dataclass
class Listeners:
    """Where launches are noted, which sessions of the same queue share."""

    record: list[tuple[str, cl.Event]] | None = None
    progress: Callable[[int, int], None] | None = None


class Launcher:
    """An in-order queue, and the limits of a launch on its device."""

    def __init__(self, queue: cl.CommandQueue, profile: DeviceProfile, tuning: Tuning) -> None:
        self.queue, self.profile, self.tuning = queue, profile, tuning
        self._listeners = Listeners()
        self._runs: collections.defaultdict[Kernel, Runs] = collections.defaultdict(Runs)

    def forget_runs(self, kernels: Iterable[Kernel]) -> None:
        """Forget what was observed of kernels that will not be launched again."""
        for kernel in kernels:
            self._runs.pop(kernel, None)

    def launch(self, kernel: Kernel, items: int, work_group_size: int, *arguments: Any) -> cl.Event | None:
        """Enqueue `kernel` with at least `items` work-items in whole groups; return None where `items` is 0."""
        if items <= 0:
            return None
        size = -(-items // work_group_size) * work_group_size
        event = kernel.enqueue(self.queue, size, work_group_size, arguments)
        if self._listeners.record is not None:
            self._listeners.record.append((kernel.name, event))
        return event

    @contextlib.contextmanager
    def recorded(self) -> Iterator[list[tuple[str, cl.Event]]]:
        """Collect the name and event of every launch.

        Names can be collected on any queue. Events have times only on a queue with profiling, which the session's own
        queue is not.

        Examples
        --------
        >>> import clfrnn, pyopencl as cl
        >>> properties = cl.command_queue_properties.PROFILING_ENABLE
        >>> context = clfrnn.default_session().context
        >>> timed = clfrnn.Session(cl.CommandQueue(context, properties=properties))
        >>> with timed.recorded() as launches:
        ...     counts = clfrnn.build_index([[0.0, 0.0], [1.0, 0.0]], 2.0, session=timed).count().get()
        >>> seconds = {name: 1e-9 * (event.profile.end - event.profile.start) for name, event in launches}
        >>> "frnn_visit" in seconds
        True
        """
        launches: list[tuple[str, cl.Event]] = []
        listeners = self._listeners
        outer, listeners.record = listeners.record, launches
        try:
            yield launches
        finally:
            listeners.record = outer

    @contextlib.contextmanager
    def report_progress(self, progress: Callable[[int, int], None]) -> Iterator[None]:
        """Call ``progress(done, units)`` after each slice of a launch that is sliced."""
        listeners = self._listeners
        outer, listeners.progress = listeners.progress, progress
        try:
            yield
        finally:
            listeners.progress = outer

    def launch_sliced(
        self,
        kernel: Kernel,
        units: int,
        work_group_size: int,
        *arguments: Any,
        pairs: float,
        most: float = math.inf,
        begin: int = 0,
    ) -> cl.Event | None:
        """Enqueue `kernel` over `units` from `begin` on, in slices where one launch might take too long.

        A launch is sliced when it is expected to test too many `pairs`, or when an earlier run of the kernel may have
        been too long, as points may have moved closer together since their crowding was estimated. It is never sliced
        when `most`, an upper bound of the pairs, is small. The kernel's first two arguments are the first unit of the
        slice and its end. A launch that is not sliced does not wait. Slices wait for each other, and the time of each
        decides the size of the next.
        """
        numbers = self.tuning.runtime
        budget, limit = launch_budget(self.profile, self.tuning), 2 * numbers.slice_seconds
        first, last = begin, begin + units if begin else units  # one number as kernels take it, not an equal copy
        if not units or most <= budget / numbers.surely_short:
            return self.launch(kernel, units, work_group_size, first, last, *arguments)
        runs, now = self._runs[kernel], time.perf_counter()
        excess = max(pairs / budget, runs.expected(units, now, limit, numbers.look_share * limit) / limit)
        if excess <= 1:
            event = self.launch(kernel, units, work_group_size, first, last, *arguments)
            runs.observe(event, units, now)
            return event
        self.queue.finish()  # slices must not measure earlier launches
        event = None
        began = time.perf_counter()
        step = max(work_group_size, int(units / (8 * excess)) // work_group_size * work_group_size)
        while first < last:
            end = min(last, first + step)
            started = time.perf_counter()
            event = self.launch(kernel, end - first, work_group_size, first, end, *arguments)
            if event is not None:
                event.wait()
            taken = max(time.perf_counter() - started, 1e-6)
            faster = min(8.0, numbers.slice_seconds / taken)
            step = max(work_group_size, int(step * faster) // work_group_size * work_group_size)
            first = end
            if self._listeners.progress is not None:
                self._listeners.progress(first - begin, units)
        runs.measured(units, time.perf_counter() - began, limit)
        return event
