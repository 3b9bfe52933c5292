"""Binning by an order: the order of points by cell is found first, and then points are copied in it."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import pyopencl.array as cla

from ....config import INT, WalkConfig
from ....primitives.fill import fill
from ....primitives.radix_sort import sort_positions
from ....primitives.readback import PendingBox
from ....primitives.reduce import bounding_box
from ....primitives.scan import exclusive_scan, scan_selection
from ....runtime.program import Kernel
from ....runtime.scratch import Scratch
from ....runtime.session import Selection, Session
from ...grid_arguments import PackedGrid

__all__ = ["CountingSort", "RadixSort"]

_UINT = np.dtype(np.uint32)


def _compiled(
    session: Session, stem: str, config: WalkConfig, names: tuple[str, ...], cells: int
) -> tuple[Mapping[str, Kernel], WalkConfig]:
    """The kernels of these names in the walk's template; where cells are counted, compiled with those of the scan."""
    selection = Selection(stem, config, names)
    scans = (scan_selection(session, cells, INT),) if "count_cells" in names else ()
    session.compile_together(selection, *scans)
    return session.selected(selection)


class _CellOrder(abc.ABC):
    """See :class:`~clfrnn.methods.grid.binning.binning.Binning`. The kernels are those of the walk, in `stem`."""

    finds_box = False
    finds_starts = True
    disorder = None

    #: the kernels of the walk's template that are launched
    _names: ClassVar[tuple[str, ...]]

    def __init__(self, session: Session, cells: PackedGrid, *, n: int, stem: str, config: WalkConfig) -> None:
        self._session, self._cells, self._n = session, cells, n
        self._kernels, fitted = session.once(_compiled, stem, config, self._names, cells.grid.cells)
        self._size = fitted.work_group_size

    def sort(
        self,
        points: cla.Array,
        starts: Scratch | None,
        places: Scratch,
        box: PendingBox | None,
        images: Scratch | None = None,
    ) -> None:
        """Enqueue what finds the order of the points, and the copy in that order."""
        assert starts is not None
        session, n = self._session, self._n
        if box is not None and not box.placed:
            bounding_box(session, points, box)
        order = self._find_order(points, starts, images)
        session.launch(
            self._kernels["gather_points"],
            n,
            self._size,
            n,
            points.base_data,
            order.base_data,
            places.base_data,
        )

    @abc.abstractmethod
    def _find_order(self, points: cla.Array, starts: Scratch, images: Scratch | None) -> Scratch:
        """Enqueue the kernels that find the index of the point at each place, and the start of each cell."""


class CountingSort(_CellOrder):
    """The order is found by counting the points of each cell in global memory (Hoetzlein 2014).

    Atomic operations are used: the order inside a cell is not repeatable.
    """

    _names = "count_cells", "order_points", "gather_points"

    def _find_order(self, points: cla.Array, starts: Scratch, images: Scratch | None) -> Scratch:
        session, n = self._session, self._n
        counts = session.scratch(self._cells.grid.cells, INT, purpose="the counts of cells")
        addresses, ranks, order = [session.scratch(n, INT, purpose="the cells of points") for _ in range(3)]
        fill(session, counts)
        session.launch(
            self._kernels["count_cells"],
            n,
            self._size,
            n,
            points.base_data,
            *self._cells.arguments(images),
            counts.base_data,
            addresses.base_data,
            ranks.base_data,
        )
        exclusive_scan(session, counts, starts)
        session.launch(
            self._kernels["order_points"],
            n,
            self._size,
            n,
            addresses.base_data,
            ranks.base_data,
            starts.base_data,
            order.base_data,
        )
        return order


class RadixSort(_CellOrder):
    """The order is found by a radix sort of the points' cell addresses (Green 2010).

    Repeatable: the order inside a cell is that of the input.
    """

    _names = "cell_keys", "cell_starts", "gather_points"

    def _find_order(self, points: cla.Array, starts: Scratch, images: Scratch | None) -> Scratch:
        session, n, cells = self._session, self._n, self._cells.grid.cells
        keys = session.scratch(n, _UINT, purpose="the cells of points")
        session.launch(
            self._kernels["cell_keys"],
            n,
            self._size,
            n,
            points.base_data,
            *self._cells.arguments(images),
            keys.base_data,
        )
        keys, order = sort_positions(session, keys, (cells - 1).bit_length())
        session.launch(
            self._kernels["cell_starts"],
            cells + 1,
            self._size,
            n,
            cells,
            keys.base_data,
            starts.base_data,
        )
        return order
