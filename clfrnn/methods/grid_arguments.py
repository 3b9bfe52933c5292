"""The numbers of a grid and of a periodic box as kernels take them: by value, four lanes each."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np

from ..arrays import REAL_OF
from ..domain import CellGrid
from ..period import PeriodicBox
from ..runtime.scratch import Scratch

__all__ = ["Lanes", "PackedGrid", "pack_box", "pack_cells", "pack_grid", "pack_lanes"]

Lanes = np.ndarray[Any, Any]


@functools.lru_cache(maxsize=1024)
def pack_lanes(values: tuple[float, ...], dtype: Any, spare: float) -> Lanes:
    """`values`, one for each axis, and `spare` in the lanes behind them."""
    lanes = np.full(4, spare, dtype)
    lanes[: len(values)] = values
    lanes.flags.writeable = False
    return lanes


@functools.lru_cache(maxsize=256)
def pack_grid(grid: CellGrid, dtype: np.dtype[Any]) -> tuple[Lanes, ...]:
    """Low, inverses, shape, masks, first and last cells."""
    foremost, hindmost = zip(*grid.ends, strict=True)
    whole = (grid.shape, grid.masks, foremost, hindmost)
    return (
        pack_lanes(grid.low, dtype, 0),
        pack_lanes(grid.inverses, dtype, 1),
        *(pack_lanes(values, np.int32, 1) for values in whole),
    )


def pack_box(box: PeriodicBox, low: tuple[float, ...], real: str, dtype: np.dtype[Any]) -> tuple[Lanes, ...]:
    """Of a periodic box that begins at `low` what the host knows: lengths, pads for points at home, both edges."""
    lengths, pads, first = (pack_lanes(values, dtype, 0) for values in (box.lengths, box.pads(low, real), low))
    with np.errstate(over="ignore"):  # an edge beyond all numbers is never met
        last = first + lengths
    free = lengths == 0
    return lengths, pads, np.where(free, -np.inf, first).astype(dtype), np.where(free, np.inf, last).astype(dtype)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PackedGrid:
    """The cells of a grid, and the periodic box around them if there is one, as kernels take them."""

    grid: CellGrid
    dtype: np.dtype[Any]
    periodic: bool
    #: the numbers of the grid, and behind them those of the box
    numbers: tuple[Any, ...]

    @property
    def dim(self) -> int:
        """The number of coordinates."""
        return len(self.grid.shape)

    @property
    def facts(self) -> dict[str, Any]:
        """What the programs that read points in these cells are planned by."""
        return {"dim": self.dim, "real": REAL_OF[self.dtype], "periodic": self.periodic}

    def arguments(self, images: Scratch | None) -> tuple[Any, ...]:
        """The numbers, and behind them those by which the periodic images of points are found, where there are any."""
        return self.numbers if images is None else (*self.numbers, images.base_data)


def pack_cells(grid: CellGrid, dtype: np.dtype[Any], box: PeriodicBox | None = None) -> PackedGrid:
    """The cells of `grid` for coordinates of `dtype`, and the periodic `box` around them."""
    numbers: tuple[Any, ...] = pack_grid(grid, dtype)
    if box is not None:
        numbers = (*numbers, *pack_box(box, grid.low, REAL_OF[dtype], dtype))
    return PackedGrid(grid=grid, dtype=dtype, periodic=box is not None, numbers=numbers)
