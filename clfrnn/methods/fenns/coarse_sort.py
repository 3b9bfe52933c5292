"""Sorts points and queries by coarse cell: the first step of FENNS (Groß, Köster, Krüger 2019, §3.1)."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pyopencl.array as cla

from ...config import INT
from ...domain.cells import CellGrid
from ...primitives.fill import cleared
from ...primitives.readback import PendingBox
from ...problem import Problem
from ...runtime.scratch import Scratch
from ...runtime.session import Session
from ..domain_tables.tables import Images
from ..grid.coarse_plan import counting_groups, plan_coarse
from ..grid_arguments import pack_box, pack_grid
from ..structure import Readers

__all__ = ["CoarseCells", "CoarseSort"]

#: Largest number of points that one work-group counts, as its counters have 16 bits.
_MOST_OF_GROUP = 65535


@dataclasses.dataclass(frozen=True, kw_only=True)
class CoarseCells:
    """The sorted copy of points or queries, and where the sections of each cell end.

    ``records`` holds four numbers for each point: its coordinates and its index. ``sections`` holds three int32 for
    each cell: the ends of the points that queries in other layers of cells may see, of the other points near the
    border, and of all points of the cell. A layer is all cells with the same coordinate on the last axis.
    """

    sections: Scratch
    records: Scratch


class CoarseSort:
    """Sorts points and queries into the coarse cells of one grid.

    ``numbers`` are the arguments of the grid, and of the periodic box if there is one, as kernels take them.
    """

    def __init__(self, session: Session, grid: CellGrid, dtype: np.dtype[Any], problem: Problem) -> None:
        boxed = pack_box(problem.domain, grid.low, dtype)
        self.session, self.dtype, self.dim, self.cells = session, dtype, len(grid.shape), grid.cells
        self.numbers: tuple[Any, ...] = (*pack_grid(grid, dtype), *boxed)
        self._kernels, self._config = session.planned(
            "methods/fenns/coarse_sort", plan_coarse, dim=self.dim, real=problem.real, periodic=problem.periodic
        )

    def points(self, points: cla.Array, widest: np.floating[Any], box: PendingBox, images: Images) -> CoarseCells:
        """Enqueue the sort of `points`, which also finds their bounding box.

        Points from which a window of half width `widest` reaches into another cell count as near the border. Where all
        points lie inside the periodic box, they are sorted as they are. Cost: three launches, or one for few points;
        besides the records 12 bytes for each cell, and 8 bytes for each cell that the session reuses for the next sort.
        """
        return self._sort(points, 2, widest, box, images)

    def queries(self, queries: cla.Array, box: PendingBox, images: Images) -> CoarseCells:
        """Enqueue the sort of `queries`, which may lie anywhere and also finds their bounding box."""
        return self._sort(queries, 1, self.dtype.type(0), box, images)

    def readers(self, records: Scratch) -> Readers:
        """The kernels that read points and their indices back from `records`."""
        return Readers(self._kernels, self._config.work_group_size, records)

    def _sort(self, rows: cla.Array, of: int, widest: np.floating[Any], box: PendingBox, images: Images) -> CoarseCells:
        session, config, n = self.session, self._config, rows.shape[0]
        size = config.work_group_size
        sections = session.scratch(3 * self.cells, INT, purpose="the sections of cells")
        records = session.scratch(4 * n, self.dtype, purpose="the sorted copy of the points")
        placed = (sections.base_data, records.base_data)
        shared = (n, of, widest, rows.base_data, *self.numbers, *images.arguments)
        if n <= session.tuning.fenns.few_of_item * size and 3 * self.cells <= config.counters:
            session.launch(self._kernels["place_coarse"], size, size, *shared, *placed, *box.arguments)
        else:
            inner = self._count(n, shared, sections, box)
            session.launch(
                self._kernels["sort_coarse"], n, size, *shared, sections.base_data, inner.base_data, records.base_data
            )
        return CoarseCells(sections=sections, records=records)

    def _count(self, n: int, shared: tuple[Any, ...], sections: Scratch, box: PendingBox) -> Scratch:
        """Enqueue the count of rows in each cell, and write the start of each cell to `sections`.

        The same launches find the bounding box of the rows. Returns the counters that the sort takes for inner points.
        """
        session, kernels, config = self.session, self._kernels, self._config
        size, groups = config.work_group_size, self._groups(n)
        boxes = session.scratch(groups * (2 * self.dim + 1), self.dtype, purpose="the bounding boxes of groups")
        inner = session.scratch(config.spread * self.cells, INT, purpose="counters of cells")
        counts = cleared(session, 2 * self.cells, purpose="the counts of cells")
        session.launch(
            kernels["count_coarse"],
            groups * size,
            size,
            *shared,
            counts.base_data,
            boxes.base_data,
        )
        session.launch(
            kernels["start_coarse"],
            size,
            size,
            self.cells,
            groups,
            counts.base_data,
            sections.base_data,
            inner.base_data,
            boxes.base_data,
            *box.arguments,
        )
        session.keep_cleared(counts)
        return inner

    def _groups(self, n: int) -> int:
        """The number of work-groups that count n rows, at least as many as their 16-bit counters require."""
        session, size = self.session, self._config.work_group_size
        return max(-(-n // (_MOST_OF_GROUP - size)), counting_groups(session.profile, session.tuning, n, size))
