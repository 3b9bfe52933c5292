"""GridMethod and GridStructure: points in the order of their cells, as uniform_grid and strips search them."""

from __future__ import annotations

import abc
import dataclasses
import functools
import math
from typing import Any, ClassVar

import numpy as np
import pyopencl.array as cla

from ...config import VisitVariant, WalkConfig
from ...domain.box import CELLS
from ...domain.cells import CellGrid, cells_of_systems
from ...errors import DeviceMemoryError
from ...functions import WalkFunction
from ...points.deferred_checks import DeferredChecks
from ...primitives.readback import Box, PendingBox
from ...problem import Problem
from ...profile import DeviceProfile
from ...runtime.launch_limits import check_turns
from ...runtime.scratch import Scratch
from ...runtime.session import Selection, Session
from ...tuning import Tuning
from ..domain_tables.tables import Images, SystemGrids
from ..first_pass.neighbor_buffer import useful_slots
from ..first_pass.plan import ListFacts
from ..options import check_construction, check_width
from ..request import QueryRequest
from ..structure import NewPoints, Readers, SearchStructure
from ..visit_plan import VisitPlan
from .binning.binning import Binner, Bins, Layout
from .binning.plan import BinningPlan
from .cell_facts import CellFacts
from .cost_model import work_of_query
from .plan import CellPlan, many_queries, refit_cells

__all__ = ["GridMethod", "GridStructure"]

#: The kernels that read the sorted copy.
_READING = "read_order", "read_points"


