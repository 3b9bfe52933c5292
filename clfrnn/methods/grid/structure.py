"""Points in the order of their cells: what uniform_grid and strips build."""

from __future__ import annotations

import functools
import math
from typing import Any, ClassVar

import numpy as np
import pyopencl.array as cla

from ...domain import CellGrid, fit_cells
from ...errors import DeviceMemoryError
from ...first_pass.base import FirstPass
from ...first_pass.hit_mask import make_hit_mask
from ...first_pass.neighbor_buffer import slots_that_pay, stash_for
from ...functions import NeighborFunction
from ...index import Index
from ...inputs.request import QueryRequest
from ...period import PeriodicBox
from ...planning.binning import BinningPlan, plan_binning
from ...planning.configs import VisitVariant, WalkConfig
from ...planning.problem import Problem
from ...primitives.readback import Box, PendingBox
from ...primitives.reduce import bounding_box
from ...runtime.launch_limits import check_turns
from ...runtime.scratch import INT, Scratch
from ...runtime.session import Session
from ..structure import Readers
from .binning import Binning, Bins, Layout
from .cost_model import work_of_query
from .plan import CellPlan, many_queries

__all__ = ["GridStructure"]

#: Numbers that a count puts by for a query, at most: enough for 10 neighbors in the mean; with 12 marks are as soon
#: (measured).
_MOST_PUT_BY = 20

#: From so many neighbors on, a list is written by the marks of the count, without testing candidates again, and numbers
#: some at once (measured). There is room for so many times the words of bits that a query is expected to fill, or the
#: places of neighbors that few queries have more than.
_FEW = {"cpu": 0.0}
_FEW_ELSEWHERE = 6.0
_MARKS_ROOM = 1.25
_PLACES_ROOM = 1.0


