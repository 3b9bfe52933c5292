"""Binning of few points by work-groups that each read all points, which is faster than several launches."""

from __future__ import annotations

import pyopencl.array as cla

from ....primitives.readback import PendingBox
from ....runtime.scratch import Scratch
from ....runtime.session import Session
from ...grid_arguments import PackedGrid
from .config import plan_select_cells
from .plan import BinningPlan

__all__ = ["SelectCells"]


class SelectCells:
    """Each work-group selects the points of its bucket. See :class:`~clfrnn.methods.grid.binning.binning.Binning`.

    Atomic operations are used: the order inside a cell is not repeatable.
    """

    finds_box = True
    finds_starts = True
    disorder = None

    def __init__(self, session: Session, cells: PackedGrid, plan: BinningPlan, *, n: int, layout: str) -> None:
        self._session, self._cells, self._n = session, cells, n
        self._kernels, config = session.planned(
            "methods/grid/binning/select_cells", plan_select_cells, **cells.facts, layout=layout
        )
        self._size, self._shift = config.work_group_size, plan.shift
        self._groups = plan.buckets + 1  # the last group finds the bounding box

    def sort(
        self,
        points: cla.Array,
        starts: Scratch | None,
        places: Scratch,
        box: PendingBox | None,
        images: Scratch | None = None,
    ) -> None:
        """One launch."""
        assert starts is not None
        assert box is not None
        self._session.launch(
            self._kernels["select_cells"],
            self._groups * self._size,
            self._size,
            self._n,
            self._shift,
            self._cells.grid.cells,
            points.base_data,
            *self._cells.arguments(images),
            starts.base_data,
            places.base_data,
            *box.arguments,
        )
