"""The numbers of a grid and of a periodic box as kernels take them: by value, four lanes each."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..domain import CellGrid
from ..period import PeriodicBox

__all__ = ["Lanes", "pack_box", "pack_grid", "pack_lanes"]

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
