"""The layout of points in the coarse cells of FENNS, and the arguments that walks take of it."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ...domain.cells import padded_radius
from ...problem import Problem
from ...runtime.session import Session
from ..domain_tables.tables import Images
from ..grid_arguments import pack_lanes
from ..structure import NewPoints
from .coarse_sort import CoarseCells, CoarseSort
from .plan import FennsPlan

__all__ = ["Layout", "Placed", "lay_out"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Layout:
    """A plan and what depends on it alone; it serves every update that stays with the plan."""

    plan: FennsPlan
    sort: CoarseSort
    #: the number of points, and the padded radius: half the width of a window
    rows: np.int32
    widest: Any
    #: the shape of the fine grid and the inverse sides of its cells, as walks take them
    fine: tuple[Any, ...]

    def arrange(self, new: NewPoints) -> Placed:
        """Enqueue the sort of new points into the cells."""
        images = new.tables.images(self.plan.grid.low, new.bounds)
        cells = self.sort.points(new.points, self.widest, new.known_bounds, images)
        placed = self.rows, cells.records.base_data, cells.sections.base_data
        walk = *placed, *self.sort.numbers, *images.arguments, self.widest, *self.fine
        return Placed(layout=self, cells=cells, images=images, walk=walk)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Placed:
    """Points in coarse cells, and their images."""

    layout: Layout
    cells: CoarseCells
    images: Images
    #: the arguments of the walk
    walk: tuple[Any, ...]


def lay_out(session: Session, plan: FennsPlan, problem: Problem, dtype: np.dtype[Any]) -> Layout:
    """The layout of the points of a problem by a plan for them."""
    return Layout(
        plan=plan,
        sort=CoarseSort(session, plan.grid, dtype, problem),
        rows=np.int32(problem.n),
        widest=dtype.type(padded_radius(problem.radius, problem.real)),
        fine=(
            pack_lanes(plan.fine_shape, np.int32, 1),
            pack_lanes(plan.fine_inverses, dtype, 0),
            pack_lanes(tuple(many - 1 for many in plan.fine_shape), dtype, 0),
        ),
    )
