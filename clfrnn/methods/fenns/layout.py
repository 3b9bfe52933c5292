"""The layout of points in the coarse cells of FENNS, and the arguments that walks take of it."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pyopencl.array as cla

from ...domain.box import PeriodicBox
from ...primitives.readback import PendingBox
from ...runtime.scratch import Scratch
from ...runtime.session import Session
from ..grid_arguments import pack_lanes
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

    def place(self, points: cla.Array, bounds: PendingBox, images: tuple[Scratch, ...]) -> Placed:
        """Enqueue the sort of `points` into the cells."""
        sort = self.sort
        cells = sort.points(points, self.widest, bounds, *images)
        walk = (
            self.rows,
            cells.records.base_data,
            cells.sections.base_data,
            *sort.numbers,
            *(image.base_data for image in images),
            self.widest,
            *self.fine,
        )
        return Placed(layout=self, cells=cells, images=images, walk=walk)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Placed:
    """Points in coarse cells, and the image table if there is one."""

    layout: Layout
    cells: CoarseCells
    images: tuple[Scratch, ...]
    #: the arguments of the walk
    walk: tuple[Any, ...]


def lay_out(
    session: Session, plan: FennsPlan, *, n: int, dtype: np.dtype[Any], box: PeriodicBox | None, widest: float
) -> Layout:
    """The layout of `n` points; `widest` is the padded radius."""
    return Layout(
        plan=plan,
        sort=CoarseSort(session, plan.grid, dtype, box),
        rows=np.int32(n),
        widest=dtype.type(widest),
        fine=(
            pack_lanes(plan.fine_shape, np.int32, 1),
            pack_lanes(plan.fine_inverses, dtype, 0),
            pack_lanes(tuple(many - 1 for many in plan.fine_shape), dtype, 0),
        ),
    )
