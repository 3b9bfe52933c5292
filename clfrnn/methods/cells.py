"""Points in the order of their cells: what uniform_grid and strips build, and how their cells are planned."""

from __future__ import annotations

import dataclasses
import math
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
from ..session import INT, Scratch, Session
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


@dataclasses.dataclass(frozen=True, kw_only=True)
class Bins:
    """Points in the cells of one grid: where each cell starts, and the sorted copy of the points."""

    grid: CellGrid
    starts: Scratch
    places: Scratch
    #: the grid's numbers as kernels take them: low, inverses, shape, whether addresses wrap
    numbers: list[Any]


def check_construction(value: object) -> str:
    """`value` when it names a construction."""
    if not isinstance(value, str) or value not in CONSTRUCTIONS:
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
    """The side of a cube that holds one point on average, where points are."""
    density = problem.survey.density(problem.radius)
    return float(density ** (-1.0 / problem.dim)) if 0 < density < math.inf else 0.0


def plan_cells(problem: Problem, profile: DeviceProfile, sides: tuple[float, ...]) -> CellPlan:
    """Cells of the given sides or the next that the domain allows."""
    survey = problem.survey
    return CellPlan(
        config=plan_walk(profile, dim=problem.dim, real=problem.real),
        grid=fit_cells(low=survey.low, high=survey.high, sides=sides, n=problem.n, real=problem.real),
        construction=problem.options["construction"],
    )


class CellIndex(Index):
    """Points sorted by cell, and where each cell starts.

    On the device: the points' coordinates and ids (four lanes a point, or dim + 1 columns), and an int32 per cell.
    """

    stem: ClassVar[str]

    def __init__(self, session: Session, problem: Problem, plan: CellPlan, points: cla.Array) -> None:
        super().__init__(session, problem)
        self._plan = plan
        self._bins = self._bin(points, plan.grid)

    @property
    def cell_grid(self) -> CellGrid:
        """The cells that the points lie in."""
        return self._bins.grid

    @property
    def _config(self) -> WalkConfig:
        return self._plan.config

    def _place(self, points: cla.Array, box: Box | None) -> None:
        """Into the cells there are, or cells of the same sides around `box` where these serve it no longer."""
        grid = self._bins.grid
        if box is not None and not grid.serves(box.low, box.high):
            grid = fit_cells(low=box.low, high=box.high, sides=grid.sides, n=self.num_points, real=self.problem.real)
        self._bins = self._bin(points, grid)

    def _bin(self, points: cla.Array, grid: CellGrid) -> Bins:
        """The points in the cells of `grid`. The index's own bins stay as they are, whatever fails here."""
        session, n = self.session, self.num_points
        kernels, config = session.kernels(self.stem, self._config, None, VisitVariant())
        lanes = self.dim + 1 if config.columns else 4
        bins = Bins(
            grid=grid,
            starts=session.scratch(grid.cells + 1, INT, purpose="the starts of cells"),
            places=session.scratch(lanes * n, self.dtype, purpose="the sorted copy of the points"),
            numbers=self._pack(grid),
        )
        order_points = self._count if self._plan.construction == "counting" else self._sort
        order = order_points(points, bins, kernels, config.work_group_size)
        session.launch(
            kernels["gather_points"],
            n,
            config.work_group_size,
            np.int32(n),
            points.base_data,
            order.base_data,
            bins.places.base_data,
        )
        return bins

    def _count(self, points: cla.Array, bins: Bins, kernels: dict[str, Kernel], size: int) -> Scratch:
        """Order by counting (Hoetzlein 2014). Atomics: the order inside a cell is not repeatable."""
        session, n = self.session, self.num_points
        counts = session.scratch(bins.grid.cells, INT, purpose="the counts of cells")
        addresses, ranks, order = (session.scratch(n, INT, purpose="the cells of points") for _ in range(3))
        fill(session, counts)
        session.launch(
            kernels["count_cells"],
            n,
            size,
            np.int32(n),
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
            np.int32(n),
            addresses.base_data,
            ranks.base_data,
            bins.starts.base_data,
            order.base_data,
        )
        return order

    def _sort(self, points: cla.Array, bins: Bins, kernels: dict[str, Kernel], size: int) -> Scratch:
        """Order by sorting (Green 2010). Repeatable: inside a cell stands the input's order."""
        session, n, cells = self.session, self.num_points, bins.grid.cells
        keys = session.scratch(n, _UINT, purpose="the cells of points")
        session.launch(kernels["cell_keys"], n, size, np.int32(n), points.base_data, *bins.numbers, keys.base_data)
        keys, order = sort_positions(session, keys, (cells - 1).bit_length())
        session.launch(
            kernels["cell_starts"],
            cells + 1,
            size,
            np.int32(n),
            np.int32(cells),
            keys.base_data,
            bins.starts.base_data,
        )
        return order

    def _pack(self, grid: CellGrid) -> list[Any]:
        low, inverse = np.zeros(4, self.dtype), np.ones(4, self.dtype)
        shape = np.ones(4, np.int32)
        low[: self.dim] = grid.low
        inverse[: self.dim] = grid.inverses
        shape[: self.dim] = grid.shape
        return [low, inverse, shape, np.int32(grid.wrapped)]

    def _walk_arguments(self) -> list[Any]:
        bins = self._bins
        return [np.int32(self.num_points), bins.places.base_data, bins.starts.base_data, *bins.numbers]

    def _tests(self, m: int) -> float:
        """Points and rows in a query's window: by the survey's crowding, and on a torus also by the share of it."""
        grid, survey = self._bins.grid, self.problem.survey
        radius = max(self.radius, max(grid.sides) * 1e-6)
        windows = [2.0 * radius / side + 2.0 for side in grid.sides]
        crowded = (1.0 + survey.others) * math.prod(
            window * side / radius for window, side in zip(windows, grid.sides, strict=True)
        )
        share = math.prod(min(1.0, window / many) for window, many in zip(windows, grid.shape, strict=True))
        rows = math.prod(min(window, many) for window, many in zip(windows[1:], grid.shape[1:], strict=True))
        return m * (min(float(self.num_points), crowded + share * self.num_points * grid.wrapped) + rows)
