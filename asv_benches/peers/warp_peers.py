"""Warp's hash grid and its tree of boxes, asked by kernels of a few lines, as a user of Warp would write them."""

from __future__ import annotations

import ctypes
import importlib
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .peer import Absent, Array, Pairs, Peer, Question

#: CUDA's name for the most bytes in use of a memory pool, which can be set to zero (cuda.h, CUmemPool_attribute).
_USED_HIGH = 8


class Warp(Peer):
    """Counts by one kernel; lists by a count, a scan, an allocation and a write."""

    module = "warp"
    package = "warp-lang"
    place = "gpu"
    tasks = ("count", "lists")
    asynchronous = True
    structure: Any

    def __init__(self) -> None:
        super().__init__()
        self.warp = importlib.import_module("warp")
        self.warp.config.log_level = self.warp.LOG_WARNING
        self.warp.init()
        cuda = self.warp.get_cuda_device_count() > 0
        self.place = "gpu" if cuda else "cpu"
        self._device = self.warp.get_device("cuda:0" if cuda else "cpu")
        if not cuda and not self.warp.is_cpu_available():
            raise Absent("no CUDA device, and this build of Warp has no compiler for CPUs")
        self.kernels = importlib.import_module(".warp_kernels", __package__)

    @property
    def device(self) -> str:
        """Warp's name of it."""
        return str(self._device.name)

    def hold(self, question: Question) -> None:
        """On the device."""
        super().hold(question)
        points = question.points
        self.spread = points.max(axis=0) - points.min(axis=0)
        self.points = self.warp.array(points, dtype=self.warp.vec3, device=self._device)
        self.finish()

    def prepare(self) -> None:
        """Counts and offsets; one more of each than points, so that the last offset is the number of pairs."""
        self.counts = self.warp.zeros(self.n + 1, dtype=int, device=self._device)
        self.offsets = self.warp.zeros(self.n + 1, dtype=int, device=self._device)

    def ask(self, task: str, *arguments: Any) -> None:
        """Launch the kernel of this structure."""
        kernel = getattr(self.kernels, f"{self.structure}_{task}")
        self.warp.launch(kernel, dim=self.n, inputs=[*self.asked(), *arguments], device=self._device)

    def asked(self) -> list[Any]:
        """What every kernel of this structure is told."""
        raise NotImplementedError

    def count(self) -> Any:
        """(n + 1,) on the device, the last one 0."""
        self.ask("count", self.counts)
        return self.counts

    def lists(self) -> Any:
        """CSR on the device."""
        self.ask("count", self.counts)
        self.warp.utils.array_scan(self.counts, self.offsets, inclusive=False)
        pairs = int(self.offsets[self.n : self.n + 1].numpy()[0])
        indices = self.warp.empty(pairs, dtype=int, device=self._device)
        self.ask("write", self.offsets, indices)
        return self.offsets, indices

    def finish(self) -> None:
        """Wait for the device."""
        self.warp.synchronize_device(self._device)

    def counts_of(self, answer: Any) -> Array:
        """Without the last."""
        return np.asarray(answer.numpy())[: self.n]

    def pairs_of(self, answer: Any) -> Pairs:
        """Row ids beside the indices."""
        offsets, indices = (array.numpy() for array in answer)
        return Pairs(np.repeat(np.arange(self.n, dtype=np.int32), np.diff(offsets)), indices)

    def clocked(self, step: Callable[[], object]) -> tuple[object, float, float | None]:
        """Device time is that between two events on the stream."""
        if not self._device.is_cuda:
            return super().clocked(step)
        stream = self._device.stream
        first, last = (self.warp.Event(self._device, enable_timing=True) for _ in range(2))
        started = time.perf_counter()
        stream.record_event(first)
        answer = step()
        stream.record_event(last)
        self.finish()
        wall = time.perf_counter() - started
        return answer, wall, 1e-3 * self.warp.get_event_elapsed_time(first, last)

    def memory_starts(self) -> None:
        """The pool's peak starts anew, which Warp itself does not offer."""
        self._start: int | None = None
        if self._device.is_cuda and self._device.is_mempool_enabled and _peak_starts_anew(self._device.ordinal):
            self._start = self.warp.get_mempool_used_mem_current(self._device)

    def memory_peak(self) -> int | None:
        """How far the pool's use grew."""
        if self._start is None:
            return None
        return max(0, int(self.warp.get_mempool_used_mem_high(self._device)) - self._start)

    def release(self) -> None:
        """Forget arrays and structure."""
        self.points = self.counts = self.offsets = self.tree = self.grid = None


def _peak_starts_anew(ordinal: int) -> bool:
    """Set the most bytes that a device's default pool has had in use to what it has now, if the driver lets us."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    pool, zero = ctypes.c_void_p(), ctypes.c_uint64(0)
    if driver.cuDeviceGetDefaultMemPool(ctypes.byref(pool), ctypes.c_int(ordinal)):
        return False
    return not driver.cuMemPoolSetAttribute(pool, ctypes.c_int(_USED_HIGH), ctypes.byref(zero))


class WarpGrid(Warp):
    """warp.HashGrid."""

    name = "Warp grid"
    structure = "grid"
    remark = (
        "`HashGrid` with cells as wide as the radius, at most 256 to a side, built again in place; own kernels of a "
        "few lines; lists are CSR on the device"
    )

    def prepare(self) -> None:
        """As many cells as the cloud spans; beyond 256 to a side they are wrapped."""
        super().prepare()
        cells = [int(np.clip(np.ceil(length / self.radius), 8, 256)) for length in self.spread]
        self.grid = self.warp.HashGrid(*cells, device=self._device)

    def build(self) -> None:
        """The points into their cells."""
        self.grid.build(self.points, self.radius)

    def asked(self) -> list[Any]:
        """Grid, points and radius."""
        return [self.grid.id, self.points, self.radius]


class WarpTree(Warp):
    """warp.Bvh."""

    name = "Warp tree"
    structure = "tree"
    remark = "`Bvh` over points, `rebuild` in place and a query by sphere, in the points' order; else as above"

    def prepare(self) -> None:
        """The tree, whose buffers are used again; it wants two arrays of corners."""
        super().prepare()
        self.tree = self.warp.Bvh(self.points, self.warp.clone(self.points))

    def build(self) -> None:
        """The hierarchy, anew."""
        self.tree.rebuild()

    def asked(self) -> list[Any]:
        """Tree, points, radius and reach."""
        return [self.tree.id, self.points, self.radius, self.radius * (1 + 1e-6)]


PEERS = (WarpGrid, WarpTree)
