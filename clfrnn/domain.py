"""CellGrid: cells on a torus whose size is bounded by the number of points."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .period import PeriodicBox, at_home

__all__ = [
    "CellCounts",
    "CellGrid",
    "count_cells",
    "fit_cells",
    "grid_of",
    "padded_radius",
    "torus_like",
]

#: Cell coordinates are clamped to ±2**29 in the kernels; planning stays a factor of two inside.
_COORDINATE_RANGE = 2.0**28
_CLAMPED = 2**29

#: A side that was a whole part of a length stays one, though it was rounded since.
_WHOLE = 1 + 1e-6

#: Below this many cells per point, the grid holds the whole domain and nothing wraps.
_DENSE_CELLS_PER_POINT = 4

#: So often at least does a torus go round a periodic box, where it has to go round a whole number of times.
_LEAST_TURNS = 8

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
    Where an axis is periodic, ``periods`` is the number of cells in its length, and cells hold the images of points
    that lie in the box; elsewhere it is 0.
    """

    low: tuple[float, ...]
    sides: tuple[float, ...]
    inverses: tuple[float, ...]
    shape: tuple[int, ...]
    wrapped: bool
    periods: tuple[int, ...]

    @property
    def masks(self) -> tuple[int, ...]:
        """What the coordinate of a cell is masked with to give its place on the axis."""
        return tuple(many - 1 if self.wrapped else -1 for many in self.shape)

    @property
    def ends(self) -> tuple[tuple[int, int], ...]:
        """The first and the last coordinate of a cell on each axis, into which those beyond are clamped."""
        free = (-_CLAMPED, _CLAMPED) if self.wrapped else None
        return tuple(
            (0, period - 1) if period else free or (0, many - 1)
            for period, many in zip(self.periods, self.shape, strict=True)
        )

    @functools.cached_property
    def cells(self) -> int:
        """Number of addresses."""
        return math.prod(self.shape)

    def tells_apart(self, reaches: Sequence[float]) -> bool:
        """Whether, on periodic axes, all cells of a window of these reaches have addresses of their own.

        A hundredth and a few cells more are for cells that are rounded, and for windows widened to whole ones.
        """
        return not self.wrapped or all(
            2.02 * reach / side + 4 <= many
            for reach, side, many, period in zip(reaches, self.sides, self.shape, self.periods, strict=True)
            if period
        )

    def serves(self, low: tuple[float, ...], high: tuple[float, ...]) -> bool:
        """Whether this grid is still a good one for a cloud that now fills the box from `low` to `high`.

        It is an exact one for any cloud; this asks only whether border cells would collect points, or whether points
        that have left a periodic box as one would be at home in another.
        """
        return all(
            at_home(a, period * side, new_low, new_high) or new_high - new_low > period * side
            if period
            else self.wrapped or (a - side <= new_low and new_high <= a + (count + 1) * side)
            for a, side, count, period, new_low, new_high in zip(
                self.low, self.sides, self.shape, self.periods, low, high, strict=True
            )
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


class CellCounts(NamedTuple):
    """The cells that a domain takes, before they have addresses: their sides, and how many there are on each axis."""

    sides: tuple[float, ...]
    shape: tuple[int, ...]
    #: how many fill the length of a periodic axis, 0 for others
    periods: tuple[int, ...]
    #: cells of the torus that all share, 0 where each has an address of its own
    torus: int

    @property
    def addresses(self) -> int:
        """Addresses of cells, which is how many starts of cells an index holds."""
        return self.torus or math.prod(self.shape)


def count_cells(
    *,
    low: tuple[float, ...],
    high: tuple[float, ...],
    sides: tuple[float, ...],
    n: int,
    real: str,
    box: PeriodicBox | None = None,
) -> CellCounts:
    """The cells of :func:`fit_cells`, before those of a torus are rounded to whole turns."""
    lengths = box.lengths if box is not None else (0.0,) * len(sides)
    if box is not None:
        low, high = box.domain(low, high)
    axes = map(_count_on_axis, low, high, sides, lengths, (real,) * len(sides))
    whole, shape, periods = zip(*axes, strict=True)
    wrapped = math.prod(shape) > min(max(64, _DENSE_CELLS_PER_POINT * n), _MOST_CELLS)
    torus = 1 << (max(32, min(2 * n, _MOST_CELLS // 2)) - 1).bit_length() if wrapped else 0
    return CellCounts(sides=whole, shape=shape, periods=periods, torus=torus)


@functools.lru_cache(maxsize=64)  # sides that are compared against each other share most of their axes
def _count_on_axis(low: float, high: float, side: float, length: float, real: str) -> tuple[float, int, int]:
    """The side of cells, how many there are, and how many fill the length of a periodic axis, 0 where that is 0."""
    side = _fit_side(low, high, side, real)
    period = 0
    if length:
        period = max(1, math.floor(min(length / side * _WHOLE, _COORDINATE_RANGE)))
        side = length / period
    # Kernels round the difference, too: a cell more or less at the end is all the same, as they clamp.
    return side, period or math.floor(min((high - low) * _inverse(side, real), 2 * _COORDINATE_RANGE)) + 1, period


def fit_cells(
    *,
    low: tuple[float, ...],
    high: tuple[float, ...],
    sides: tuple[float, ...],
    n: int,
    real: str,
    box: PeriodicBox | None = None,
) -> CellGrid:
    """The grid of cells with the given `sides`, or the least above them whose coordinates stay in range.

    Memory is bounded by the number of points, whatever the extent: a domain of up to four cells a point is held whole,
    a larger one wraps around a torus of about two cells a point. The sides are kept either way, save that whole cells
    fill the length of a periodic axis, and whole turns of a torus fill that of the first: where a row of cells passes
    the edge of the box it then also passes the edge of the torus, and is divided there once.
    """
    counts = count_cells(low=low, high=high, sides=sides, n=n, real=real, box=box)
    shape, periods = counts.shape, list(counts.periods)
    if counts.torus:
        shape = _torus(shape, counts.torus, along=max(1, periods[0] // _LEAST_TURNS) if periods[0] else 0)
        periods[0] -= periods[0] % shape[0]
    lengths = box.lengths if box is not None else (0.0,) * len(sides)
    sides = tuple(
        [
            length / period if period else side
            for length, period, side in zip(lengths, periods, counts.sides, strict=True)
        ]
    )
    low = low if box is None else box.domain(low, high)[0]
    wrapped = counts.torus > 0
    return grid_of(low=low, sides=sides, shape=shape, periods=tuple(periods), real=real, wrapped=wrapped)


def torus_like(grid: CellGrid, n: int) -> CellGrid:
    """Cells like those of `grid` for `n` rows that may lie anywhere, none of which a border cell collects.

    About two cells for each of them, and no more than `grid` has. On periodic axes, and on a torus, nothing lies
    outside: that grid serves them as it is, but that border cells on open axes beside periodic ones collect what does.
    """
    if grid.wrapped or any(grid.periods):
        return grid
    shape = _torus(grid.shape, min(2 * n, grid.cells), along=0)
    return dataclasses.replace(grid, shape=shape, wrapped=True)


def grid_of(
    *,
    low: tuple[float, ...],
    sides: Sequence[float],
    shape: tuple[int, ...],
    periods: tuple[int, ...],
    real: str,
    wrapped: bool = False,
) -> CellGrid:
    """The grid of `shape` cells from `low` on, their sides rounded; the rest as in :class:`CellGrid`."""
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
    """`side`, or the least side above it that keeps the coordinates of its axis in range."""
    finest = high / _COORDINATE_RANGE - low / _COORDINATE_RANGE
    return float(_DTYPE[real](min(max(side, finest, _LEAST_REACH[real]), _LARGEST_SIDE[real])))


def _inverse(side: float, real: str) -> float:
    """One over a side, as kernels multiply by it."""
    dtype = _DTYPE[real]
    return float(dtype(1.0) / dtype(side))


def _torus(extent: tuple[int, ...], cells: int, along: int) -> tuple[int, ...]:
    """Powers of two, `cells` of them in all, spread over the axes so that each wraps about as often.

    On the first axis at most `along`, where that is not 0.
    """
    shape = [1] * len(extent)
    while math.prod(shape) < cells:
        free = [k for k in range(len(extent)) if k or not along or 2 * shape[0] <= along]
        shape[max(free, key=lambda k: extent[k] / shape[k])] *= 2
    return tuple(shape)
