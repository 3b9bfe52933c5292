"""Binning: points, or queries that are no points, brought into the order of the cells of a grid."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyopencl.array as cla

from ...domain import CellGrid, torus_like
from ...inputs.deferred_checks import DeferredChecks
from ...planning.binning import BinningPlan, plan_binning
from ...planning.configs import WalkConfig, room_for_points
from ...planning.problem import Problem
from ...primitives.readback import PendingBox
from ...runtime.scratch import INT, Scratch
from ...runtime.session import Session
from ..grid_arguments import PackedGrid, pack_cells
from .bucket_sort import BucketSort
from .cell_order import CountingSort, RadixSort
from .region_sort import RegionSort
from .select_cells import SelectCells
from .serial_cells import SerialCells

__all__ = ["Binner", "Binning", "Bins", "Layout"]


class Binning(Protocol):
    """A way to bring points into the cells of one grid, for as many clouds as come, of as many points each."""

    @property
    def finds_box(self) -> bool:
        """Whether the kernels find the box of the points, so that nobody needs to find it before."""

    @property
    def finds_starts(self) -> bool:
        """Whether the kernels find where each cell starts."""

    @property
    def disorder(self) -> Scratch | None:
        """An int32 of the device, 0 where the last points came nearly in the order of cells; None if nobody finds it.

        The place is the same for every cloud.
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
        starts : (cells + 1,), where each cell comes to start, if the way finds that
        places : the copy of the points in the order of cells, in the layout of the walk
        box : where the box of the points comes to lie; a way that finds no box finds one only if nobody has before,
            and takes None where nobody needs it
        images : the numbers by which periodic images are found
        """


@dataclasses.dataclass(frozen=True, kw_only=True)
class Layout:
    """Cells, and how points come into them: what depends on no positions."""

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
    """Points in the cells of one layout: where each cell starts, and the sorted copy of the points."""

    layout: Layout
    starts: Scratch
    places: Scratch
    #: the numbers of periodic images where there are any
    images: Scratch | None
    #: the arguments of the walk
    walk: tuple[Any, ...]


class Binner:
    """Brings rows of coordinates into cells: points of one index, whose walk is in the template `stem`, and queries."""

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
        """How `n` rows come into the cells of `grid`; with `tiles`, buckets are not divided into cells."""
        cells = pack_cells(grid, self._dtype, self._problem.box)
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
        """How `m` queries come into cells like those of `grid`, on a torus, as they may lie anywhere."""
        torus = torus_like(grid, m)
        problem = dataclasses.replace(self._problem, n=m)
        plan = plan_binning(self._session.profile, problem=problem, grid=torus, tiles=True)
        return self.lay_out(torus, plan, m, tiles=True)

    def bin(
        self, points: cla.Array, bounds: PendingBox | None, layout: Layout, images: Scratch | None, *, purpose: str
    ) -> Bins:
        """`points` in the cells of `layout`; their box comes to lie in `bounds`, unless it does already."""
        starts, places = self._take_starts(layout), self._take_places(points.shape[0], purpose)
        layout.binning.sort(points, starts, places, self._place_of_box(layout, bounds), images)
        walk = layout.rows, places.base_data, starts.base_data, *layout.cells.arguments(images)
        return Bins(layout, starts, places, images, walk)  # by place, as names take the host twice as long

    def order_queries(
        self, queries: cla.Array, bounds: PendingBox | None, layout: Layout, images: Scratch | None
    ) -> Scratch:
        """A copy of `queries` in the order of the cells of `layout`; of `bounds` as in :meth:`bin`."""
        starts = self._take_starts(layout) if layout.binning.finds_starts else None
        places = self._take_places(queries.shape[0], "queries")
        layout.binning.sort(queries, starts, places, self._place_of_box(layout, bounds), images)
        return places

    def _place_of_box(self, layout: Layout, bounds: PendingBox | None) -> PendingBox | None:
        """Where a box comes to lie that kernels find on the way, also where nobody asked for it."""
        return self._checks.slot() if bounds is None and layout.binning.finds_box else bounds

    def _take_starts(self, layout: Layout) -> Scratch:
        return self._session.scratch(layout.grid.cells + 1, INT, purpose="the starts of cells")

    def _take_places(self, n: int, purpose: str) -> Scratch:
        size = room_for_points(self._config.layout, self._problem.dim, n)
        return self._session.scratch(size, self._dtype, purpose=f"the sorted copy of the {purpose}")
