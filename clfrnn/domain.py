"""CellGrid: the cells that cover a domain, on a torus whose size is bounded by the number of points."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

import numpy as np

__all__ = ["CellGrid", "fit_cells", "padded_radius"]

#: Cell coordinates are clamped to ±2**29 in the kernels; planning stays a factor of two inside.
_COORDINATE_RANGE = 2.0**28

#: Below this many cells per point, the grid holds the whole domain and nothing wraps.
_DENSE_CELLS_PER_POINT = 4

#: The least squares that two dtypes can tell from zero lie above the square of these.
_LEAST_REACH = {"float": 2.0**-63, "double": 2.0**-511}
_LARGEST_SIDE = {"float": 2.0**120, "double": 2.0**1000}
_DTYPE: dict[str, Any] = {"float": np.float32, "double": np.float64}


@dataclasses.dataclass(frozen=True, kw_only=True)
class CellGrid:
    """Cells of side ``1 / inverse``, counted from ``low``.

    The cell coordinate of ``x`` on an axis is ``floor((x - low) * inverse)`` in the points' dtype. Its address is the
    coordinate itself where the grid holds the domain, and the coordinate modulo ``shape`` (a power of two) where
    ``wrapped``. Points beyond the box a grid was made for are clamped into its border cells, or wrap.
    """

    low: tuple[float, ...]
    side: float
    inverse: float
    shape: tuple[int, ...]
    wrapped: bool

    @property
    def cells(self) -> int:
        """Number of addresses."""
        return math.prod(self.shape)

    def serves(self, low: tuple[float, ...], high: tuple[float, ...]) -> bool:
        """Whether this grid is still a good one for a cloud that now fills the box from `low` to `high`.

        It is an exact one for any cloud; this asks only whether border cells would collect points.
        """
        if self.wrapped:
            return True
        return all(
            a - self.side <= new_low and new_high <= a + (count + 1) * self.side
            for a, count, new_low, new_high in zip(self.low, self.shape, low, high, strict=True)
        )


@functools.lru_cache(maxsize=64)
def padded_radius(radius: float, real: str) -> float:
    """Half the width of a search window: the next float above `radius`, and never so small that its square vanishes.

    A pair whose rounded squared distance is at most the rounded square of `radius` differs on no axis by more
    than `radius` after rounding, hence by less than the next float before rounding. Differences whose square
    rounds to zero count as zero, hence the floor.
    """
    dtype = _DTYPE[real]
    return float(max(np.nextafter(dtype(radius), dtype(np.inf)), dtype(_LEAST_REACH[real])))


def fit_cells(*, low: tuple[float, ...], high: tuple[float, ...], side: float, n: int, real: str) -> CellGrid:
    """The grid of cells of side `side`, or of the least side above it whose coordinates stay in range.

    Memory is bounded by the number of points, whatever the extent: a domain of up to four cells a point is held whole,
    a larger one wraps around a torus of about two cells a point. The side is kept either way.
    """
    dtype = _DTYPE[real]
    finest = max((b / _COORDINATE_RANGE - a / _COORDINATE_RANGE for a, b in zip(low, high, strict=True)), default=0.0)
    side = min(max(side, finest, _LEAST_REACH[real]), _LARGEST_SIDE[real])
    inverse = dtype(1.0) / dtype(side)
    with np.errstate(over="ignore"):
        extent = [
            math.floor(min(float((dtype(b) - dtype(a)) * inverse), 2 * _COORDINATE_RANGE)) + 1
            for a, b in zip(low, high, strict=True)
        ]
    wrapped = math.prod(extent) > max(64, _DENSE_CELLS_PER_POINT * n)
    shape = _torus(extent, 2 * n) if wrapped else tuple(extent)
    return CellGrid(low=low, side=float(dtype(side)), inverse=float(inverse), shape=shape, wrapped=wrapped)


def _torus(extent: list[int], cells: int) -> tuple[int, ...]:
    """Powers of two, at least `cells` of them in all, spread over the axes so that each wraps about as often."""
    shape = [1] * len(extent)
    while math.prod(shape) < max(32, cells):
        axis = max(range(len(extent)), key=lambda k: extent[k] / shape[k])
        shape[axis] *= 2
    return tuple(shape)
