"""Points and queries in the order of coarse cells: FENNS' first step (Groß, Köster, Krüger 2019, §3.1)."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pyopencl.array as cla

from ..arrays import REAL_OF
from ..blocks import CoarseConfig, plan_coarse
from ..primitives.fill import fill
from ..primitives.reduce import PendingBox
from ..program import Kernel
from ..session import INT, Scratch, Session

__all__ = ["CoarseCells", "CoarseSort"]

#: Groups that count on one compute unit: its local memory holds no more.
_GROUPS_A_UNIT = 2


@dataclasses.dataclass(frozen=True, kw_only=True)
class CoarseCells:
    """Records in the order of cells, where each cell starts, and where its border ends."""

    starts: Scratch
    borders: Scratch
    records: Scratch


@dataclasses.dataclass(frozen=True, kw_only=True)
class CoarseSort:
    """A sort into `cells` cells, whose ``numbers`` are those of a CellGrid as kernels take them."""

    session: Session
    dim: int
    dtype: np.dtype[Any]
    periodic: bool
    cells: int
    numbers: tuple[Any, ...]

    def points(self, points: cla.Array, widest: float, box: PendingBox) -> CoarseCells:
        """Enqueue the sort of `points`, of each cell those first that a reach of `widest` takes to another cell.

        Finds their box also. The images of points at home are found by the numbers of the points. Three launches.
        8 bytes a cell besides the records; 4 more go back to the pool, and 4 stay at zero for the next sort.
        """
        return self._sort(points, 2, widest, box)

    def queries(self, queries: cla.Array, box: PendingBox) -> CoarseCells:
        """Enqueue the sort of `queries`, and find their box. Their images are found by the numbers of any position."""
        return self._sort(queries, 1, 0.0, box)

    def order(self, records: Scratch, n: int) -> cla.Array:
        """The numbers of `n` points in the order of their records. One launch."""
        kernels, config = self._planned()
        order = self.session.allocate(n, np.int32, purpose="the order of points")
        event = self.session.launch(
            kernels["coarse_order"], n, config.work_group_size, np.int32(n), records.base_data, order.base_data
        )
        self.session.publish(event, order)
        return order

    def _sort(self, rows: cla.Array, of: int, widest: float, box: PendingBox) -> CoarseCells:
        session, n = self.session, rows.shape[0]
        kernels, config = self._planned()
        starts = session.scratch(self.cells + 1, INT, purpose="the starts of cells")
        borders = session.scratch(self.cells, INT, purpose="the ends of cells' borders")
        records = session.scratch(4 * n, self.dtype, purpose="the sorted copy of the points")
        counts = self._count(rows, of, starts, borders, box)
        session.launch(
            kernels["sort_coarse"],
            n,
            config.work_group_size,
            np.int32(n),
            np.int32(of),
            self.dtype.type(widest),
            rows.base_data,
            *self.numbers,
            counts.base_data,
            borders.base_data,
            records.base_data,
        )
        return CoarseCells(starts=starts, borders=borders, records=records)

    def _count(self, rows: cla.Array, of: int, starts: Scratch, borders: Scratch, box: PendingBox) -> Scratch:
        """Where each cell ends; in `starts` and `borders`, where it starts; the box of the rows."""
        session, n = self.session, rows.shape[0]
        kernels, config = self._planned()
        size, groups = config.work_group_size, self._groups(n, config)
        boxes = session.scratch(groups * (2 * self.dim + 1), self.dtype, purpose="the bounding boxes of groups")
        counts, cleared = self._cleared(), session.scratch(self.cells, INT, purpose="the counts of cells")
        session.launch(
            kernels["count_coarse"],
            groups * size,
            size,
            np.int32(n),
            np.int32(of),
            rows.base_data,
            *self.numbers,
            counts.base_data,
            boxes.base_data,
        )
        session.launch(
            kernels["start_coarse"],
            size,
            size,
            np.int32(self.cells),
            np.int32(groups),
            counts.base_data,
            starts.base_data,
            borders.base_data,
            cleared.base_data,
            boxes.base_data,
            *box.arguments,
        )
        session.keep_cleared(cleared)
        return counts

    def _cleared(self) -> Scratch:
        """Counters at zero: those that the last sort into as many cells has left, or new ones."""
        counts = self.session.take_cleared(self.cells)
        if counts is None:
            counts = self.session.scratch(self.cells, INT, purpose="the counts of cells")
            fill(self.session, counts)
        return counts

    def _groups(self, n: int, config: CoarseConfig) -> int:
        """As many groups as count at once, but not so many that they have nothing to count together."""
        most = self.session.profile.compute_units * _GROUPS_A_UNIT
        return min(most, -(-n // config.work_group_size))

    def _planned(self) -> tuple[dict[str, Kernel], CoarseConfig]:
        real = REAL_OF[self.dtype]
        return self.session.planned("coarse", plan_coarse, dim=self.dim, real=real, periodic=self.periodic)