class GridStructure(SearchStructure):
    """Points sorted by cell, and the start of each cell.

    On the device: four numbers for each point, or dim + 1 in other layouts than records, and an int32 for each cell.
    """

    copies_queries: ClassVar[bool] = True
    #: whether walks go through the candidates of a row of cells as one run, or cell by cell
    rows_are_runs: ClassVar[bool] = True

    def __init__(
        self,
        session: Session,
        problem: Problem,
        checks: DeferredChecks,
        plan: CellPlan,
        *,
        new: NewPoints,
    ) -> None:
        super().__init__(session, problem, checks)
        sides = plan.grid.sides  # cells of later updates are not narrower
        self._plan = plan
        most = session.tuning.lists.buffer_slots
        self._slots = useful_slots(session.profile, problem.survey, problem.radius, most=most)
        self._facts = self._facts_of(plan.grid)
        if session.profile.loop_turns is not None:
            rows = self._facts.pieces * math.prod([2.0 * problem.radius / side + 3.0 for side in sides[1:]])
            check_turns(session.profile, problem=problem, side=max(sides), rows=rows)
        self._many_queries = many_queries(problem, session.tuning, layout=plan.config.layout)
        self._binner = Binner(session, problem, checks, stem=self.stem, config=plan.config, dtype=self.dtype)
        #: the last layout of sorted foreign queries, with the grid and the number of queries that it was made for
        self._layout_of_queries: tuple[CellGrid, int, Layout] | None = None
        self._bins, self._facts = self._place(new, self._lay_out(plan.grid, plan.binning))

    def _facts_of(self, grid: CellGrid, grids: SystemGrids | None = None) -> CellFacts:
        return CellFacts(
            problem=self.problem,
            grid=grid,
            config=self._plan.config,
            slots=self._slots,
            mask_neighbors=self.session.tuning.lists.mask_neighbors,
            rows_are_runs=self.rows_are_runs,
            grids=grids,
        )

    def _lay_out(self, grid: CellGrid, plan: BinningPlan) -> Layout:
        return self._binner.lay_out(grid, plan, self.problem.n)

    def _place(self, new: NewPoints, layout: Layout) -> tuple[Bins, CellFacts]:
        """Sort new points into the cells of `layout`, or into those of their systems; the structure's bins stay."""
        plan, facts = self._plan, self._facts
        if new.tables.ranks is not None:
            grids = facts.grids
            if grids is None or grids.images.tables is not new.tables:
                grids = new.tables.grids(plan.sides)
                assert grids is not None, "points that have ranks are of many systems"
                layout = self._lay_out(cells_of_systems(plan.grid, grids.cells), plan.binning)
                facts = self._facts_of(plan.grid, grids)
            images = grids.images
        else:
            images = new.tables.images(layout.cells.grid.low, new.bounds)
            if layout.cells.grid is not facts.grid:
                facts = self._facts_of(layout.cells.grid)
        return self._binner.bin(new.points, new.bounds, layout, images, purpose="points"), facts

    def update(self, new: NewPoints, box: Box | None) -> str:
        """Sort points into the cells, or into new cells of the same sides where the old ones do not fit `box`."""
        layout = self._bins.layout
        if box is not None and self._facts.grids is None and not layout.grid.serves(box.low, box.high):
            moved = self.problem.grown(self.problem.n, self.problem.domain, box.low, box.high)
            plan = refit_cells(self._plan, moved, self.session.profile, self.session.tuning)
            layout = self._lay_out(plan.grid, plan.binning)
        self._bins, self._facts = self._place(new, layout)
        return "rebuilt"

    def find_bounds(self, points: cla.Array) -> NewPoints:
        """The sort finds the bounds, where the kernels of its binning do so and no axis is periodic."""
        if not self._bins.layout.binning.finds_box or self.problem.periodic:
            return self.bounded(points)
        return NewPoints(points, self.checks.slot(), self._bins.images.tables)

    def arguments(self) -> tuple[Any, ...]:
        return self._bins.walk

    @property
    def images(self) -> Images:
        return self._bins.images

    def buffers(self) -> dict[str, cla.Array | Scratch]:
        bins = self._bins
        buffers: dict[str, cla.Array | Scratch] = {"sorted_points": bins.places, "cell_starts": bins.starts}
        return buffers if bins.images.table is None else {**buffers, "images": bins.images.table}

    def readers(self) -> Readers:
        kernels, config = self.session.selected(Selection(self.stem, self.config, _READING))
        return Readers(kernels, config.work_group_size, self._bins.places)

    @property
    def looks_ahead(self) -> bool:
        """As walks that test a vector of candidates do: these are one run of places after the other."""
        return self.config.width > 1

    @property
    def cell_grid(self) -> CellGrid:
        """The cells that the points lie in."""
        return self._bins.layout.grid

    @property
    def config(self) -> WalkConfig:
        return self._plan.config

    def config_for(self, function: WalkFunction, variant: VisitVariant) -> WalkConfig:
        """Counts whose windows cross an edge of the box have a config of their own."""
        return self._plan.edges if function.light and variant.images == "wraps_once" else self._plan.config

    def plan_visit(self, function: WalkFunction, request: QueryRequest) -> VisitPlan:  # noqa: ARG002
        """Foreign queries that are not sorted are served in the caller's order."""
        by_number = request.queries is not None and not request.query_order
        plan, radius = self._plan_launches(request.images, by_number=by_number), self.problem.radius
        if request.radius <= radius:
            return plan
        wider = (request.radius / radius) ** self.problem.dim
        return dataclasses.replace(plan, tests_of_query=min(wider * plan.tests_of_query, plan.most_tests_of_query))

    def reaches(self, radius: float) -> bool:
        """In open space windows may be of any width, where no driver bounds the turns that they take."""
        unbounded = not self.problem.periodic and self.session.profile.loop_turns is None
        return radius <= self.problem.radius or unbounded

    def images_served(self, *, foreign: bool) -> tuple[str, ...]:
        if not self.problem.periodic:
            return ("all",)
        in_box = "in_box" if foreign or not self._facts.wraps_once else "wraps_once"
        return (in_box,) if self._is_in_box() else (in_box, "out_of_box")

    @property
    def tests_of_query(self) -> float:
        rows, points = self._facts.window
        return rows + points

    @property
    def list_facts(self) -> ListFacts:
        return self._facts.lists

    def find_bounds_of_queries(self, queries: cla.Array) -> PendingBox:
        """The sort finds the bounds of queries that are sorted first, except those of heights in a cell."""
        sorted_first = self._sorts(queries.shape[0]) and self.problem.periodic not in CELLS
        return self.checks.slot() if sorted_first else super().find_bounds_of_queries(queries)

    def _sorts(self, m: int) -> bool:
        """Whether `m` foreign queries are sorted first."""
        return self._many_queries is not None and m >= self._many_queries

    def order_queries(self, queries: cla.Array | None, bounds: PendingBox | None, radii: Any) -> tuple[Any, ...]:  # noqa: ARG002
        """For many foreign queries: a copy in the order of cells, so that items in lockstep test the same points.

        An empty tuple where there is no memory for the copy.
        """
        if queries is None or not self._sorts(queries.shape[0]):
            return ()
        bins, m = self._bins, queries.shape[0]
        layout = self._layout_of_queries
        try:
            if layout is None or layout[0] is not bins.layout.grid or layout[1] != m:
                layout = (bins.layout.grid, m, self._binner.lay_out_queries(bins.layout.grid, m))
            placed = self._binner.order_queries(queries, bounds, layout[2], bins.images)
        except DeviceMemoryError:
            if bounds is not None and not bounds.placed:
                bins.images.tables.bound_queries(queries, bounds)
            return ()
        self._layout_of_queries = layout
        return (np.int32(m), placed.base_data)

    def part_of(self, request: QueryRequest, first: int, end: int) -> QueryRequest:
        """A range of sorted queries gets a copy of its own, as a walk over the copy of all would visit them all.

        Queries have other numbers there, so none is made for a condition that reads these.
        """
        whole = super().part_of(request, first, end)
        by_number = request.where is not None and request.where.code.reads("i")
        if by_number or not (request.reads_copy and request.divisible):
            return whole
        try:
            queries, radii = (
                None if array is None else self._rows(array, first, end) for array in (request.queries, request.radii)
            )
        except DeviceMemoryError:
            return whole
        order = self.order_queries(queries, None, radii)
        return request._replace(queries=queries, m=end - first, radii=radii, query_order=order, reads_copy=bool(order))

    def _rows(self, array: cla.Array, first: int, end: int) -> cla.Array:
        rows = self.session.allocate((end - first, *array.shape[1:]), array.dtype, purpose="a part of the queries")
        self.session.copy(array, rows, first)
        return rows

    def disorder(self, request: QueryRequest) -> Scratch | None:
        if request.queries is None:
            return self._bins.layout.binning.disorder
        if request.reads_copy and self._layout_of_queries is not None:
            return self._layout_of_queries[2].binning.disorder
        return None

    @functools.cached_property
    def work_of_query(self) -> float:
        return work_of_query(self.problem, self.session.tuning, self._plan.grid.sides)

    def describe(self) -> list[str]:
        grid = self.cell_grid
        if self._facts.grids is not None:
            return [f"cells: {grid.cells - 1:,}, of sides of about {grid.sides[0]:.4g}, a grid for each system"]
        sides = " x ".join(f"{side:.4g}" for side in grid.sides)
        extent = ", around which a larger domain is wrapped as around a torus" if grid.wrapped else ""
        return [
            f"cells: {' x '.join(map(str, grid.shape))} of sides {sides}{extent}",
            f"construction: {self._plan.construction}, {self._bins.layout.plan.describe()}",
            f"queries that are no points: {self._how_queried()}",
        ]

    def _how_queried(self) -> str:
        many = self._many_queries
        if many is None:
            return "as they come"
        return "sorted into cells first" if many == 1 else f"from {many:,} on sorted into cells first"


class GridMethod(abc.ABC):
    """What methods over such a structure have in common; each has a plan of its own."""

    dims = frozenset({2, 3})
    options = frozenset({"bin_width", "construction"})
    surveys_occupancy = True
    structure: type[GridStructure]

    def check(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return the options; the bin width is None unless it is given."""
        return {
            "construction": check_construction(options.get("construction", "counting")),
            "bin_width": check_width(options.get("bin_width")),
        }

    @abc.abstractmethod
    def plan(self, problem: Problem, profile: DeviceProfile, tuning: Tuning) -> CellPlan:
        """Plan the cells."""

    def refit(self, plan: CellPlan, problem: Problem, profile: DeviceProfile, tuning: Tuning) -> CellPlan | None:
        """Fit cells of the same sides to the points."""
        return None if problem.has_outgrown_survey else refit_cells(plan, problem, profile, tuning)

    def arrange(
        self,
        session: Session,
        problem: Problem,
        checks: DeferredChecks,
        plan: CellPlan,
        *,
        new: NewPoints,
    ) -> GridStructure:
        """Bin the points."""
        return self.structure(session, problem, checks, plan, new=new)

    build = arrange
