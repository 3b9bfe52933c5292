"""The kernel arguments that describe a grid and a periodic box, passed by value in vectors of four."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np

from ..arrays import REAL_OF
from ..domain.box import CELLS, SYSTEMS, Domain
from ..domain.cells import CellGrid
from ..runtime.scratch import Scratch

__all__ = ["Lanes", "PackedGrid", "pack_box", "pack_cells", "pack_grid", "pack_lanes"]

Lanes = np.ndarray[Any, Any]


@functools.lru_cache(maxsize=1024)
def pack_lanes(values: tuple[float, ...], dtype: Any, spare: float) -> Lanes:
    """A vector of four with `values`, one for each axis, and `spare` in the remaining lanes."""
    lanes = np.full(4, spare, dtype)
    lanes[: len(values)] = values
    lanes.flags.writeable = False
    return lanes


@functools.lru_cache(maxsize=256)
def pack_grid(grid: CellGrid, dtype: np.dtype[Any]) -> tuple[Lanes, ...]:
    """The low corner, inverse sides, shape, masks, first cells and last cells of `grid`."""
    foremost, hindmost = zip(*grid.ends, strict=True)
    whole = (grid.shape, grid.masks, foremost, hindmost)
    return (
        pack_lanes(grid.low, dtype, 0),
        pack_lanes(grid.inverses, dtype, 1),
        *(pack_lanes(values, np.int32, 1) for values in whole),
    )


def pack_box(domain: Domain, low: tuple[float, ...], dtype: np.dtype[Any]) -> tuple[Lanes, ...]:
    """The arguments of a periodic box with the low corner `low`: lengths, padding of windows, and both edges.

    Those of a cell are the same of heights, with the growth of windows in the spare lanes of the padding, the lattice
    vectors, and where images are counted along combinations of these, the combinations. Open space has none, and each
    of many systems has a table.
    """
    box, kind = domain.space, domain.kind
    if not box.kind:
        return ()
    lengths, first = (pack_lanes(values, dtype, 0) for values in (box.lengths, low))
    pads = pack_lanes(box.pads(low, REAL_OF[dtype]), dtype, box.growth)
    with np.errstate(over="ignore"):  # an edge that overflows is never crossed
        last = first + lengths
    free = lengths == 0
    edges = np.where(free, -np.inf, first).astype(dtype), np.where(free, np.inf, last).astype(dtype)
    vectors = box.frame.vectors.tolist() if kind in CELLS else []
    combinations = box.frame.combinations.tolist() if kind == CELLS[1] else []
    return (
        *(lengths, pads, *edges),
        *(pack_lanes(tuple(vector), dtype, 0) for vector in vectors),
        *(pack_lanes(tuple(times), np.int32, 0) for times in combinations),
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class PackedGrid:
    """A grid and the periodic box around it, if there is one, as kernel arguments."""

    grid: CellGrid
    dtype: np.dtype[Any]
    #: the kind of the domain
    periodic: str
    #: the arguments of the grid, followed by those of the box
    numbers: tuple[Any, ...]

    @property
    def dim(self) -> int:
        """The number of coordinates."""
        return len(self.grid.shape)

    @property
    def facts(self) -> dict[str, Any]:
        """The facts that programs over points in these cells are planned from."""
        return {"dim": self.dim, "real": REAL_OF[self.dtype], "periodic": self.periodic}

    def arguments(self, images: Scratch | None) -> tuple[Any, ...]:
        """The arguments of the grid and the box, followed by the image table where there is one."""
        return self.numbers if images is None else (*self.numbers, images.base_data)


def pack_cells(grid: CellGrid, dtype: np.dtype[Any], domain: Domain) -> PackedGrid:
    """Pack `grid` for coordinates of `dtype`, and the periodic box around it; nothing where systems have own ones."""
    numbers: tuple[Any, ...] = () if domain.kind in SYSTEMS else pack_grid(grid, dtype)
    if domain.space.kind:
        numbers = (*numbers, *pack_box(domain, grid.low, dtype))
    return PackedGrid(grid=grid, dtype=dtype, periodic=domain.kind, numbers=numbers)
