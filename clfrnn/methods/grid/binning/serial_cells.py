"""Binning of few points by one work-item, which is faster than several launches."""

from __future__ import annotations

import pyopencl.array as cla

from ....primitives.readback import PendingBox
from ....runtime.scratch import Scratch
from ....runtime.session import Session
from ...grid_arguments import PackedGrid
from .config import plan_serial_cells

__all__ = ["SerialCells"]


class SerialCells:
    """One work-item counts the points of each cell and places them.

    The order inside a cell is that of the input. See :class:`~clfrnn.methods.grid.binning.binning.Binning`.
    """

    finds_box = True
    finds_starts = True
    disorder = None

    def __init__(self, session: Session, cells: PackedGrid, *, n: int, layout: str) -> None:
        self._session, self._cells, self._n = session, cells, n
        self._kernels, _ = session.planned(
            "methods/grid/binning/serial_cells", plan_serial_cells, **cells.facts, layout=layout
        )

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
            self._kernels["serial_cells"],
            1,
            1,
            self._n,
            self._cells.grid.cells,
            points.base_data,
            *self._cells.arguments(images),
            starts.base_data,
            places.base_data,
            *box.arguments,
        )
