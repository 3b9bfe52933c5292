"""Points in the order of their cells: what uniform_grid and strips build."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyopencl.array as cla

from ..buckets import Filling, plan_filling
from ..configs import VisitVariant, WalkConfig, room_for_points
from ..domain import CellGrid, fit_cells
from ..functions import NeighborFunction
from ..limits import check_turns
from ..plan import Problem
from ..primitives.fill import fill
from ..primitives.radix_sort import sort_positions
from ..primitives.reduce import Box, PendingBox, bounding_box
from ..primitives.scan import exclusive_scan
from ..program import Kernel
from ..session import INT, Scratch, Session
from .ask import Ask
from .buckets import BucketSort
from .cell_plan import CellPlan
from .grid_numbers import pack_box, pack_grid
from .handover import Handover
from .index import Index
from .marks import make_marks
from .stash import slots_that_pay, stash_for

__all__ = ["CellIndex"]

_UINT = np.dtype(np.uint32)

#: From so many neighbors on, a list is written by the marks of the count, without testing candidates again, and numbers
#: some at once (measured). There is room for so many times the words of bits that a query is expected to fill, or the
#: places of neighbors that few queries have more than.
_FEW = {"cpu": 0.0}
_FEW_ELSEWHERE = 6.0
_MARKS_ROOM = 1.25
_PLACES_ROOM = 1.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Layout:
    """Cells, and how points come into them: what depends on no positions."""

    grid: CellGrid
    #: None where points are sorted
    filling: Filling | None
    #: the numbers of the grid, and of a periodic box, as kernels take them
    numbers: tuple[Any, ...]
    #: what brings them there together
    sort: BucketSort | None


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


class CellIndex(Index):
    """Points sorted by cell, and where each cell starts.

    On the device: the points' coordinates and ids (dim + 1 numbers a point, or four lanes), and an int32 per cell.
    """

    stem: ClassVar[str]

    def __init__(
        self, session: Session, problem: Problem, plan: CellPlan, points: cla.Array, bounds: PendingBox | None
    ) -> None:
        super().__init__(session, problem)
        sides = plan.grid.sides  # cells of later steps are never narrower
        rows = math.prod(2.0 * problem.radius / side + 3.0 for side in sides[1:])
        check_turns(session.profile, problem=problem, side=max(sides), rows=rows)
        self._plan = plan
        #: words of marks that a query takes in the cells that it was asked for
        self._words: tuple[CellGrid, float] | None = None
        self._n = np.int32(self.num_points)
        #: the points of the bins in records, for queries that are no points, once there were any
        self._records: Scratch | None = None
        self._bins = self._bin(points, bounds, self._lay_out(plan.grid, plan.filling))

    @property
    def cell_grid(self) -> CellGrid:
        """The cells that the points lie in."""
        return self._bins.layout.grid

    @property
    def config(self) -> WalkConfig:
        """See :class:`~clfrnn.methods.walker.Walker`."""
        return self._plan.config

    def config_for(self, function: NeighborFunction, variant: VisitVariant) -> WalkConfig:
        """See :class:`~clfrnn.methods.walker.Walker`."""
        if variant.foreign:
            return self._plan.foreign
        return self._plan.edges if function.light and variant.images == "next" else self.config

    def describe(self) -> list[str]:
        """See :class:`~clfrnn.methods.walker.Walker`."""
        grid = self.cell_grid
        sides = " x ".join(f"{side:.4g}" for side in grid.sides)
        kept = "wrapped around a torus" if grid.wrapped else "all held"
        return [
            f"cells: {' x '.join(map(str, grid.shape))}, {kept}, of sides {sides}",
            f"construction: {self._plan.construction}{self._how_filled()}",
        ]

    def _how_filled(self) -> str:
        filling = self._bins.layout.filling
        if filling is None:
            return ""
        regions = f"{filling.regions:,} regions and " if filling.regions else ""
        buckets = f"by way of {regions}{filling.buckets:,} buckets of {1 << filling.shift:,} cells"
        return f", {buckets if filling.way == 'buckets' else filling.way}, as {filling.why}"

    def _find_box(self, points: cla.Array) -> PendingBox:
        """Found while points are counted, unless that is done otherwise or their images must be known before."""
        if self._bins.layout.sort is None or self.problem.box is not None:
            return super()._find_box(points)
        return self.watch.room()

    def _place(self, points: cla.Array, bounds: PendingBox, box: Box | None) -> None:
        """Into the cells there are, or cells of the same sides around `box` where these serve it no longer."""
        self._records = None  # its memory is what others may take
        layout = self._bins.layout
        if box is not None and not layout.grid.serves(box.low, box.high):
            grid = fit_cells(
                low=box.low,
                high=box.high,
                sides=layout.grid.sides,
                n=self.num_points,
                real=self.problem.real,
                box=self.problem.box,
            )
            counted = layout.filling is not None
            filling = plan_filling(self.session.profile, problem=self.problem, grid=grid) if counted else None
            layout = self._lay_out(grid, filling)
        self._bins = self._bin(points, bounds, layout)

    def _lay_out(self, grid: CellGrid, filling: Filling | None) -> Layout:
        box, sort = self.problem.box, None
        numbers: tuple[Any, ...] = pack_grid(grid, self.dtype)
        if box is not None:
            numbers = (*numbers, *pack_box(box, grid.low, self.problem.real, self.dtype))
        if filling is not None and filling.together:
            sort = BucketSort(
                self.session,
                grid,
                filling,
                n=self.num_points,
                dtype=self.dtype,
                numbers=numbers,
                periodic=box is not None,
                layout=self.config.layout,
            )
        return Layout(grid=grid, filling=filling, numbers=numbers, sort=sort)

    def _bin(self, points: cla.Array, bounds: PendingBox | None, layout: Layout) -> Bins:
        """The points in the cells of `layout`. The index's own bins stay as they are, whatever fails here."""
        session, n = self.session, self.num_points
        images = None if self.problem.box is None else self.images(layout.grid.low, bounds)
        room = room_for_points(self.config.layout, self.dim, n)
        starts = session.scratch(layout.grid.cells + 1, INT, purpose="the starts of cells")
        places = session.scratch(room, self.dtype, purpose="the sorted copy of the points")
        of_grid = layout.numbers if images is None else (*layout.numbers, images.base_data)
        bins = Bins(
            layout=layout,
            starts=starts,
            places=places,
            images=images,
            numbers=of_grid,
            walk=(self._n, places.base_data, starts.base_data, *of_grid),
        )
        if layout.sort is None:
            self._bin_one_by_one(points, bounds, bins)
        else:
            layout.sort.points(points, starts, places, bounds or self.watch.room(), images)
        return bins

    def _bin_one_by_one(self, points: cla.Array, bounds: PendingBox | None, bins: Bins) -> None:
        """Find the order of the points, and gather them in it."""
        session, n = self.session, self.num_points
        kernels, config = session.kernels(self.stem, self.config, None, VisitVariant())
        if bounds is not None and not bounds.placed:
            bounding_box(session, points, bounds)
        order_points = self._count if self._plan.construction == "counting" else self._sort
        order = order_points(points, bins, kernels, config.work_group_size)
        session.launch(
            kernels["gather_points"],
            n,
            config.work_group_size,
            n,
            points.base_data,
            order.base_data,
            bins.places.base_data,
        )

    def _count(self, points: cla.Array, bins: Bins, kernels: dict[str, Kernel], size: int) -> Scratch:
        """Order by counting (Hoetzlein 2014). Atomics: the order inside a cell is not repeatable."""
        session, n = self.session, self.num_points
        counts = session.scratch(bins.layout.grid.cells, INT, purpose="the counts of cells")
        addresses, ranks, order = (session.scratch(n, INT, purpose="the cells of points") for _ in range(3))
        fill(session, counts)
        session.launch(
            kernels["count_cells"],
            n,
            size,
            n,
            points.base_data,
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

    def _sort(self, points: cla.Array, bins: Bins, kernels: dict[str, Kernel], size: int) -> Scratch:
        """Order by sorting (Green 2010). Repeatable: inside a cell stands the input's order."""
        session, n, cells = self.session, self.num_points, bins.layout.grid.cells
        keys = session.scratch(n, _UINT, purpose="the cells of points")
        session.launch(kernels["cell_keys"], n, size, n, points.base_data, *bins.numbers, keys.base_data)
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

    def walk_arguments(self) -> tuple[Any, ...]:
        """See :class:`~clfrnn.methods.walker.Walker`."""
        return self._bins.walk

    def walk_of(self, *, foreign: bool) -> tuple[Any, ...]:
        """See :class:`~clfrnn.methods.kept.KeptPoints`."""
        bins = self._bins
        if not foreign or self._plan.foreign.layout == self.config.layout:
            return bins.walk
        if self._records is None:
            self._records = self._copy_records(bins)
        return (self._n, self._records.base_data, *bins.walk[2:])

    def _copy_records(self, bins: Bins) -> Scratch:
        session, n = self.session, self.num_points
        kernels, config = session.kernels(self.stem, self.config, None, VisitVariant())
        records = session.scratch(4 * n, self.dtype, purpose="the points in records, for queries that are no points")
        session.launch(
            kernels["copy_records"],
            n,
            config.work_group_size,
            n,
            bins.places.base_data,
            records.base_data,
        )
        return records

    def served_at_home(self, *, foreign: bool) -> str | None:
        """See :class:`~clfrnn.methods.walker.Walker`."""
        box, grid = self.problem.box, self.cell_grid
        if box is None:
            return None
        # Half a pad more for what rounding does to the window itself.
        reaches = [self.radius + 1.5 * pad for pad in box.pads(grid.low, self.problem.real)]
        near = box.exceeds_windows(reaches) and grid.tells_apart(reaches)
        return "next" if near and not foreign else "home"

    @functools.cached_property
    def _neighbors(self) -> float:
        """As many as a point was expected to have when the index was made."""
        return self.problem.survey.neighbors(self.radius)

    def writes_at_once(self) -> bool:
        """See :class:`~clfrnn.methods.walker.Walker`."""
        return not self.config.columns and self._neighbors >= _FEW_ELSEWHERE

    @functools.cached_property
    def _slots(self) -> int:
        return slots_that_pay(self.session, self.problem)

    def make_marks(self, ask: Ask, *, numbers: bool) -> Handover | None:
        """See :class:`~clfrnn.methods.walker.Walker`."""
        found = self._neighbors
        if self.problem.box is not None:
            return None
        if not found >= _FEW.get(self.session.profile.kind, _FEW_ELSEWHERE):
            return stash_for(self.session, ask, self._slots) if numbers else None
        if self._words is None or self._words[0] is not self.cell_grid:
            self._words = self.cell_grid, self._room_for_marks(found)
        config = self.config
        size, spare = (INT.itemsize, config.width) if config.columns else (2 * INT.itemsize, 0)
        return make_marks(self.session, units=ask.m, room=self._words[1], size=size, spare=spare)

    def _room_for_marks(self, found: float) -> float:
        """Words that a query of so many neighbors is given room for."""
        if self.config.columns:
            spread = self.problem.survey.spread(self.radius)
            return _PLACES_ROOM * (min(found + 4 * spread, 4 * found) + 4)
        rows, tests = self._window()
        return min(_MARKS_ROOM * self.config.words(rows, tests), found + 4 * math.sqrt(found) + 4)

    def _box_starts(self) -> tuple[float, ...]:
        return self.cell_grid.low

    def _buffers(self) -> dict[str, cla.Array | Scratch]:
        bins = self._bins
        kept: dict[str, cla.Array | Scratch] = {"sorted_points": bins.places, "cell_starts": bins.starts}
        if self._records is not None:
            kept["records"] = self._records
        return {**kept, **({} if bins.images is None else {"images": bins.images})}

    def _order(self) -> cla.Array:
        kernels, config = self.session.kernels(self.stem, self.config, None, VisitVariant())
        return self._read_order(kernels["read_order"], config.work_group_size, self._bins.places)

    def _tests_of_query(self) -> float:
        return sum(self._window())

    def _window(self) -> tuple[float, float]:
        """Rows and points in a query's window: by the survey's crowding, and on a torus also by the share of it."""
        grid, survey = self.cell_grid, self.problem.survey
        radius = max(self.radius, max(grid.sides) * 1e-6)
        windows = [2.0 * radius / side + 2.0 for side in grid.sides]
        crowded = (1.0 + survey.others) * math.prod(
            window * side / radius for window, side in zip(windows, grid.sides, strict=True)
        )
        images = 1.0 if self.problem.box is None else self.problem.box.images(self.radius)
        share = math.prod(min(1.0, window / many) for window, many in zip(windows, grid.shape, strict=True))
        rows = math.prod(
            window if period else min(window, many)
            for window, many, period in zip(windows[1:], grid.shape[1:], grid.periods[1:], strict=True)
        )
        most = images * self.num_points
        return rows, min(most, crowded + share * most * grid.wrapped)
