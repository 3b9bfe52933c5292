"""clfrnn as one of its peers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

import clfrnn
from clfrnn.cluster import dbscan, friends_of_friends
from clfrnn.geometry import normals

from ..benchmarks.common import has_event_times, profiled
from .peer import AROUND, CORE, NEAREST, Array, Pairs, Peer, Question

#: the tasks that an index answers, which takes points in again and again
INDEXED = ("count", "lists", "cells", "batches")


class Clfrnn(Peer):
    """An index that takes points in again and again, or a call, on an OpenCL device."""

    name = "clfrnn"
    module = "clfrnn"
    package = "clfrnn"
    tasks = ("count", "lists", "nearest", "friends", "dbscan", "cells", "batches", "normals")
    asynchronous = True
    remark = (
        "`index.update` and `index.count` or `index.query`, which in cells gives vectors beside the shifts; `nearest`, "
        "`friends_of_friends`, `dbscan` and `normals` in one call; default method; answers stay on the device"
    )

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

    def hold(self, question: Question) -> None:
        """On the device, in a session of their own, whose pool tells what this cloud took; and in another for times.

        Both in one context: where steps in two of them take turns, a GPU goes from one to the other in each step.
        """
        super().hold(question)
        self.builds = question.task in INDEXED
        self._timed = profiled(self._wanted)
        self._timed_points = cla.to_device(self._timed.queue, question.points)
        self.session = clfrnn.Session(cl.CommandQueue(self._timed.context, self._timed.device))
        self.points = cla.to_device(self.session.queue, question.points)

    def prepare(self) -> None:
        """The indexes."""
        self._timed_index = self._indexed(self._timed_points, self._timed)
        self.index = self._indexed(self.points, self.session)

    def _indexed(self, points: Any, session: clfrnn.Session) -> Any:
        if not self.builds:
            return None
        asked = self.question
        return clfrnn.build_index(points, self.radius, cell=asked.cell, batch=asked.batch, session=session)

    def build(self) -> None:
        """The points, taken in anew."""
        if self.builds:
            self.index.update(self.points)

    def count(self) -> Any:
        """(n,) on the device."""
        return self.index.count()

    def lists(self) -> Any:
        """CSR on the device."""
        return self.index.query()

    def cells(self) -> Any:
        """CSR on the device, with vectors and shifts."""
        return self.index.query(vectors=True)

    def batches(self) -> Any:
        """CSR on the device, of all systems."""
        return self.index.query()

    def nearest(self) -> Any:
        """(n, k) indices and distances on the device."""
        return clfrnn.nearest(self.points, NEAREST, include_self=True, session=self.session)

    def friends(self) -> Any:
        """Labels on the device."""
        return friends_of_friends(self.points, self.radius, session=self.session)

    def dbscan(self) -> Any:
        """Labels on the device."""
        return dbscan(self.points, self.radius, CORE, session=self.session)

    def normals(self) -> Any:
        """(n, 3) on the device."""
        return normals(self.points, k=AROUND, session=self.session)

    def finish(self) -> None:
        """Wait for the queue."""
        self.session.queue.finish()

    def counts_of(self, answer: Any) -> Array:
        """As they are."""
        return np.asarray(answer.get())

    def pairs_of(self, answer: Any) -> Pairs:
        """Row ids beside the indices."""
        host = answer.to_host()
        return Pairs(np.repeat(np.arange(self.n, dtype=np.int32), np.diff(host.offsets)), host.indices, host.shifts)

    def rows_of(self, answer: Any) -> Array:
        """As they are."""
        return np.asarray(answer.indices.get())

    def labels_of(self, answer: Any) -> Array:
        """As they are."""
        return np.asarray(answer.labels.get())

    def normals_of(self, answer: Any) -> Array:
        """As they are."""
        return np.asarray(answer.normals.get())

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
