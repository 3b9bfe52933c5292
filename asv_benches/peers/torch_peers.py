"""Peers whose points are PyTorch tensors on a CUDA device."""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .peer import Absent, Array, Pairs, Peer


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

    def hold(self, points: Array, radius: float, widest: int) -> None:
        """On the device, in its own dtype."""
        self.n, self.radius, self.widest = len(points), radius, widest
        self.points = self.torch.from_numpy(np.ascontiguousarray(points, dtype=self.dtype)).to(self._device)
        self.high = points.max(axis=0)
        self.finish()

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


class Nvalchemi(Torch):
    """nvalchemi-toolkit-ops, its cell list."""

    name = "nvalchemi"
    module = "nvalchemiops.torch.neighbors.cell_list"
    package = "nvalchemi-toolkit-ops"
    remark = (
        "`build_cell_list` and `query_cell_list`, buffers used again, sorted path; up to four cells a point, as its "
        "default of 524,288 makes cells of four radii in large sparse clouds; a matrix as wide as the longest list, "
        "which it was told, with shifts; an open ball; no counts alone"
    )

    def __init__(self) -> None:
        warp = importlib.import_module("warp")
        warp.config.log_level = warp.LOG_WARNING  # its greeting does not belong into the tables
        super().__init__()

    def prepare(self) -> None:
        """All buffers, for a box that is not periodic and that the points need not be moved for."""
        torch, cells = self.torch, self.library
        lengths = torch.tensor([float(length) + self.radius for length in self.high], dtype=self.points.dtype)
        box = torch.diag(lengths).reshape(1, 3, 3).to(self._device)
        periodic = torch.zeros(3, dtype=torch.bool, device=self._device)
        many, reach = cells.estimate_cell_list_sizes(box, periodic, self.radius, max_nbins=max(524_288, 4 * self.n))
        allocate = importlib.import_module("nvalchemiops.torch.neighbors.neighbor_utils").allocate_cell_list
        width = -(-max(self.widest, 1) // 16) * 16

        def room(*shape: int) -> Any:
            return torch.zeros(shape, dtype=torch.int32, device=self._device)

        self.state = (
            (self.points, self.radius, box, periodic, *allocate(self.n, many, reach, self._device)),
            (room(self.n, width), room(self.n, width, 3), room(self.n)),
            cells.allocate_query_sort_scratch(self.n, dtype=self.points.dtype, device=self._device),
        )

    def lists(self) -> Any:
        """(n, widest) with places at the end of each row that are not used, and (n,) counts."""
        cloud, (matrix, shifts, counts), (positions, moved) = self.state
        counts.zero_()
        self.library.build_cell_list(*cloud)
        self.library.query_cell_list(
            *cloud,
            matrix,
            shifts,
            counts,
            strategy="atom_centric",
            atom_centric_path="sorted",
            sorted_positions=positions,
            sorted_shifts=moved,
        )
        return matrix, counts

    def pairs_of(self, answer: Any) -> Pairs:
        """The used places."""
        matrix, counts = (self.columns(tensor) for tensor in answer)
        if counts.max(initial=0) > matrix.shape[1]:
            raise ValueError(f"lists of {matrix.shape[1]} are too short for {counts.max()} neighbors")
        used = np.arange(matrix.shape[1]) < counts[:, None]
        return Pairs(np.repeat(np.arange(self.n, dtype=np.int32), counts), matrix[used])


class VesinCuda(Torch):
    """vesin.NeighborList on CUDA, through PyTorch tensors."""

    name = "vesin CUDA"
    module = "vesin"
    package = "vesin"
    dtype = np.float64
    portable = False
    remark = "as on CPUs, buffers used again; its buffers made for lists of the longest's length"

    def hold(self, points: Array, radius: float, widest: int) -> None:
        """In an open box of its dtype, to which it would convert otherwise."""
        super().hold(points, radius, widest)
        self.box = self.torch.zeros((3, 3), dtype=self.torch.float64, device=self._device)
        self.open = self.torch.zeros(3, dtype=self.torch.bool, device=self._device)

    def prepare(self) -> None:
        """The object that keeps the buffers."""
        # Its buffers hold n times this many pairs; without it, n times 128.
        os.environ["VESIN_CUDA_MAX_PAIRS_PER_POINT"] = str(self.widest + 1)
        self.state = self.library.NeighborList(cutoff=self.radius, full_list=True)

    def lists(self) -> Any:
        """(pairs, 2)."""
        (pairs,) = self.state.compute(self.points, self.box, self.open, "P", copy=False)
        return pairs

    def memory_peak(self) -> int | None:
        """Its buffers are its own, and it does not tell."""
        return None

    def pairs_of(self, answer: Any) -> Pairs:
        """Two columns."""
        pairs = self.columns(answer.view(self.torch.int64))
        return Pairs(pairs[:, 0], pairs[:, 1])


class TorchCluster(Torch):
    """torch_cluster.radius_graph."""

    name = "torch-cluster"
    module = "torch_cluster"
    package = "torch-cluster"
    remark = "`radius_graph`, told the longest list; compares all pairs on CUDA; an open ball; no counts alone"

    def __init__(self) -> None:
        super().__init__()
        self.quadratic = self.cuda

    def lists(self) -> Any:
        """(2, pairs)."""
        return self.library.radius_graph(self.points, self.radius, loop=False, max_num_neighbors=self.widest + 1)

    def pairs_of(self, answer: Any) -> Pairs:
        """From target to source, the order of its rows."""
        pairs = self.columns(answer)
        return Pairs(pairs[1], pairs[0])


PEERS = (Nvalchemi, TorchCluster, VesinCuda)
