"""Points and queries in the order of coarse cells: FENNS' first step (Groß, Köster, Krüger 2019, §3.1)."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pyopencl.array as cla

from ...arrays import REAL_OF
from ...domain import CellGrid
from ...period import PeriodicBox
from ...planning.coarse_grid import counting_groups, plan_coarse
from ...primitives.fill import cleared
from ...primitives.readback import PendingBox
from ...runtime.scratch import INT, Scratch
from ...runtime.session import Session
from ..grid_arguments import pack_box, pack_grid
from ..structure import Readers

__all__ = ["CoarseCells", "CoarseSort"]

#: Points that one group counts, at most: its counters are halves of numbers.
_MOST_OF_GROUP = 65535


@dataclasses.dataclass(frozen=True, kw_only=True)
class CoarseCells:
    """Records in the order of cells; of each cell, where its part for other layers, its border, and it itself end."""

    sections: Scratch
    records: Scratch


class CoarseSort:
    """A sort into the coarse cells of a grid, for as many clouds as come.

    ``numbers`` are those of the grid, and of a periodic box, as kernels take them.
    """

    def __init__(self, session: Session, grid: CellGrid, dtype: np.dtype[Any], box: PeriodicBox | None) -> None:
        real = REAL_OF[dtype]
        boxed = () if box is None else pack_box(box, grid.low, real, dtype)
        self.session, self.dtype, self.dim, self.cells = session, dtype, len(grid.shape), grid.cells
        self.numbers: tuple[Any, ...] = (*pack_grid(grid, dtype), *boxed)
        self._kernels, self._config = session.planned(
            "fenns/coarse_sort", plan_coarse, dim=self.dim, real=real, periodic=box is not None
        )

    def points(self, points: cla.Array, widest: np.floating[Any], box: PendingBox, *images: Scratch) -> CoarseCells:
        """Enqueue the sort of `points`, of each cell those first that a reach of `widest` takes to another cell.

        Finds their box also. The images of points at home are found by the numbers of the points. Three launches,
        or one for few points. 12 bytes a cell besides the records; 8 stay at zero in the session for the next sort.
        """
        return self._sort(points, 2, widest, box, images)

    def queries(self, queries: cla.Array, box: PendingBox, *images: Scratch) -> CoarseCells:
        """Enqueue the sort of `queries`, and find their box. Their images are found by the numbers of any position."""
        return self._sort(queries, 1, self.dtype.type(0), box, images)

    def readers(self, records: Scratch) -> Readers:
        """What reads points and their numbers back from records."""
        return Readers(self._kernels, self._config.work_group_size, records)

    def _sort(
        self, rows: cla.Array, of: int, widest: np.floating[Any], box: PendingBox, images: tuple[Scratch, ...]
    ) -> CoarseCells:
        session, config, n = self.session, self._config, rows.shape[0]
        size = config.work_group_size
        sections = session.scratch(3 * self.cells, INT, purpose="the sections of cells")
        records = session.scratch(4 * n, self.dtype, purpose="the sorted copy of the points")
        placed = (sections.base_data, records.base_data)
        seen = (n, of, widest, rows.base_data, *self.numbers, *(each.base_data for each in images))
        if n <= session.tuning.fenns.few_of_item * size and 3 * self.cells <= config.counters:
            session.launch(self._kernels["place_coarse"], size, size, *seen, *placed, *box.arguments)
        else:
            inner = self._count(n, seen, sections, box)
            session.launch(
                self._kernels["sort_coarse"], n, size, *seen, sections.base_data, inner.base_data, records.base_data
            )
        return CoarseCells(sections=sections, records=records)

    def _count(self, n: int, seen: tuple[Any, ...], sections: Scratch, box: PendingBox) -> Scratch:
        """Counters at the ends of cells; in `sections`, where each begins; the box of the rows."""
        session, kernels, config = self.session, self._kernels, self._config
        size, groups = config.work_group_size, self._groups(n)
        boxes = session.scratch(groups * (2 * self.dim + 1), self.dtype, purpose="the bounding boxes of groups")
        inner = session.scratch(config.spread * self.cells, INT, purpose="counters of cells")
        counts = cleared(session, 2 * self.cells, purpose="the counts of cells")
        session.launch(
            kernels["count_coarse"],
            groups * size,
            size,
            *seen,
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
        """As many groups as count at once, or as it takes for their counters."""
        session, size = self.session, self._config.work_group_size
        return max(-(-n // (_MOST_OF_GROUP - size)), counting_groups(session.profile, session.tuning, n, size))
