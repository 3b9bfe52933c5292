"""nvalchemi-toolkit-ops: its cell list, the list that it chooses itself, and that of all pairs in many systems."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from .peer import Pairs
from .torch_peers import Torch


class Nvalchemi(Torch):
    """Its cell list."""

    name = "nvalchemi"
    module = "nvalchemiops.torch.neighbors.cell_list"
    package = "nvalchemi-toolkit-ops"
    tasks = ("lists", "cells")
    remark = (
        "`build_cell_list` and `query_cell_list`, buffers used again, sorted path; up to four cells a point, as its "
        "default of 524,288 makes cells of four radii in large sparse clouds; a matrix as wide as the longest list, "
        "which it was told, with shifts; radius excluded; no counts alone"
    )

    def __init__(self) -> None:
        warp = importlib.import_module("warp")
        warp.config.log_level = warp.LOG_WARNING  # its greeting does not belong into the tables
        super().__init__()

    def prepare(self) -> None:
        """All buffers; an open box is so large that the points need not be moved for it."""
        torch, cells, lattice = self.torch, self.library, self.question.cell
        if lattice is None:
            box = self.put(np.diag(self.question.points.max(axis=0) + np.float32(self.radius)))[None]
        else:
            box = self.put(lattice)[None]
        periodic = torch.full((3,), lattice is not None, device=self._device)
        many, reach = cells.estimate_cell_list_sizes(box, periodic, self.radius, max_nbins=max(524_288, 4 * self.n))
        allocate = importlib.import_module("nvalchemiops.torch.neighbors.neighbor_utils").allocate_cell_list
        width = self.width()
        self.state = (
            (self.points, self.radius, box, periodic, *allocate(self.n, many, reach, self._device)),
            (self.room(self.n, width), self.room(self.n, width, 3), self.room(self.n)),
            cells.allocate_query_sort_scratch(self.n, dtype=self.points.dtype, device=self._device),
        )

    def width(self) -> int:
        """Places in a row: the longest list, in whole groups of 16."""
        return -(-max(self.widest, 1) // 16) * 16

    def room(self, *shape: int) -> Any:
        """A buffer of integers."""
        return self.torch.zeros(shape, dtype=self.torch.int32, device=self._device)

    def lists(self) -> Any:
        """(n, widest) with places at the end of each row that are not used, (n,) counts, and shifts."""
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
        return matrix, counts, shifts

    def cells(self) -> Any:
        """The same."""
        return self.lists()

    def pairs_of(self, answer: Any) -> Pairs:
        """The used places."""
        matrix, counts, *shifts = (self.columns(tensor) for tensor in answer)
        if counts.max(initial=0) > matrix.shape[1]:
            raise ValueError(f"lists of {matrix.shape[1]} are too short for {counts.max()} neighbors")
        used = np.arange(matrix.shape[1]) < counts[:, None]
        images = shifts[0][used] if self.question.cell is not None else None
        return Pairs(np.repeat(np.arange(self.n, dtype=np.int32), counts), matrix[used], images)


class NvalchemiAuto(Nvalchemi):
    """The list that it chooses and prepares itself, for one system or many."""

    name = "nvalchemi auto"
    module = "nvalchemiops.torch.neighbors"
    tasks = ("lists", "cells", "batches")
    remark = (
        "`prepare_neighbor_list` once, which chooses the method and makes the buffers, and `neighbor_list` with its "
        "state; a matrix as wide as the longest list, which it was told, with shifts in a cell; radius excluded; no "
        "counts alone"
    )

    def prepare(self) -> None:
        """Its state, which holds all buffers."""
        asked, given = self.question, {}
        if asked.cell is not None:
            given = {"cell": self.put(asked.cell), "pbc": self.put(np.ones(3, bool)), "fixed_cell": True}
        if asked.batch is not None:
            given = {"batch_idx": self.put(asked.batch)}
        self.state = self.library.prepare_neighbor_list(self.points, self.radius, max_neighbors=self.width(), **given)

    def lists(self) -> Any:
        """(n, widest) with places at the end of each row that are not used, (n,) counts, and shifts in a cell."""
        return self.library.neighbor_list(self.points, state=self.state)

    def batches(self) -> Any:
        """The same, of all systems."""
        return self.lists()


class NvalchemiBatches(Nvalchemi):
    """Its list of all pairs of each system."""

    name = "nvalchemi batches"
    module = "nvalchemiops.torch.neighbors.batch_naive"
    tasks = ("batches",)
    remark = (
        "`batch_naive_neighbor_list`, which compares all pairs of a system, buffers used again; a matrix as wide as "
        "the longest list, which it was told; radius excluded"
    )

    def prepare(self) -> None:
        """All buffers."""
        systems = self.question.batch
        firsts = np.searchsorted(systems, np.arange(systems[-1] + 2)).astype(np.int32)
        self.state = {
            "batch_idx": self.put(systems),
            "batch_ptr": self.put(firsts),
            "neighbor_matrix": self.room(self.n, self.width()),
            "num_neighbors": self.room(self.n),
        }

    def batches(self) -> Any:
        """(n, widest) with places at the end of each row that are not used, and (n,) counts."""
        return self.library.batch_naive_neighbor_list(self.points, self.radius, **self.state)


PEERS = (Nvalchemi, NvalchemiAuto, NvalchemiBatches)
