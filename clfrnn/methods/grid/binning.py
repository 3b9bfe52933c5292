"""Bins: points, or queries that are no points, in the order of cells."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import pyopencl.array as cla

from ...domain import CellGrid, torus_like
from ...inputs.deferred_checks import DeferredChecks
from ...planning.binning import BinningPlan, plan_binning
from ...planning.configs import WalkConfig, room_for_points
from ...planning.problem import Problem
from ...primitives.fill import fill
from ...primitives.radix_sort import sort_positions
from ...primitives.readback import PendingBox
from ...primitives.reduce import bounding_box
from ...primitives.scan import exclusive_scan, scan_selection
from ...runtime.program import Kernel
from ...runtime.scratch import INT, Scratch
from ...runtime.session import Selection, Session
from ..grid_arguments import pack_box, pack_grid
from .bucket_sort import BucketSort

__all__ = ["Binning", "Bins", "Layout"]

_UINT = np.dtype(np.uint32)

#: The kernels that are launched for points whose order is found by counting, and by sorting.
_COUNTING = "count_cells", "order_points", "gather_points"
_SORTING = "cell_keys", "cell_starts", "gather_points"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Layout:
    """Cells, and how points come into them: what depends on no positions."""

    grid: CellGrid
    #: None where points are sorted
    filling: BinningPlan | None
    #: the numbers of the grid, and of a periodic box, as kernels take them
    numbers: tuple[Any, ...]
    #: what brings them there together
    sort: BucketSort | None
    #: how many they are
    rows: np.int32


class Bins(NamedTuple):
    """Points in the cells of one layout: where each cell starts, and the sorted copy of the points."""

    layout: Layout
    starts: Scratch
    places: Scratch
    #: the numbers of periodic images where there are any
    images: Scratch | None
    #: behind those of the layout
    numbers: tuple[Any, ...]
    #: the arguments of the walk
    walk: tuple[Any, ...]


class Binning:
    """Brings rows of coordinates into cells: points of one index, whose kernels are `stem`'s, and its queries."""

    def __init__(
        self,
        session: Session,
        problem: Problem,
        watch: DeferredChecks,
        *,
        stem: str,
        config: WalkConfig,
        dtype: np.dtype[Any],
    ) -> None:
        self._session, self._problem, self._watch = session, problem, watch
        self._stem, self._config, self._dtype = stem, config, dtype

    def lay_out(self, grid: CellGrid, filling: BinningPlan | None, n: int, *, finds_starts: bool = True) -> Layout:
        """How `n` rows come into the cells of `grid`; for those who want their order alone, it finds no starts."""
        problem, sort = self._problem, None
        numbers: tuple[Any, ...] = pack_grid(grid, self._dtype)
        if problem.box is not None:
            numbers = (*numbers, *pack_box(problem.box, grid.low, problem.real, self._dtype))
        if filling is not None and filling.together:
            sort = BucketSort(
                self._session,
                grid,
                filling,
                n=n,
                dtype=self._dtype,
                numbers=numbers,
                periodic=problem.box is not None,
                layout=self._config.layout,
                finds_starts=finds_starts,
            )
        return Layout(grid=grid, filling=filling, numbers=numbers, sort=sort, rows=np.int32(n))

    def lay_out_queries(self, grid: CellGrid, m: int) -> Layout:
        """How `m` queries come into cells like those of `grid`, on a torus, as they may lie anywhere."""
        apart = torus_like(grid, m)
        problem = dataclasses.replace(self._problem, n=m)
        filling = plan_binning(self._session.profile, problem=problem, grid=apart, in_tiles=True)
        return self.lay_out(apart, filling, m, finds_starts=False)

    def order_queries(
        self, queries: cla.Array, bounds: PendingBox | None, layout: Layout, images: Scratch | None
    ) -> Scratch:
        """A copy of `queries` in the order of the cells of `layout`; of `bounds` as in :meth:`bin`."""
        if layout.sort is None or layout.filling is None or layout.filling.way != "buckets":
            return self.bin(queries, bounds, layout, images, purpose="queries").places
        places = self._room_for(queries.shape[0], "queries")
        layout.sort.tiles(queries, places, bounds or self._watch.room(), images)
        return places

    def _room_for(self, n: int, purpose: str) -> Scratch:
        room = room_for_points(self._config.layout, self._problem.dim, n)
        return self._session.scratch(room, self._dtype, purpose=f"the sorted copy of the {purpose}")

    def bin(
        self, rows: cla.Array, bounds: PendingBox | None, layout: Layout, images: Scratch | None, *, purpose: str
    ) -> Bins:
        """`rows` in the cells of `layout`; their box comes to lie in `bounds`, unless it does already."""
        session, n = self._session, rows.shape[0]
        starts = session.scratch(layout.grid.cells + 1, INT, purpose="the starts of cells")
        places = self._room_for(n, purpose)
        of_grid = layout.numbers if images is None else (*layout.numbers, images.base_data)
        walk = layout.rows, places.base_data, starts.base_data, *of_grid
        bins = Bins(layout, starts, places, images, of_grid, walk)  # by place, as names take the host twice as long
        if layout.sort is None:
            self._bin_one_by_one(rows, bounds, bins)
        else:
            layout.sort.points(rows, starts, places, bounds or self._watch.room(), images)
        return bins

    def _bin_one_by_one(self, rows: cla.Array, bounds: PendingBox | None, bins: Bins) -> None:
        """Find the order of the rows, and gather them in it."""
        session, n = self._session, rows.shape[0]
        if bounds is not None and not bounds.placed:
            bounding_box(session, rows, bounds)
        counted = bins.layout.filling is not None
        find_order = self._count if counted else self._sort
        selection = Selection(self._stem, self._config, _COUNTING if counted else _SORTING)
        if counted:
            session.compile_together(selection, scan_selection(session, bins.layout.grid.cells, INT))
        kernels, config = session.selected(selection)
        order = find_order(rows, bins, kernels, config.work_group_size)
        session.launch(
            kernels["gather_points"],
            n,
            config.work_group_size,
            n,
            rows.base_data,
            order.base_data,
            bins.places.base_data,
        )

    def _count(self, rows: cla.Array, bins: Bins, kernels: dict[str, Kernel], size: int) -> Scratch:
        """Order by counting (Hoetzlein 2014). Atomics: the order inside a cell is not repeatable."""
        session, n = self._session, rows.shape[0]
        counts = session.scratch(bins.layout.grid.cells, INT, purpose="the counts of cells")
        addresses, ranks, order = (session.scratch(n, INT, purpose="the cells of points") for _ in range(3))
        fill(session, counts)
        session.launch(
            kernels["count_cells"],
            n,
            size,
            n,
            rows.base_data,
            *bins.numbers,
            counts.base_data,
            addresses.base_data,
            ranks.base_data,
        )
        exclusive_scan(session, counts, bins.starts)
        session.launch(
            kernels["order_points"],
            n,
            size,
            n,
            addresses.base_data,
            ranks.base_data,
            bins.starts.base_data,
            order.base_data,
        )
        return order

    def _sort(self, rows: cla.Array, bins: Bins, kernels: dict[str, Kernel], size: int) -> Scratch:
        """Order by sorting (Green 2010). Repeatable: inside a cell stands the input's order."""
        session, n, cells = self._session, rows.shape[0], bins.layout.grid.cells
        keys = session.scratch(n, _UINT, purpose="the cells of points")
        session.launch(kernels["cell_keys"], n, size, n, rows.base_data, *bins.numbers, keys.base_data)
        keys, order = sort_positions(session, keys, (cells - 1).bit_length())
        session.launch(
            kernels["cell_starts"],
            cells + 1,
            size,
            n,
            cells,
            keys.base_data,
            bins.starts.base_data,
        )
        return order
