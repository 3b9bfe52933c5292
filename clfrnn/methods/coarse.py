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

#: Points that one group counts, at most: its counters are halves of numbers.
_MOST_OF_GROUP = 65535

#: Points for each item of the group that sorts few points alone, in one launch instead of three.
_FEW_OF_ITEM = 32


@dataclasses.dataclass(frozen=True, kw_only=True)
class CoarseCells:
    """Records in the order of cells; of each cell, where its part for other layers, its border, and it itself end."""

    sections: Scratch
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

        Finds their box also. The images of points at home are found by the numbers of the points. Three launches,
        or one for few points. 12 bytes a cell besides the records; 8 stay at zero in the session for the next sort.
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
        sections = session.scratch(3 * self.cells, INT, purpose="the sections of cells")
        records = session.scratch(4 * n, self.dtype, purpose="the sorted copy of the points")
        told = (np.int32(n), np.int32(of), self.dtype.type(widest), rows.base_data, *self.numbers)
        if n <= _FEW_OF_ITEM * config.work_group_size and 3 * self.cells <= config.counters:
            session.launch(
                kernels["place_coarse"],
                config.work_group_size,
                config.work_group_size,
                *told,
                sections.base_data,
                records.base_data,
                *box.arguments,
            )
            return CoarseCells(sections=sections, records=records)
        inner = self._count(n, told, sections, box)
        session.launch(
            kernels["sort_coarse"],
            n,
            config.work_group_size,
            *told,
            sections.base_data,
            inner.base_data,
            records.base_data,
        )
        return CoarseCells(sections=sections, records=records)

    def _count(self, n: int, told: tuple[Any, ...], sections: Scratch, box: PendingBox) -> Scratch:
        """Counters at the ends of cells; in `sections`, where each begins; the box of the rows."""
        session = self.session
        kernels, config = self._planned()
        size, groups = config.work_group_size, self._groups(n, config)
        boxes = session.scratch(groups * (2 * self.dim + 1), self.dtype, purpose="the bounding boxes of groups")
        inner = session.scratch(config.spread * self.cells, INT, purpose="counters of cells")
        counts = self._cleared()
        session.launch(
            kernels["count_coarse"],
            groups * size,
            size,
            *told,
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
            sections.base_data,
            inner.base_data,
            boxes.base_data,
            *box.arguments,
        )
        session.keep_cleared(counts)
        return inner

    def _cleared(self) -> Scratch:
        """Counters at zero: those that the last sort into as many cells has left, or new ones."""
        counts = self.session.take_cleared(2 * self.cells)
        if counts is None:
            counts = self.session.scratch(2 * self.cells, INT, purpose="the counts of cells")
            fill(self.session, counts)
        return counts

    def _groups(self, n: int, config: CoarseConfig) -> int:
        """As many groups as count at once, but not so many that they have nothing to count together."""
        most = self.session.profile.compute_units * _GROUPS_A_UNIT
        least = -(-n // (_MOST_OF_GROUP - config.work_group_size))
        return max(least, min(most, -(-n // config.work_group_size)))

    def _planned(self) -> tuple[dict[str, Kernel], CoarseConfig]:
        real = REAL_OF[self.dtype]
        return self.session.planned("coarse", plan_coarse, dim=self.dim, real=real, periodic=self.periodic)
