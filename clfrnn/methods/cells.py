"""Points in the order of their cells: what uniform_grid and strips build, and how their cells are planned."""

from __future__ import annotations

import dataclasses
import numbers
from typing import Any, ClassVar

import numpy as np
import pyopencl.array as cla

from ..domain import CellGrid, fit_cells
from ..errors import InvalidInputError
from ..plan import Problem, VisitVariant, WalkConfig, plan_walk
from ..primitives.fill import fill
from ..primitives.radix_sort import sort_positions
from ..primitives.reduce import Box
from ..primitives.scan import exclusive_scan
from ..profile import DeviceProfile
from ..program import Kernel
from ..session import INT, Session
from .index import Index

__all__ = [
    "CONSTRUCTIONS",
    "CellIndex",
    "CellPlan",
    "check_construction",
    "check_width",
    "plan_cells",
    "spacing",
]

CONSTRUCTIONS = ("counting", "sort")

_UINT = np.dtype(np.uint32)


@dataclasses.dataclass(frozen=True, kw_only=True)
class CellPlan:
    """What is compiled in, the cells, and the way they are filled."""

    config: WalkConfig
    grid: CellGrid
    construction: str


def check_construction(value: object) -> str:
    """`value` when it names a construction."""
    if value not in CONSTRUCTIONS:
        raise InvalidInputError(f"construction: expected 'counting' or 'sort', got {value!r}")
    return str(value)


def check_width(value: object) -> float | None:
    """A bin width in units of the radius, or None for the default."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not 1e-3 <= float(value) <= 1e6:
        raise InvalidInputError(
            f"bin_width: expected cell side / radius, a number from 0.001 to 1,000,000, got {value!r}; "
            "leave it out to have it chosen from the data"
        )
    return float(value)


def spacing(problem: Problem) -> float:
    """The side of a cell that holds one point on average, where points are."""
    density = problem.survey.density(problem.radius)
    return float(density ** (-1.0 / problem.dim)) if density > 0 and np.isfinite(density) else 0.0


def plan_cells(problem: Problem, profile: DeviceProfile, side: float) -> CellPlan:
    """Cells of side `side` or the next that the domain allows."""
    survey = problem.survey
    grid = fit_cells(low=survey.low, high=survey.high, side=side, n=problem.n, real=problem.real)
    config = plan_walk(profile, dim=problem.dim, real=problem.real, wrapped=grid.wrapped)
    return CellPlan(config=config, grid=grid, construction=problem.options["construction"])


class CellIndex(Index):
    """Points sorted by cell, and where each cell starts.

    On the device: 4 coordinates a point (the fourth lane holds its id) and one int32 per cell.
    """

    stem: ClassVar[str]

    def __init__(self, session: Session, problem: Problem, plan: CellPlan, points: cla.Array) -> None:
        super().__init__(session, problem)
        self._plan = plan
        self._sorted = session.scratch(4 * problem.n, self.dtype, purpose="the sorted points")
        self._starts = session.scratch(plan.grid.cells + 1, INT, purpose="the starts of cells")
        self._bin(points)

    @property
    def _config(self) -> WalkConfig:
        return self._plan.config

    def _place(self, points: cla.Array, box: Box | None) -> None:
        grid = self._plan.grid
        if box is not None and not grid.serves(box.low, box.high):
            grid = fit_cells(low=box.low, high=box.high, side=grid.side, n=self.num_points, real=self.problem.real)
            config = dataclasses.replace(self._plan.config, wrapped=grid.wrapped)
            starts = self.session.scratch(grid.cells + 1, INT, purpose="the starts of cells")
            self._plan, self._starts = dataclasses.replace(self._plan, grid=grid, config=config), starts
        self._bin(points)

    def _bin(self, points: cla.Array) -> None:
        """Sort the points into their cells."""
        kernels, config = self.session.kernels(self.stem, self._config, None, VisitVariant())
        shared = [np.int32(self.num_points), points.base_data]
        if self._plan.construction == "counting":
            self._bin_by_counting(kernels, config.work_group_size, shared)
        else:
            self._bin_by_sorting(kernels, config.work_group_size, shared)

    def _bin_by_counting(self, kernels: dict[str, Kernel], size: int, shared: list[Any]) -> None:
        """Count, scan, scatter (Hoetzlein 2014). Atomics: the order inside a cell is not repeatable."""
        session, n = self.session, self.num_points
        counts = session.scratch(self._plan.grid.cells, INT, purpose="the counts of cells")
        ranks = session.scratch(n, INT, purpose="the ranks in cells")
        fill(session, counts)
        shared = [*shared, *self._cell_arguments()]
        session.launch(kernels["count_cells"], n, size, *shared, counts.base_data, ranks.base_data)
        exclusive_scan(session, counts, self._starts)
        session.launch(
            kernels["scatter_points"],
            n,
            size,
            *shared,
            self._starts.base_data,
            ranks.base_data,
            self._sorted.base_data,
        )

    def _bin_by_sorting(self, kernels: dict[str, Kernel], size: int, shared: list[Any]) -> None:
        """Sort by cell, find the starts (Green 2010). Repeatable: inside a cell stands the input's order."""
        session, n, cells = self.session, self.num_points, self._plan.grid.cells
        keys = session.scratch(n, _UINT, purpose="the cells of points")
        session.launch(kernels["cell_keys"], n, size, *shared, *self._cell_arguments(), keys.base_data)
        keys, order = sort_positions(session, keys, (cells - 1).bit_length())
        session.launch(kernels["gather_points"], n, size, *shared, order.base_data, self._sorted.base_data)
        session.launch(
            kernels["cell_starts"],
            cells + 1,
            size,
            np.int32(n),
            np.int32(cells),
            keys.base_data,
            self._starts.base_data,
        )

    def _cell_arguments(self) -> list[Any]:
        """The grid's numbers as the kernels take them."""
        if self._grid_arguments is None or self._grid_arguments[0] is not self._plan.grid:
            self._grid_arguments = (self._plan.grid, self._pack_grid(self._plan.grid))
        return self._grid_arguments[1]

    _grid_arguments: tuple[CellGrid, list[Any]] | None = None

    def _pack_grid(self, grid: CellGrid) -> list[Any]:
        low = np.zeros(4, self.dtype)
        shape = np.ones(4, np.int32)
        low[: self.dim] = grid.low
        shape[: self.dim] = grid.shape
        return [low, self.dtype.type(grid.inverse), shape]

    def _walk_arguments(self) -> list[Any]:
        return [self._sorted.base_data, self._starts.base_data, *self._cell_arguments()]

    def _tests(self, m: int) -> float:
        """The window is wider than the ball, and a cell of the survey is as wide as the radius."""
        side = self._plan.grid.side
        radius = max(self.radius, side * 1e-6)
        per_query = (1.0 + self.problem.survey.others) * (2.0 + side / radius) ** self.dim
        return m * min(float(self.num_points), per_query)
