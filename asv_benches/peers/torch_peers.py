"""Peers whose points are PyTorch tensors on a CUDA device."""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .peer import NEAREST, Absent, Array, Pairs, Peer, Question


class Torch(Peer):
    """What these have in common."""

    place = "gpu"
    tasks = ("lists",)
    builds = False
    asynchronous = True
    #: the peer runs on CPUs too, where it is asked for by name
    portable = True

    def __init__(self) -> None:
        super().__init__()
        try:
            self.torch = importlib.import_module("torch")
        except ImportError:
            raise Absent("PyTorch is not installed") from None
        self.cuda = self.torch.cuda.is_available()
        if not self.cuda and not self.portable:
            raise Absent("PyTorch sees no CUDA device")
        self.place = "gpu" if self.cuda else "cpu"
        self._device = self.torch.device("cuda:0" if self.cuda else "cpu")
        self.library = importlib.import_module(self.module)

    @property
    def device(self) -> str:
        """The device, and the PyTorch that leads there."""
        where = self.torch.cuda.get_device_name(self._device) if self.cuda else "CPU"
        return f"{where}, torch {self.torch.__version__}"

    def hold(self, question: Question) -> None:
        """On the device, in its own dtype."""
        super().hold(question)
        self.widest = question.widest
        self.points = self.put(question.points)
        self.finish()

    def put(self, array: Array) -> Any:
        """An array on the device, numbers in the peer's own dtype."""
        dtype = self.dtype if array.dtype.kind == "f" else array.dtype
        return self.torch.from_numpy(np.array(array, dtype=dtype, order="C")).to(self._device)

    def finish(self) -> None:
        """Wait for the device."""
        if self.cuda:
            self.torch.cuda.synchronize(self._device)

    def clocked(self, step: Callable[[], object]) -> tuple[object, float, float | None]:
        """Device time is that between two events on the stream."""
        if not self.cuda:
            return super().clocked(step)
        first, last = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        started = time.perf_counter()
        first.record()
        answer = step()
        last.record()
        self.finish()
        wall = time.perf_counter() - started
        return answer, wall, 1e-3 * first.elapsed_time(last)

    def memory_starts(self) -> None:
        """PyTorch's peak starts anew."""
        if self.cuda:
            self.torch.cuda.reset_peak_memory_stats(self._device)
            self._start = self.torch.cuda.memory_allocated(self._device)

    def memory_peak(self) -> int | None:
        """How far PyTorch's use grew."""
        return int(self.torch.cuda.max_memory_allocated(self._device)) - self._start if self.cuda else None

    def release(self) -> None:
        """Forget tensors, and give the cache back, so that the next peer has the device to itself."""
        self.points = self.state = None
        if self.cuda:
            self.torch.cuda.empty_cache()

    def columns(self, tensor: Any) -> Array:
        """A tensor of ids on the host."""
        return np.asarray(tensor.cpu().numpy())


class VesinCuda(Torch):
    """vesin.NeighborList on CUDA, through PyTorch tensors."""

    name = "vesin CUDA"
    module = "vesin"
    package = "vesin"
    dtype = np.float64
    tasks = ("lists", "cells")
    portable = False
    remark = "as on CPUs, buffers used again; its buffers made for lists of the longest's length"

    def hold(self, question: Question) -> None:
        """In a box of its dtype, to which it would convert otherwise; one of zeros is open."""
        super().hold(question)
        self.box = self.put(np.zeros((3, 3)) if question.cell is None else question.cell)
        self.periodic = self.put(np.full(3, question.cell is not None))

    def prepare(self) -> None:
        """The object that keeps the buffers."""
        # Its buffers hold n times this many pairs; without it, n times 128.
        os.environ["VESIN_CUDA_MAX_PAIRS_PER_POINT"] = str(self.widest + 1)
        self.state = self.library.NeighborList(cutoff=self.radius, full_list=True)

    def lists(self) -> Any:
        """(pairs, 2)."""
        return self.state.compute(self.points, self.box, self.periodic, "P", copy=False)

    def cells(self) -> Any:
        """(pairs, 2) and shifts."""
        return self.state.compute(self.points, self.box, self.periodic, "PS", copy=False)

    def memory_peak(self) -> int | None:
        """Its buffers are its own, and it does not tell."""
        return None

    def pairs_of(self, answer: Any) -> Pairs:
        """Two columns, and shifts in a cell."""
        pairs = self.columns(answer[0].view(self.torch.int64))
        return Pairs(pairs[:, 0], pairs[:, 1], *map(self.columns, answer[1:]))


class TorchCluster(Torch):
    """torch_cluster.radius_graph, which PyTorch Geometric calls."""

    name = "torch-cluster"
    module = "torch_cluster"
    package = "torch-cluster"
    tasks = ("lists", "nearest", "batches")
    remark = (
        "`radius_graph`, told the longest list, and `knn_graph`; compares all pairs of a system on CUDA; "
        "radius excluded; no counts alone"
    )

    def hold(self, question: Question) -> None:
        """With the system of each point, if there are many."""
        super().hold(question)
        self.quadratic = self.cuda and question.batch is None
        self.state = None if question.batch is None else self.put(question.batch.astype(np.int64))

    def lists(self) -> Any:
        """(2, pairs)."""
        return self.library.radius_graph(
            self.points, self.radius, batch=self.state, loop=False, max_num_neighbors=self.widest + 1
        )

    def batches(self) -> Any:
        """(2, pairs), of all systems."""
        return self.lists()

    def nearest(self) -> Any:
        """(2, n k)."""
        return self.library.knn_graph(self.points, NEAREST, loop=True)

    def pairs_of(self, answer: Any) -> Pairs:
        """From target to source, the order of its rows."""
        pairs = self.columns(answer)
        return Pairs(pairs[1], pairs[0])

    def rows_of(self, answer: Any) -> Array:
        """The sources, whose targets come in order."""
        return self.columns(answer)[0].reshape(self.n, NEAREST)


PEERS = (TorchCluster, VesinCuda)
