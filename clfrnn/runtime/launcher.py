"""Launcher: kernels onto a queue, the long ones in slices; and who is told of that."""

from __future__ import annotations

import collections
import contextlib
import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import pyopencl as cl

from ..planning.tuning import Tuning
from ..profile import DeviceProfile
from .launch_limits import launch_budget
from .program import Kernel
from .runs import Runs

__all__ = ["Launcher"]


class Launcher:
    """An in-order queue, and what may be asked of its device in one launch."""

    def __init__(self, queue: cl.CommandQueue, profile: DeviceProfile, tuning: Tuning) -> None:
        self.queue, self.profile, self.tuning = queue, profile, tuning
        self._record: list[tuple[str, cl.Event]] | None = None
        self._told: Callable[[int, int], None] | None = None
        self._runs: collections.defaultdict[Kernel, Runs] = collections.defaultdict(Runs)

    def launch(self, kernel: Kernel, items: int, work_group_size: int, *arguments: Any) -> cl.Event | None:
        """Enqueue `kernel` with at least `items` work-items in whole groups; None when there is nothing to do."""
        if items <= 0:
            return None
        size = -(-items // work_group_size) * work_group_size
        event = kernel.enqueue(self.queue, size, work_group_size, arguments)
        if self._record is not None:
            self._record.append((kernel.name, event))
        return event

    @contextlib.contextmanager
    def recorded(self) -> Iterator[list[tuple[str, cl.Event]]]:
        """Collect the name and event of every launch, for those who measure.

        For names any queue does. Events have times only on a queue with profiling, which the session's own is not.

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
        self._record = launches
        try:
            yield launches
        finally:
            self._record = None

    @contextlib.contextmanager
    def watched(self, told: Callable[[int, int], None]) -> Iterator[None]:
        """Call ``told(done, units)`` after each slice of launches that are long enough to be sliced."""
        self._told = told
        try:
            yield
        finally:
            self._told = None

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
        """Enqueue `kernel` over `units` from `begin` on, in slices when that would be too much for one launch.

        It is too much when `pairs` tests are foreseen to be, or when a run of the kernel may have been too long: a
        cloud may have drawn together since its crowding was estimated; but never when `most`, which there can be, are
        few. The kernel's first two arguments are the slice's first unit and its end. One launch does not wait; slices
        wait for each other, and each is sized by the time that the one before it took.
        """
        numbers = self.tuning.runtime
        budget, limit = launch_budget(self.profile, self.tuning), 2 * numbers.slice_seconds
        first, last = begin, begin + units if begin else units  # the number that kernels have, not another like it
        if not units or most <= budget / numbers.surely_short:
            return self.launch(kernel, units, work_group_size, first, last, *arguments)
        runs, now = self._runs[kernel], time.perf_counter()
        excess = max(pairs / budget, runs.foreseen(units, now, limit, numbers.look_share * limit) / limit)
        if excess <= 1:
            event = self.launch(kernel, units, work_group_size, first, last, *arguments)
            runs.watch(event, units, now)
            return event
        self.queue.finish()  # what was enqueued before is not part of what slices measure
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
            if self._told is not None:
                self._told(first - begin, units)
        runs.measured(units, time.perf_counter() - began, limit)
        return event
