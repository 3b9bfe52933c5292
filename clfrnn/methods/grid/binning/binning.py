"""Binning: sorts points, or foreign queries, by the cells of a grid."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyopencl.array as cla

from ....config import INT, WalkConfig, sorted_copy_length
from ....domain.cells import CellGrid, torus_like
from ....points.deferred_checks import DeferredChecks
from ....primitives.readback import PendingBox
from ....problem import Problem
from ....runtime.scratch import Scratch
from ....runtime.session import Session
from ...domain_tables.tables import Images
from ...grid_arguments import PackedGrid, pack_cells
from .bucket_sort import BucketSort
from .cell_order import CountingSort, RadixSort
from .plan import BinningPlan, plan_binning
from .region_sort import RegionSort
from .select_cells import SelectCells
from .serial_cells import SerialCells

__all__ = ["Binner", "Binning", "Bins", "Layout"]


class Binning(Protocol):
    """A way of sorting points into the cells of one grid, for any number of updates with one number of points."""

    @property
    def finds_box(self) -> bool:
        """Whether the kernels also find the bounding box of the points."""

    @property
    def finds_starts(self) -> bool:
        """Whether the kernels find the start of each cell."""

    @property
    def disorder(self) -> Scratch | None:
        """An int32 on the device that is 0 where the last points came nearly in the order of cells, or None.

        It lies at the same address for every update.
        """

    def sort(
        self,
        points: cla.Array,
        starts: Scratch | None,
        places: Scratch,
        box: PendingBox | None,
        images: Scratch | None = None,
    ) -> None:
        """Enqueue the sort of `points`, (n, dim).

        Parameters
        ----------
        starts : (cells + 1,) int32, the start of each cell, written where :attr:`finds_starts`
        places : the sorted copy of the points, in the layout of the walk
        box : receives the bounding box; without :attr:`finds_box` it is found only where nobody has found it yet, and
            None is accepted where nobody needs it
        images : the image table
        """


@dataclasses.dataclass(frozen=True, kw_only=True)
class Layout:
    """Cells and the way of binning, which depend on no positions of points."""

    cells: PackedGrid
    plan: BinningPlan
    binning: Binning
    #: the number of points
    rows: np.int32

    @property
    def grid(self) -> CellGrid:
        """The cells."""
        return self.cells.grid


class Bins(NamedTuple):
    """Points in the cells of one layout: the start of each cell, and the sorted copy of the points."""

    layout: Layout
    starts: Scratch
    places: Scratch
    #: the domain of the points on the device, and their images
    images: Images
    #: the arguments of the walk
    walk: tuple[Any, ...]


class Binner:
    """Sorts the points of one index and its foreign queries into cells; `stem` is the template of the walk."""

    def __init__(
        self,
        session: Session,
        problem: Problem,
        checks: DeferredChecks,
        *,
        stem: str,
        config: WalkConfig,
        dtype: np.dtype[Any],
    ) -> None:
        self._session, self._problem, self._checks = session, problem, checks
        self._stem, self._config, self._dtype = stem, config, dtype

    def lay_out(self, grid: CellGrid, plan: BinningPlan, n: int, *, tiles: bool = False) -> Layout:
        """The layout of `n` rows in the cells of `grid`; with `tiles`, see :class:`~.bucket_sort.BucketSort`."""
        cells = pack_cells(grid, self._dtype, self._problem.domain)
        return Layout(cells=cells, plan=plan, binning=self._binning_of(cells, plan, n, tiles=tiles), rows=np.int32(n))

    def _binning_of(self, cells: PackedGrid, plan: BinningPlan, n: int, *, tiles: bool) -> Binning:
        session, config = self._session, self._config
        match plan.way:
            case "serial_cells":
                return SerialCells(session, cells, n=n, layout=config.layout)
            case "select_cells":
                return SelectCells(session, cells, plan, n=n, layout=config.layout)
            case "bucket_sort":
                return BucketSort(session, cells, plan, n=n, layout=config.layout, tiles=tiles)
            case "region_sort":
                return RegionSort(session, cells, plan, n=n, layout=config.layout, tiles=tiles)
            case "counting_sort":
                return CountingSort(session, cells, n=n, stem=self._stem, config=config)
            case "radix_sort":
                return RadixSort(session, cells, n=n, stem=self._stem, config=config)

    def lay_out_queries(self, grid: CellGrid, m: int) -> Layout:
        """The layout of `m` foreign queries: cells like those of `grid`, on a torus, as queries may lie anywhere."""
        torus = torus_like(grid, m)
        problem = dataclasses.replace(self._problem, n=m)
        session = self._session
        plan = plan_binning(session.profile, session.tuning, problem=problem, grid=torus, tiles=True)
        return self.lay_out(torus, plan, m, tiles=True)

    def bin(
        self, points: cla.Array, bounds: PendingBox | None, layout: Layout, images: Images, *, purpose: str
    ) -> Bins:
        """Sort `points` into the cells of `layout`; `bounds` receives their bounding box, unless it has it already."""
        starts, places = self._new_starts(layout), self._new_places(points.shape[0], purpose)
        layout.binning.sort(points, starts, places, self._box_receiver(layout, bounds), images.table)
        walk = layout.rows, places.base_data, starts.base_data, *layout.cells.numbers, *images.arguments
        return Bins(layout, starts, places, images, walk)  # positional, as keywords take the host twice as long

    def order_queries(self, queries: cla.Array, bounds: PendingBox | None, layout: Layout, images: Images) -> Scratch:
        """Return a copy of `queries` in the order of the cells of `layout`; `bounds` as in :meth:`bin`."""
        starts = self._new_starts(layout) if layout.binning.finds_starts else None
        places = self._new_places(queries.shape[0], "queries")
        layout.binning.sort(queries, starts, places, self._box_receiver(layout, bounds), images.table)
        return places

    def _box_receiver(self, layout: Layout, bounds: PendingBox | None) -> PendingBox | None:
        """The receiver of the bounding box, a new one where the kernels find a box that nobody needs."""
        return self._checks.slot() if bounds is None and layout.binning.finds_box else bounds

    def _new_starts(self, layout: Layout) -> Scratch:
        return self._session.scratch(layout.cells.grid.cells + 1, INT, purpose="the starts of cells")

    def _new_places(self, n: int, purpose: str) -> Scratch:
        size = sorted_copy_length(self._config.layout, self._problem.dim, n)
        return self._session.scratch(size, self._dtype, purpose=f"the sorted copy of the {purpose}")
