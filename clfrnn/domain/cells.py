"""CellGrid: the cells of a grid, whose number is bounded by the number of points."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .box import lies_inside

__all__ = [
    "CellCounts",
    "CellGrid",
    "cells_of_systems",
    "count_cells",
    "fit_cells",
    "grid_of",
    "padded_radius",
    "torus_like",
]

#: Kernels clamp cell coordinates to ±2**29; plans stay within half of that.
_COORDINATE_RANGE = 2.0**28
_CLAMPED = 2**29

#: Factor by which a side that divides a length still divides it after rounding.
_WHOLE = 1 + 1e-6

#: Number of cells for each point up to which the grid covers the whole domain and does not wrap.
_DENSE_CELLS_PER_POINT = 4

#: Least number of times that a torus wraps in a periodic box, where it wraps a whole number of times.
_LEAST_WRAPS = 8

#: Largest number of addresses: these, and one more, are counted in int32.
_MOST_CELLS = 2**30

#: Least half width of a window: squares of smaller differences are rounded coarsely or vanish.
_LEAST_REACH = {"float": 2.0**-63, "double": 2.0**-511}
_LARGEST_SIDE = {"float": 2.0**120, "double": 2.0**1000}
_DTYPE: dict[str, Any] = {"float": np.float32, "double": np.float64}


@dataclasses.dataclass(frozen=True, kw_only=True)
class CellGrid:
    """Cells with one side for each axis, counted from ``low``.

    The cell coordinate of ``x`` on an axis is ``floor((x - low) * inverse)`` in the points' dtype, where ``inverse`` is
    one over the side in that dtype. The address of a cell is the coordinate itself where the grid covers the domain,
    and the coordinate modulo ``shape``, a power of two, where it is ``wrapped`` on a torus. Points beyond the box that
    a grid was made for are clamped into its border cells, or wrap. On a periodic axis ``periods`` is the number of
    cells in a period, and cells hold the images of points inside the box; on other axes ``periods`` is 0.
    """

    low: tuple[float, ...]
    sides: tuple[float, ...]
    inverses: tuple[float, ...]
    shape: tuple[int, ...]
    wrapped: bool
    periods: tuple[int, ...]

    @property
    def masks(self) -> tuple[int, ...]:
        """The masks that turn the coordinate of a cell into its address on each axis."""
        return tuple(many - 1 if self.wrapped else -1 for many in self.shape)

    @property
    def ends(self) -> tuple[tuple[int, int], ...]:
        """The first and the last cell coordinate on each axis, to which others are clamped."""
        free = (-_CLAMPED, _CLAMPED) if self.wrapped else None
        return tuple(
            (0, period - 1) if period else free or (0, many - 1)
            for period, many in zip(self.periods, self.shape, strict=True)
        )

    @functools.cached_property
    def cells(self) -> int:
        """The number of addresses."""
        return math.prod(self.shape)

    def has_unique_addresses(self, reaches: Sequence[float]) -> bool:
        """Whether all cells of a window with these half widths have different addresses on periodic axes.

        A margin of 1 % and a few cells covers rounding, and windows that are widened to whole cells.
        """
        return not self.wrapped or all(
            2.02 * reach / side + 4 <= many
            for reach, side, many, period in zip(reaches, self.sides, self.shape, self.periods, strict=True)
            if period
        )

    def serves(self, low: tuple[float, ...], high: tuple[float, ...]) -> bool:
        """Whether this grid still fits points that now fill the box from `low` to `high`.

        Results are exact in any case. The grid fits unless border cells would collect points, or points that have left
        a periodic box together lie inside the box when it begins elsewhere.
        """
        return all(
            lies_inside(a, period * side, new_low, new_high) or new_high - new_low > period * side
            if period
            else self.wrapped or (a - side <= new_low and new_high <= a + (count + 1) * side)
            for a, side, count, period, new_low, new_high in zip(
                self.low, self.sides, self.shape, self.periods, low, high, strict=True
            )
        )


@functools.lru_cache(maxsize=64)
def padded_radius(radius: float, real: str) -> float:
    """The padded radius, half the width of a window: the next float above `radius`, or more where its square vanishes.

    A pair whose rounded squared distance is at most the rounded square of `radius` differs on no axis by more than
    `radius` after rounding, hence by less than the next float before rounding. Differences whose square rounds to zero
    count as zero, hence the lower limit.
    """
    dtype = _DTYPE[real]
    return float(max(np.nextafter(dtype(radius), dtype(np.inf)), dtype(_LEAST_REACH[real])))


class CellCounts(NamedTuple):
    """The cells of a domain before they have addresses: their sides, and their number on each axis."""

    sides: tuple[float, ...]
    shape: tuple[int, ...]
    #: the number of cells in a period, 0 on axes that are not periodic
    periods: tuple[int, ...]
    #: the number of addresses of the torus, or 0 where each cell has an address of its own
    torus: int

    @property
    def addresses(self) -> int:
        """The number of addresses, for each of which an index has the start of a cell."""
        return self.torus or math.prod(self.shape)


def count_cells(
    *,
    low: tuple[float, ...],
    high: tuple[float, ...],
    sides: tuple[float, ...],
    n: int,
    real: str,
    lengths: tuple[float, ...] = (),
) -> CellCounts:
    """The cells of :func:`fit_cells`, before the sides of a torus are fitted to a periodic box."""
    axes = map(_count_on_axis, low, high, sides, lengths or (0.0,) * len(sides), (real,) * len(sides))
    whole, shape, periods = zip(*axes, strict=True)
    wrapped = math.prod(shape) > min(max(64, _DENSE_CELLS_PER_POINT * n), _MOST_CELLS)
    torus = 1 << (max(32, min(2 * n, _MOST_CELLS // 2)) - 1).bit_length() if wrapped else 0
    return CellCounts(sides=whole, shape=shape, periods=periods, torus=torus)


@functools.lru_cache(maxsize=64)  # sides that are compared share most of their axes
def _count_on_axis(low: float, high: float, side: float, length: float, real: str) -> tuple[float, int, int]:
    """The side of cells, their number, and their number in a period, which is 0 where `length` is 0."""
    side = _fit_side(low, high, side, real)
    period = 0
    if length:
        period = max(1, math.floor(min(length / side * _WHOLE, _COORDINATE_RANGE)))
        side = length / period
    # Kernels round the difference too. One cell more or less at the end does not matter, as kernels clamp.
    return side, period or math.floor(min((high - low) * _inverse(side, real), 2 * _COORDINATE_RANGE)) + 1, period


def fit_cells(
    *,
    low: tuple[float, ...],
    high: tuple[float, ...],
    sides: tuple[float, ...],
    n: int,
    real: str,
    lengths: tuple[float, ...] = (),
) -> CellGrid:
    """The grid of cells with the given `sides`, or with the next larger ones whose coordinates stay in range.

    The domain is between `low` and `high`. On periodic axes these are one of the `lengths` apart; others have length 0.

    Memory is bounded by the number of points, whatever their extent: a domain of up to four cells for each point is
    covered by the grid, and a larger one wraps around a torus of about two cells for each point. Sides change only on
    periodic axes, of which a whole number of cells fills a period. On the first axis a torus also wraps a whole number
    of times, so that a row of cells that crosses the edge of the box crosses the edge of the torus there, and is
    divided once.
    """
    counts = count_cells(low=low, high=high, sides=sides, n=n, real=real, lengths=lengths)
    shape, periods = counts.shape, list(counts.periods)
    if counts.torus:
        shape = _torus(shape, counts.torus, along=max(1, periods[0] // _LEAST_WRAPS) if periods[0] else 0)
        periods[0] -= periods[0] % shape[0]
    sides = tuple(
        [
            length / period if period else side
            for length, period, side in zip(lengths or (0.0,) * len(periods), periods, counts.sides, strict=True)
        ]
    )
    wrapped = counts.torus > 0
    return grid_of(low=low, sides=sides, shape=shape, periods=tuple(periods), real=real, wrapped=wrapped)


def torus_like(grid: CellGrid, n: int) -> CellGrid:
    """A grid with cells like those of `grid` for `n` rows that may lie anywhere, none collected by border cells.

    It has about two cells for each row, and no more than `grid` has. Where `grid` is a torus or has periodic axes, it
    is returned as it is: only border cells on open axes beside periodic ones then collect rows.
    """
    if grid.wrapped or any(grid.periods):
        return grid
    shape = _torus(grid.shape, min(2 * n, grid.cells), along=0)
    return dataclasses.replace(grid, shape=shape, wrapped=True)


def cells_of_systems(grid: CellGrid, cells: int) -> CellGrid:
    """That number of `cells` in a row, as the addresses of the grids of many systems, with the sides of `grid`."""
    return dataclasses.replace(grid, shape=(cells, *(1 for _ in grid.shape[1:])), wrapped=False)


def grid_of(
    *,
    low: tuple[float, ...],
    sides: Sequence[float],
    shape: tuple[int, ...],
    periods: tuple[int, ...],
    real: str,
    wrapped: bool = False,
) -> CellGrid:
    """The grid of `shape` cells from `low` on, with rounded sides; other parameters as in :class:`CellGrid`."""
    rounded = tuple(
        [
            float(_DTYPE[real](side if period else min(side, _LARGEST_SIDE[real])))
            for side, period in zip(sides, periods, strict=True)
        ]
    )
    return CellGrid(
        low=low,
        sides=rounded,
        inverses=tuple([_inverse(side, real) for side in rounded]),
        shape=shape,
        wrapped=wrapped,
        periods=periods,
    )


def _fit_side(low: float, high: float, side: float, real: str) -> float:
    """Return `side`, or the least larger side that keeps the coordinates of its axis in range."""
    finest = high / _COORDINATE_RANGE - low / _COORDINATE_RANGE
    return float(_DTYPE[real](min(max(side, finest, _LEAST_REACH[real]), _LARGEST_SIDE[real])))


def _inverse(side: float, real: str) -> float:
    """One over a side of type `real`, rounded as kernels multiply by it."""
    return float(_DTYPE[real](1.0 / side))


def _torus(extent: tuple[int, ...], cells: int, along: int) -> tuple[int, ...]:
    """The shape of a torus of `cells` addresses: powers of two, so that each axis wraps about equally often.

    The first axis has at most `along` cells, where that is not 0.
    """
    shape = [1] * len(extent)
    while math.prod(shape) < cells:
        free = [k for k in range(len(extent)) if k or not along or 2 * shape[0] <= along]
        shape[max(free, key=lambda k: extent[k] / shape[k])] *= 2
    return tuple(shape)
