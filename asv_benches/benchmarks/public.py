"""Searches through what users may rely on, and nothing else: they run on the clfrnn of any commit.

On a CPU what is measured is the processor time of the process, with all its threads. In six runs beside other work on
two cores, the least wall time of a count differed by a factor of four, its least processor time by 15 %; of lists these
were 2.2 and 11 %. On a GPU it is wall time, from the call until the device is done; clouds are so large there that the
host hardly counts.
"""

from __future__ import annotations

import abc
import math
import time
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

import clfrnn

from .platforms import PLATFORMS

METHODS = ["strips", "uniform_grid", "fenns", "aabb_tree"]

#: Points of the unit cube on a CPU and on a GPU, and the neighbors of one.
POINTS, NEIGHBORS = {True: 65_536, False: 1_048_576}, 50

#: Steps before those that are measured; steps that are, until they took so many seconds.
WARM_UP, LEAST, MOST, ENOUGH = 2, 5, 25, 0.3


def session(device: str) -> clfrnn.Session:
    """The session of a logical device name; on a machine without that device, asv skips the benchmark."""
    if not any(PLATFORMS[device] in platform.name and platform.get_devices() for platform in cl.get_platforms()):
        raise NotImplementedError(f"this machine has no {device}")
    return clfrnn.Session(PLATFORMS[device])


class Public(abc.ABC):
    """A benchmark over devices and methods; a subclass makes the step."""

    params: tuple[Any, ...] = (list(PLATFORMS), ["strips"])
    param_names = ("device", "method")
    timeout = 120
    domain: ClassVar[dict[str, Any]] = {}

    def setup(self, device: str, method: str) -> None:
        """The points on the device."""
        self.session = session(device)
        self.on_cpu = bool(self.session.device.type & cl.device_type.CPU)
        n = POINTS[self.on_cpu]
        self.radius = (NEIGHBORS / (4 / 3 * math.pi * n)) ** (1 / 3)
        self.points = cla.to_device(self.session.queue, np.random.default_rng(0).random((n, 3), dtype=np.float32))
        self.method = method

    def build(self) -> clfrnn.Index:
        """An index over the points."""
        return clfrnn.build_index(self.points, self.radius, method=self.method, session=self.session, **self.domain)

    @abc.abstractmethod
    def step(self) -> Callable[[], object]:
        """What is measured."""

    def track_step(self, *_: object) -> float:
        """The least of some steps."""
        clock = time.process_time if self.on_cpu else time.perf_counter
        step, times = self.step(), []
        for _ in range(WARM_UP):
            step()
        while len(times) < LEAST or (len(times) < MOST and sum(times) < ENOUGH):
            self.session.queue.finish()
            started = clock()
            held = step()
            self.session.queue.finish()
            times.append(clock() - started)
            del held
        return min(times)

    track_step.unit = "seconds"  # type: ignore[attr-defined]
    track_step.version = "1"  # type: ignore[attr-defined] — of commits long past, which another name would lose


class Build(Public):
    """``build_index()`` from points on the device."""

    params = (list(PLATFORMS), METHODS)

    def step(self) -> Callable[[], object]:
        """An index each time."""
        return self.build


class Count(Public):
    """``index.count()``."""

    params = (list(PLATFORMS), METHODS)

    def step(self) -> Callable[[], object]:
        """Of an index that stands."""
        return self.build().count


class Lists(Public):
    """``index.query()``."""

    params = (list(PLATFORMS), ["strips", "aabb_tree"])

    def step(self) -> Callable[[], object]:
        """Of an index that stands."""
        return self.build().query


class SortedLists(Public):
    """Lists in the order of distances, with these."""

    def step(self) -> Callable[[], object]:
        """Of an index that stands."""
        index = self.build()
        return lambda: index.query(distances=True, sort="distance")


class Nearest(Public):
    """``index.nearest()``."""

    def step(self) -> Callable[[], object]:
        """Of an index that stands."""
        return self.build().nearest


class Periodic(Public):
    """``index.count()`` in a periodic box."""

    domain: ClassVar[dict[str, Any]] = {"box": (1.0, 1.0, 1.0), "periodic": True}

    def step(self) -> Callable[[], object]:
        """Of an index that stands."""
        return self.build().count


class Visit(Public):
    """``index.visit()`` with a sum of squared distances."""

    def step(self) -> Callable[[], object]:
        """Of an index that stands."""
        function = clfrnn.NeighborFunction(
            arguments="global float *total", state="float sum = 0;", per_neighbor="sum += d2;", finish="total[i] = sum;"
        )
        index, total = self.build(), cla.zeros(self.session.queue, len(self.points), np.float32)
        return lambda: index.visit(function, total=total)
