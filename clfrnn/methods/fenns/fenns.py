"""FENNS: a coarse grid in global memory and fine grids made in local memory (Groß, Köster, Krüger 2019)."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyopencl.array as cla

from ...config import VisitVariant
from ...domain.cells import CellGrid
from ...functions import WalkFunction
from ...points.argument_types import MethodName
from ...points.deferred_checks import DeferredChecks
from ...primitives.readback import Box, PendingBox
from ...problem import Problem
from ...profile import DeviceProfile
from ...runtime.launch_limits import check_turns
from ...runtime.scratch import Scratch
from ...runtime.session import Session
from ...tuning import Tuning
from ..domain_tables.tables import Images
from ..grid.cost_model import work_of_query
from ..grid.plan import CellPlan
from ..grid.uniform_grid import UniformGrid, UniformGridStructure
from ..options import check_shape
from ..request import QueryRequest
from ..structure import NewPoints, Readers, SearchStructure
from ..visit_plan import VisitPlan
from .block_plan import BlockConfig, why_no_tiles, without_tiles
from .cell_counts import CellCounts
from .layout import Layout, lay_out
from .plan import FennsPlan, plan_fenns, refit_fenns

__all__ = ["Fenns", "FennsStructure"]

#: Position of the grid's shape among the arguments of the walk.
_SHAPE = 5


class _CrowdedStructure(UniformGridStructure):
    """The cells of a uniform grid, which are counted in global memory and so may be many."""

    def describe(self) -> list[str]:
        why = "points crowd in coarse cells, which are as many as local memory counts"
        return [f"coarse grid: none, as {why}; the cells of uniform_grid serve", *super().describe()]


class _CrowdedGrid(UniformGrid):
    """What takes the place of coarse cells where points crowd in these."""

    structure = _CrowdedStructure


_WHERE_CROWDED = _CrowdedGrid()


class Fenns:
    """The method: points are sorted into coarse cells, and each work-group sorts one of them into fine cells."""

    name: MethodName = "fenns"
    stem = "methods/fenns/fenns"
    dims = frozenset({2, 3})
    options = frozenset({"coarse_shape"})
    surveys_occupancy = True
    variations: tuple[dict[str, Any], ...] = ({},)

    def check(self, options: dict[str, Any]) -> dict[str, Any]:
        """Check the option ``coarse_shape``."""
        return {"coarse_shape": check_shape(options.get("coarse_shape"))}

    def plan(self, problem: Problem, profile: DeviceProfile, tuning: Tuning) -> FennsPlan:
        """Plan the coarse grid, no cell of which is narrower than the radius, and the fine grid."""
        low, high = problem.without_strays
        return plan_fenns(problem, profile, tuning, low=low, high=high)

    def refit(
        self, plan: FennsPlan | CellPlan, problem: Problem, profile: DeviceProfile, tuning: Tuning
    ) -> FennsPlan | CellPlan | None:
        """Fit the cells to the points, with blocks that fit the same tiles."""
        if isinstance(plan, CellPlan):
            return _WHERE_CROWDED.refit(plan, problem, profile, tuning)
        return None if problem.has_outgrown_survey else refit_fenns(plan, problem, profile, tuning)

    def arrange(
        self,
        session: Session,
        problem: Problem,
        checks: DeferredChecks,
        plan: FennsPlan | CellPlan,
        *,
        new: NewPoints,
    ) -> SearchStructure:
        """Sort the points into the coarse cells of a plan, or into those of a uniform grid."""
        if isinstance(plan, CellPlan):
            return _WHERE_CROWDED.arrange(session, problem, checks, plan, new=new)
        return FennsStructure(session, problem, checks, plan, new=new)

    def build(
        self,
        session: Session,
        problem: Problem,
        checks: DeferredChecks,
        plan: FennsPlan,
        *,
        new: NewPoints,
    ) -> SearchStructure:
        """Sort points into coarse cells, and again into others where the density is not as expected.

        Local memory counts few coarse cells. Where points crowd in some of these, the cells of a uniform grid serve.
        """
        index = FennsStructure(session, problem, checks, plan, new=new, surveyed=problem)
        survey = dataclasses.replace(problem.survey, counted=index.density())
        foreseen = problem.survey.density(problem.radius)
        about = session.tuning.fenns.as_foreseen + 4 * math.sqrt(2 / index.cell_grid.cells)  # few cells are uncertain
        if survey.counted and not foreseen / about <= survey.counted <= foreseen * about:
            del index  # the pool gives its memory to the next structure
            counted = dataclasses.replace(problem, survey=survey)
            plan = self.plan(counted, session.profile, session.tuning)
            index = FennsStructure(session, counted, checks, plan, new=new, surveyed=problem)
        if not index.is_crowded():
            return index
        del index
        grid = _in_uniform_grid(problem)
        cells = _WHERE_CROWDED.plan(grid, session.profile, session.tuning)
        return _WHERE_CROWDED.arrange(session, grid, checks, cells, new=new)


def _in_uniform_grid(problem: Problem) -> Problem:
    """The problem with the options of a uniform grid."""
    return dataclasses.replace(problem, options={**problem.options, **_WHERE_CROWDED.check({})})


class FennsStructure(SearchStructure):
    """Points sorted by coarse cell, with the points near the border of each cell before the others.

    On the device: four numbers for each point, and three int32 for each coarse cell, see :class:`CoarseCells`.
    """

    stem: ClassVar[str] = Fenns.stem

    def __init__(
        self,
        session: Session,
        problem: Problem,
        checks: DeferredChecks,
        plan: FennsPlan,
        *,
        new: NewPoints,
        surveyed: Problem | None = None,
    ) -> None:
        super().__init__(session, problem, checks)
        #: the problem as a sample of the points says, which may be planned for as points were counted
        self._surveyed = surveyed or problem
        self._counts = CellCounts(session)
        check_turns(session.profile, problem=problem, side=max(plan.grid.sides), rows=5.0 ** (problem.dim - 1))
        self._placed = self._lay_out(plan).arrange(new)

    @property
    def _plan(self) -> FennsPlan:
        return self._placed.layout.plan

    @property
    def cell_grid(self) -> CellGrid:
        """The coarse cells."""
        return self._plan.grid

    @property
    def config(self) -> BlockConfig:
        return self._plan.config

    def config_for(self, function: WalkFunction, variant: VisitVariant) -> BlockConfig:
        """No tiles for queries far from a periodic box, and for functions that idle work-items must not run."""
        tiled = self._tiled(function, variant.images)
        return self.config if tiled else without_tiles(self.config, self.session.profile, self.session.tuning)

    def _tiled(self, function: WalkFunction, images: str = "all") -> bool:
        return bool(self.config.tile) and function.idles and images != "far_from_box"

    def plan_visit(self, function: WalkFunction, request: QueryRequest) -> VisitPlan:
        """A walk with tiles serves queries in the order of cells; those far from a periodic box follow by number."""
        foreign = request.queries is not None
        if not self._tiled(function):
            return self._plan_launches(("all",), by_number=foreign)
        cells = math.prod(request.arguments[_SHAPE][: self.problem.dim].tolist())
        plan = self._plan_launches(("per_candidate" if self.problem.periodic else "all",), by_number=False)
        if not (foreign and self.problem.periodic):
            return dataclasses.replace(plan, cells=cells)
        return dataclasses.replace(plan, cells=cells, images=(*plan.images, "far_from_box"), by_number=(False, True))

    def find_bounds_of_queries(self, queries: cla.Array) -> PendingBox:
        """A walk with tiles finds the bounds while it sorts the queries."""
        return self.checks.slot() if self.config.tile else super().find_bounds_of_queries(queries)

    def order_queries(self, queries: cla.Array | None, bounds: PendingBox | None, radii: Any) -> tuple[Any, ...]:  # noqa: ARG002
        """For walks with tiles: a copy of foreign queries in the order of cells, and its sections."""
        if queries is None or not self.config.tile:
            return ()
        held = self._placed
        placed = held.layout.sort.queries(queries, bounds or self.checks.slot(), held.images)
        return (placed.records.base_data, placed.sections.base_data)

    def describe(self) -> list[str]:
        plan, grid = self._plan, self._plan.grid
        sides = " x ".join(f"{side:.4g}" for side in grid.sides)
        lines = [f"coarse grid: {' x '.join(map(str, grid.shape))} cells of sides {sides}; {self._why_so_coarse()}"]
        if self.problem.survey.counted:
            own = self.problem.survey.counted * math.prod(grid.sides)
            lines.append(f"coarse cells: planned anew when points were counted, about {own:.0f} in a point's cell")
        if not plan.config.tile:
            return [*lines, f"local grid: none, as {why_no_tiles(self.session.profile, self.problem, plan.grid)}"]
        fine = " x ".join(map(str, plan.fine_shape))
        over = "cells over each coarse one and the radius around it"
        return [*lines, f"local grid: {fine} {over}, tiles of {plan.config.tile} candidates"]

    def _why_so_coarse(self) -> str:
        plan, grid = self._plan, self._plan.grid
        requested = " x ".join(map(str, plan.requested or ()))
        if plan.requested == grid.shape:
            return "as asked for"
        limit = f"not the {requested} asked for" if requested else f"of {plan.most:,} that local memory could count"
        if requested or any(side < 2 * self.problem.radius for side in grid.sides):
            if grid.cells == 1:
                return f"{limit}, as no side of the domain is twice the radius: every query goes through all points"
            return f"{limit}, as none may be narrower than the radius"
        return limit if grid.cells > plan.most / 2 else f"{limit}; so few points need no more"

    def find_bounds(self, points: cla.Array) -> NewPoints:
        """The sort finds the bounds, except in a periodic box, whose images follow from the bounds."""
        if self.problem.periodic:
            return self.bounded(points)
        return NewPoints(points, self.checks.slot(), self.images.tables)

    def update(self, new: NewPoints, box: Box | None) -> str:
        """Sort points into the coarse cells, or into new ones where the old ones do not fit points in `box`."""
        layout = self._placed.layout
        if box is not None and not self._serves(box):
            moved = self.problem.grown(self.problem.n, self.problem.domain, box.low, box.high)
            plan = refit_fenns(self._plan, moved, self.session.profile, self.session.tuning)
            assert plan is not None, "tiles that serve a box serve it"
            layout = self._lay_out(plan)
        self._placed = layout.arrange(new)
        return "rebuilt"

    def _serves(self, box: Box) -> bool:
        """Whether the coarse cells fit points in `box`: no border cell fills up, and not many cells are empty."""
        grid, least = self._plan.grid, self.session.tuning.fenns.least_filled
        if not grid.serves(box.low, box.high):
            return False
        return all(
            many == 1 or period or high - low >= least * many * side
            for low, high, many, side, period in zip(
                box.low, box.high, grid.shape, grid.sides, grid.periods, strict=True
            )
        )

    def _lay_out(self, plan: FennsPlan) -> Layout:
        return lay_out(self.session, plan, self.problem, self.dtype)

    def is_crowded(self, *, at_once: bool = True) -> bool:
        """Whether a query tests many times as many candidates as in a uniform grid, as points were counted.

        That waits for the sort, unless it need not be known `at_once`: every sixteenth call then says it of the points
        of the sixteenth call before. Cells that were asked for stay.
        """
        if self._plan.requested:
            return False
        plan, sections = self._plan, self._placed.cells.sections
        found = (self._counts.now(sections), plan) if at_once else self._counts.before(sections, plan)
        return found is not None and self._tests_by_counts(*found) > self._most_tests

    @functools.cached_property
    def _most_tests(self) -> float:
        """Candidates of a query from which on points crowd."""
        grid, session = _in_uniform_grid(self._surveyed), self.session
        sides = _WHERE_CROWDED.plan(grid, session.profile, session.tuning).sides
        return session.tuning.fenns.most_tests * work_of_query(grid, session.tuning, sides)

    def density(self) -> float:
        """The mean density around a point: other points in its coarse cell per unit of volume; waits for the sort."""
        held, volume = self._counts.now(self._placed.cells.sections), math.prod(self._plan.grid.sides)
        others = float(held @ held) / max(1, self.problem.n) - 1
        return others / volume if volume > 0 < others and math.isfinite(others / volume) else 0.0

    def _tests_by_counts(self, held: npt.NDArray[np.float64], plan: FennsPlan) -> float:
        """Candidates that a query tests on average, as points were counted; those that fill a tile again cost more."""
        radius, n = self.problem.radius, max(1, self.problem.n)
        density, sides = self._surveyed.survey.density(radius), plan.grid.sides
        seen = np.minimum(held * math.prod(1 + 2 * radius / side for side in sides), n)
        if not plan.config.tile:
            return float(held @ seen) / n
        fine = math.prod(min(1.0, 3 / many) for many in plan.fine_shape)
        near = np.minimum(seen, np.maximum(seen * fine, density * (3 * radius) ** self.problem.dim))
        again = np.where(seen > plan.config.tile, self.session.tuning.fenns.refill * seen, 0)
        return float(held @ (near + again)) / n

    def arguments(self) -> tuple[Any, ...]:
        return self._placed.walk

    @property
    def images(self) -> Images:
        return self._placed.images

    def buffers(self) -> dict[str, cla.Array | Scratch]:
        cells, images = self._placed.cells, self._placed.images.table
        buffers = {"sorted_points": cells.records, "cell_sections": cells.sections}
        return buffers if images is None else {**buffers, "images": images}

    def readers(self) -> Readers:
        return self._placed.layout.sort.readers(self._placed.cells.records)

    @property
    def tests_of_query(self) -> float:
        """Candidates in the fine cells of a query's window, and its share of the points that its work-group loads."""
        plan, survey = self._plan, self.problem.survey
        density = survey.density(self.problem.radius) if self.problem.radius > 0 else 0.0
        most = self.problem.images * self.problem.n
        around = min(most, density * math.prod(side + 2 * self.problem.radius for side in plan.grid.sides))
        fine = math.prod(
            min(1.0, (2 * self.problem.radius * inverse + 2) / many)
            for inverse, many in zip(plan.fine_inverses, plan.fine_shape, strict=True)
        )
        passed = around * 10 / plan.config.work_group_size if around > plan.config.tile else 0.0
        return around * fine + passed + 20.0