class GridStructure(Index):
    """Points sorted by cell, and where each cell starts.

    On the device: the points' coordinates and ids (dim + 1 numbers a point, or four lanes), and an int32 per cell.
    """

    stem: ClassVar[str]
    copies_queries: ClassVar[bool] = True

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
        #: whether windows are near in the cells that it was asked for
        self._near: tuple[CellGrid, bool] | None = None
        self._binner = Binning(session, problem, self.watch, stem=self.stem, config=self.config, dtype=self.dtype)
        #: how so many queries come into cells like those of a grid, as they were last asked for
        self._layout_of_queries: tuple[CellGrid, int, Layout] | None = None
        self._bins = self._bin(points, bounds, self._lay_out(plan.grid, plan.filling))

    @property
    def cell_grid(self) -> CellGrid:
        """The cells that the points lie in."""
        return self._bins.layout.grid

    @property
    def config(self) -> WalkConfig:
        """See :class:`~clfrnn.methods.traversal.Traversal`."""
        return self._plan.config

    def config_for(self, function: NeighborFunction, variant: VisitVariant) -> WalkConfig:
        """See :class:`~clfrnn.methods.traversal.Traversal`."""
        return self._plan.edges if function.light and variant.images == "next" else self.config

    def describe(self) -> list[str]:
        """See :class:`~clfrnn.methods.traversal.Traversal`."""
        grid = self.cell_grid
        sides = " x ".join(f"{side:.4g}" for side in grid.sides)
        kept = "wrapped around a torus" if grid.wrapped else "all held"
        return [
            f"cells: {' x '.join(map(str, grid.shape))}, {kept}, of sides {sides}",
            f"construction: {self._plan.construction}{self._how_filled()}",
            f"queries that are no points: {self._how_queried()}",
        ]

    def _how_queried(self) -> str:
        many = self._many_queries
        if many is None:
            return "as they come"
        return "sorted into cells first" if many == 1 else f"from {many:,} on sorted into cells first"

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
            session, counted = self.session, layout.filling is not None
            filling = (
                plan_binning(session.profile, session.tuning, problem=self.problem, grid=grid) if counted else None
            )
            layout = self._lay_out(grid, filling)
        self._bins = self._bin(points, bounds, layout)

    def _lay_out(self, grid: CellGrid, filling: BinningPlan | None) -> Layout:
        return self._binner.lay_out(grid, filling, self.num_points)

    def _bin(self, points: cla.Array, bounds: PendingBox | None, layout: Layout) -> Bins:
        """The points in the cells of `layout`. The index's own bins stay as they are, whatever fails here."""
        images = None if self.problem.box is None else self.images(layout.grid.low, bounds)
        return self._binner.bin(points, bounds, layout, images, purpose="points")

    def walk_arguments(self) -> tuple[Any, ...]:
        """See :class:`~clfrnn.methods.traversal.Traversal`."""
        return self._bins.walk

    def goes_by_number(self, function: NeighborFunction, ask: QueryRequest, images: str) -> bool:  # noqa: ARG002
        """Queries that are in no order."""
        return ask.queries is not None and not ask.placed

    def find_box_of_queries(self, queries: cla.Array) -> PendingBox:
        """Found while they are sorted, where they are."""
        sorted_first = self._sorts(queries.shape[0])
        return self.watch.room() if sorted_first else super().find_box_of_queries(queries)

    def _sorts(self, m: int) -> bool:
        """Whether so many queries are sorted first."""
        return self._many_queries is not None and m >= self._many_queries

    @property
    def _many_queries(self) -> int | None:
        return many_queries(self.problem, self.session.tuning, layout=self.config.layout)

    def place_queries(self, queries: cla.Array | None, box: PendingBox | None, radii: Any) -> tuple[Any, ...]:  # noqa: ARG002
        """Many queries that are no points as a copy in the order of cells: those in step then look at the same points.

        Not where there is no memory for that.
        """
        if queries is None or not self._sorts(queries.shape[0]):
            return ()
        bins, m = self._bins, queries.shape[0]
        kept = self._layout_of_queries
        try:
            if kept is None or kept[0] is not bins.layout.grid or kept[1] != m:
                kept = (bins.layout.grid, m, self._binner.lay_out_queries(bins.layout.grid, m))
            placed = self._binner.order_queries(queries, box, kept[2], bins.images)
        except DeviceMemoryError:
            if box is not None and not box.placed:
                bounding_box(self.session, queries, box)
            return ()
        self._layout_of_queries = kept
        return (np.int32(m), placed.base_data)

    def part_of(self, ask: QueryRequest, first: int, end: int) -> QueryRequest:
        """See :class:`~clfrnn.methods.traversal.Traversal`. A copy of all queries would be gone through for each part."""
        whole = super().part_of(ask, first, end)
        if not (ask.copied and ask.parted):
            return whole
        try:
            queries, radii = (
                None if array is None else self._rows(array, first, end) for array in (ask.queries, ask.radii)
            )
        except DeviceMemoryError:
            return whole
        placed = self.place_queries(queries, None, radii)
        return ask._replace(queries=queries, m=end - first, radii=radii, placed=placed, copied=bool(placed))

    def _rows(self, array: cla.Array, first: int, end: int) -> cla.Array:
        rows = self.session.allocate((end - first, *array.shape[1:]), array.dtype, purpose="a part of the queries")
        self.session.copy(array, rows, first)
        return rows

    def served_at_home(self, *, foreign: bool) -> str | None:
        """See :class:`~clfrnn.methods.traversal.Traversal`."""
        if self.problem.box is None:
            return None
        if self._near is None or self._near[0] is not self.cell_grid:
            self._near = self.cell_grid, self._is_near(self.problem.box, self.cell_grid)
        return "next" if self._near[1] and not foreign else "home"

    def _is_near(self, box: PeriodicBox, grid: CellGrid) -> bool:
        """Whether the window of a query at home passes one edge of each axis at most, and meets no cell twice."""
        # Half a pad more for what rounding does to the window itself.
        reaches = [self.radius + 1.5 * pad for pad in box.pads(grid.low, self.problem.real)]
        return box.exceeds_windows(reaches) and grid.tells_apart(reaches)

    @functools.cached_property
    def _neighbors(self) -> float:
        """As many as a point was expected to have when the index was made."""
        return self.problem.survey.neighbors(self.radius)

    def writes_at_once(self) -> bool:
        """See :class:`~clfrnn.methods.traversal.Traversal`."""
        return not self.config.columns and self._neighbors >= _FEW_ELSEWHERE

    def disorder(self, ask: QueryRequest) -> Scratch | None:
        """See :class:`~clfrnn.methods.traversal.Traversal`."""
        if ask.queries is None:
            layout = self._bins.layout
        elif ask.copied and self._layout_of_queries is not None:
            layout = self._layout_of_queries[2]
        else:
            return None
        return None if layout.sort is None else layout.sort.disorder

    @functools.cached_property
    def work_of_query(self) -> float:
        """See :class:`~clfrnn.methods.traversal.Traversal`."""
        return work_of_query(self.problem, self.session.tuning, self._plan.grid.sides)

    @functools.cached_property
    def _slots(self) -> int:
        return slots_that_pay(self.session, self.problem, most=_MOST_PUT_BY)

    def make_hit_mask(self, ask: QueryRequest, *, numbers: bool) -> FirstPass | None:
        """See :class:`~clfrnn.methods.traversal.Traversal`."""
        found = self._neighbors
        if numbers and (stash := stash_for(self, ask, self._slots)) is not None:
            return stash
        few = not found >= _FEW.get(self.session.profile.kind, _FEW_ELSEWHERE)
        # A mark says which candidate, and not in what image.
        if few or (self.problem.box is not None and not numbers):
            return None
        if self._words is None or self._words[0] is not self.cell_grid:
            self._words = self.cell_grid, self._room_for_marks(found)
        config = self.config
        size, spare = (INT.itemsize, config.width) if config.columns else (2 * INT.itemsize, 0)
        return make_hit_mask(self.session, units=ask.m, room=self._words[1], size=size, spare=spare)

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
        kept |= {} if bins.layout.sort is None else bins.layout.sort.kept
        return {**kept, **({} if bins.images is None else {"images": bins.images})}

    def _readers(self) -> Readers:
        kernels, config = self.session.kernels(self.stem, self.config, None, VisitVariant())
        return Readers(kernels, config.work_group_size, self._bins.places)

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
