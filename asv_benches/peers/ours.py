"""clfrnn as one of its peers, and the answer against which the others are held."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

import clfrnn

from ..benchmarks.common import has_event_times, profiled
from .peer import Array, Pairs, Peer


class Clfrnn(Peer):
    """An index that takes points in again and again, on an OpenCL device."""

    name = "clfrnn"
    module = "clfrnn"
    package = "clfrnn"
    asynchronous = True
    remark = "`index.update` and `index.count` or `index.query`, default method; lists are CSR on the device"

    def __init__(self, device: str | None = None) -> None:
        super().__init__()
        self._wanted = device
        self.session = clfrnn.Session(device)
        self.place = "gpu" if self.session.profile.kind == "gpu" else "cpu"

    @classmethod
    def find(cls) -> str:
        """The version of the code in use, which a checkout may be ahead of what is installed."""
        return clfrnn.__version__

    @property
    def device(self) -> str:
        """The OpenCL device."""
        return str(self.session.profile)

    def hold(self, points: Array, radius: float, widest: int) -> None:  # noqa: ARG002
        """On the device, in a session of their own, whose pool tells what this cloud took; and in another for times.

        Both in one context: where steps in two of them take turns, a GPU goes from one to the other in each step.
        """
        self.n, self.radius = len(points), radius
        self._timed = profiled(self._wanted)
        self._timed_points = cla.to_device(self._timed.queue, points)
        self.session = clfrnn.Session(cl.CommandQueue(self._timed.context, self._timed.device))
        self.points = cla.to_device(self.session.queue, points)

    def prepare(self) -> None:
        """The indexes."""
        self._timed_index = clfrnn.build_index(self._timed_points, self.radius, session=self._timed)
        self.index = clfrnn.build_index(self.points, self.radius, session=self.session)

    def build(self) -> None:
        """The points, taken in anew."""
        self.index.update(self.points)

    def count(self) -> Any:
        """(n,) on the device."""
        return self.index.count()

    def lists(self) -> Any:
        """CSR on the device."""
        return self.index.query()

    def finish(self) -> None:
        """Wait for the queue."""
        self.session.queue.finish()

    def counts_of(self, answer: Any) -> Array:
        """As they are."""
        return np.asarray(answer.get())

    def pairs_of(self, answer: Any) -> Pairs:
        """Row ids beside the indices."""
        host = answer.to_host()
        return Pairs(np.repeat(np.arange(self.n, dtype=np.int32), np.diff(host.offsets)), host.indices)

    def clocked(self, step: Callable[[], object]) -> tuple[object, float, float | None]:
        """Device time is that from the start of the first launch to the end of the last, of another run.

        That one is on a queue with profiling, which would add to the wall clock.
        """
        answer, wall, _ = super().clocked(step)
        self._exchange()
        try:
            with self.session.recorded() as launches:
                held = step()
            self.finish()
            del held
            if not launches or not has_event_times(self.session):
                return answer, wall, None
            return answer, wall, 1e-9 * (launches[-1][1].profile.end - launches[0][1].profile.start)
        finally:
            self._exchange()

    def _exchange(self) -> None:
        """The session for times takes the place of the other, and the other way round."""
        self.session, self._timed = self._timed, self.session
        self.points, self._timed_points = self._timed_points, self.points
        self.index, self._timed_index = self._timed_index, self.index

    def memory_peak(self) -> int | None:
        """What the session's pool took from the device: it gives nothing back between the steps."""
        return self.session.pooled_bytes

    def release(self) -> None:
        """Forget index, points and pool."""
        self.index = self.points = self._timed_index = self._timed_points = self._timed = None
        self.session = clfrnn.Session(self._wanted)


def near(points: Array, rows: Array, radius: float, slack: float, device: str | None) -> Array:
    """For each of these rows, the number of other points whose distance is within `slack` of the radius, in float64."""
    wide = float(np.float32(radius + 4 * slack))
    found = clfrnn.search(points, wide, queries=points[rows], session=clfrnn.Session(device)).to_host()
    mine = np.repeat(np.arange(len(rows)), np.diff(found.offsets))
    distance = distances(points, rows[mine], found.indices)
    doubtful = (np.abs(distance - radius) <= slack) & (rows[mine] != found.indices)
    return np.bincount(mine[doubtful], minlength=len(rows))


def distances(points: Array, rows: Array, columns: Array) -> Array:
    """Distances of pairs, in float64."""
    difference = points[rows].astype(np.float64) - points[columns].astype(np.float64)
    return np.sqrt(np.square(difference).sum(axis=1))
