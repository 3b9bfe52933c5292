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

#: Addresses, and one more, are counted in int32.
_MOST_CELLS = 2**30

#: Squares of differences below these are too small to be rounded finely, or vanish.
_LEAST_REACH = {"float": 2.0**-63, "double": 2.0**-511}
_LARGEST_SIDE = {"float": 2.0**120, "double": 2.0**1000}
_DTYPE: dict[str, Any] = {"float": np.float32, "double": np.float64}


@dataclasses.dataclass(frozen=True, kw_only=True)
class CellGrid:
    """Cells of one side for each axis, counted from ``low``.

    The cell coordinate of ``x`` on an axis is ``floor((x - low) * inverse)`` in the points' dtype, ``inverse`` being
    one over the side in that dtype. Its address is the
    coordinate itself where the grid holds the domain, and the coordinate modulo ``shape`` (a power of two) where
    ``wrapped``. Points beyond the box a grid was made for are clamped into its border cells, or wrap.
    """

    low: tuple[float, ...]
    sides: tuple[float, ...]
    inverses: tuple[float, ...]
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
            a - side <= new_low and new_high <= a + (count + 1) * side
            for a, side, count, new_low, new_high in zip(self.low, self.sides, self.shape, low, high, strict=True)
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


def fit_cells(
    *, low: tuple[float, ...], high: tuple[float, ...], sides: tuple[float, ...], n: int, real: str
) -> CellGrid:
    """The grid of cells with the given `sides`, or the least above them whose coordinates stay in range.

    Memory is bounded by the number of points, whatever the extent: a domain of up to four cells a point is held whole,
    a larger one wraps around a torus of about two cells a point. The sides are kept either way.
    """
    dtype = _DTYPE[real]
    fitted = [_fit_side(a, b, side, real) for a, b, side in zip(low, high, sides, strict=True)]
    inverses = [dtype(1.0) / dtype(side) for side in fitted]
    with np.errstate(over="ignore"):
        extent = [
            math.floor(min(float((dtype(b) - dtype(a)) * inverse), 2 * _COORDINATE_RANGE)) + 1
            for a, b, inverse in zip(low, high, inverses, strict=True)
        ]
    wrapped = math.prod(extent) > min(max(64, _DENSE_CELLS_PER_POINT * n), _MOST_CELLS)
    return CellGrid(
        low=low,
        sides=tuple(fitted),
        inverses=tuple(float(inverse) for inverse in inverses),
        shape=_torus(extent, min(2 * n, _MOST_CELLS // 2)) if wrapped else tuple(extent),
        wrapped=wrapped,
    )


def _fit_side(low: float, high: float, side: float, real: str) -> float:
    """`side`, or the least side above it that keeps the coordinates of its axis in range."""
    finest = high / _COORDINATE_RANGE - low / _COORDINATE_RANGE
    return float(_DTYPE[real](min(max(side, finest, _LEAST_REACH[real]), _LARGEST_SIDE[real])))


def _torus(extent: list[int], cells: int) -> tuple[int, ...]:
    """Powers of two, at least `cells` of them in all, spread over the axes so that each wraps about as often."""
    shape = [1] * len(extent)
    while math.prod(shape) < max(32, cells):
        axis = max(range(len(extent)), key=lambda k: extent[k] / shape[k])
        shape[axis] *= 2
    return tuple(shape)
