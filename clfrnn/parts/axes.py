"""Axes: the directions along which a cloud is divided, and how far a search reaches along each of them."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInputError
from ..host.numbers import real_array, shown

__all__ = ["Axes", "Domain"]

#: What a caller passes for the space of points: `box`, `cell` and `periodic`.
Domain = tuple[Any, Any, Any]

#: Differences below these have squares that may vanish, so that points count as coincident.
_LEAST = {np.dtype(np.float32): 2.0**-63, np.dtype(np.float64): 2.0**-511}

#: Roundings of the points' dtype that a reach allows for, for each coordinate: about four times those of a search.
_ROUNDINGS = 16


@dataclasses.dataclass(frozen=True, kw_only=True)
class Axes:
    """Directions of length 1, and after which length points repeat along each of them.

    Two points differ along each axis by at most their distance. The axes are those of the coordinates, but in a
    `cell`: there each periodic axis is normal to the other lattice vectors, and its period is a height of the cell.
    """

    #: (dim, dim), a direction in each row
    directions: npt.NDArray[np.float64]
    #: (dim,), 0 where points do not repeat
    periods: npt.NDArray[np.float64]
    #: (dim,), the low end of the period in which places lie
    starts: npt.NDArray[np.float64]
    #: the length of the longest translation, and its largest ratio to a period: what rounding grows by
    longest: float
    skew: float

    @classmethod
    def of(cls, domain: Domain, dim: int, dtype: np.dtype[Any]) -> Axes:
        """The axes of a `box` or `cell`, rounded to the points' dtype, of which some directions are `periodic`."""
        box, cell, periodic = domain
        if box is not None and cell is not None:
            raise InvalidInputError(
                "expected one of the two, got both; pass the lengths of a rectangular box, or lattice vectors as cell",
                argument="box, cell",
            )
        given = box is not None or cell is not None
        flags = _flags(given if periodic is None else periodic, dim)
        if not flags.any():
            return cls(directions=np.eye(dim), periods=np.zeros(dim), starts=np.zeros(dim), longest=0.0, skew=0.0)
        if not given:
            raise InvalidInputError(
                f"periodic={shown(periodic)} needs the lengths of the box, got None; pass box=(length, ...)",
                argument="box",
            )
        return _of_box(box, flags, dtype) if cell is None else _of_cell(cell, flags, dtype)

    @functools.cached_property
    def repeats(self) -> bool:
        """Whether points repeat along an axis."""
        return bool(self.periods.any())

    @property
    def low(self) -> npt.NDArray[np.float64]:
        """The low ends of all places."""
        return np.where(self.periods > 0, self.starts, -np.inf)

    @property
    def high(self) -> npt.NDArray[np.float64]:
        """The high ends of all places."""
        return np.where(self.periods > 0, self.starts + self.periods, np.inf)

    def places(self, points: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Where `points`, (n, dim), lie along each axis, (n, dim): within one period of an axis that repeats."""
        places = np.asarray(points, np.float64)
        if not np.array_equal(self.directions, np.eye(len(self.periods))):
            # Sums of products in one order, which depends on no library: the same point has one place.
            columns = [sum(places[:, k] * row[k] for k in range(len(row))) for row in self.directions]
            places = np.stack(columns, axis=1) if len(places) else places.copy()
        if self.repeats:
            periods = np.where(self.periods > 0, self.periods, np.inf)
            places = places - np.floor((places - self.starts) / periods) * self.periods
            places = np.clip(places, self.low, np.nextafter(self.high, self.low))
        return places

    def reach(self, radius: Any, dtype: np.dtype[Any], farthest: float) -> Any:
        """How far apart along an axis a pair may lie which a search in `dtype` counts as within `radius`.

        `radius` is a number or an array of them. `farthest` is the largest coordinate of the points, without its sign:
        what rounding grows by where points repeat. Elsewhere differences are exact but for their own rounding.
        """
        dim = len(self.periods)
        dtype = np.dtype(np.float64 if dtype == np.float64 else np.float32)
        rounding = _ROUNDINGS * dim * float(np.finfo(dtype).eps)
        with np.errstate(over="ignore"):
            reach = np.multiply(radius, 1 + rounding) + math.sqrt(dim) * _LEAST[dtype] * (1 + rounding)
        if self.repeats:
            reach += rounding * (2 * farthest + radius + self.longest) * (1 + self.skew)
        return np.nextafter(reach, np.inf)


def _of_box(box: Any, flags: npt.NDArray[np.bool_], dtype: np.dtype[Any]) -> Axes:
    dim = len(flags)
    given = real_array(box)
    if given is None or given.shape not in ((dim,), (2, dim)):
        raise InvalidInputError(
            f"expected {dim} lengths, or the low and the high corner as shape (2, {dim}), got {shown(box)}; lattice "
            "vectors are passed as cell=",
            argument="box",
        )
    with np.errstate(all="ignore"):
        rounded = given.reshape(-1, dim).astype(dtype)
        lengths = (rounded[-1] - rounded[0] if len(rounded) == 2 else rounded[0]).astype(np.float64)
        starts = rounded[0].astype(np.float64) if len(rounded) == 2 else np.zeros(dim)
    for axis in np.flatnonzero(flags).tolist():
        if not (lengths[axis] > 0 and np.isfinite(lengths[axis]) and np.isfinite(starts[axis])):
            raise InvalidInputError(
                f"expected a positive, finite length on axis {axis}, which is periodic, got {lengths[axis]}; leave "
                "that axis out of periodic, or pass its length",
                argument="box",
            )
    periods = np.where(flags, lengths, 0.0)
    starts = np.where(flags, starts, 0.0)
    return Axes(directions=np.eye(dim), periods=periods, starts=starts, longest=float(periods.max()), skew=1.0)


def _of_cell(cell: Any, flags: npt.NDArray[np.bool_], dtype: np.dtype[Any]) -> Axes:
    dim = len(flags)
    given = real_array(cell)
    if given is None or given.shape != (dim, dim):
        raise InvalidInputError(
            f"expected lattice vectors as shape ({dim}, {dim}), got {shown(cell)}; pass one row for each lattice "
            "vector, or the lengths of a rectangular box as box=",
            argument="cell",
        )
    with np.errstate(all="ignore"):
        vectors = given.astype(dtype).astype(np.float64)[flags]
    independent = np.isfinite(vectors).all() and np.linalg.matrix_rank(vectors) == len(vectors)
    if not independent:
        raise InvalidInputError(
            f"expected finite and linearly independent lattice vectors, got {shown(given.tolist())}; leave one out "
            "of periodic, or pass vectors that span a cell",
            argument="cell",
        )
    # Rows of the dual basis: each is normal to all vectors but its own. Axes that do not repeat are normal to them all.
    dual = np.linalg.pinv(vectors).T
    heights = 1 / np.linalg.norm(dual, axis=1)
    _, _, all_directions = np.linalg.svd(vectors)
    directions = np.zeros((dim, dim))
    directions[flags] = dual * heights[:, None]
    directions[~flags] = all_directions[len(vectors) :]
    periods = np.zeros(dim)
    periods[flags] = heights
    lengths = np.linalg.norm(vectors, axis=1)
    return Axes(
        directions=directions,
        periods=periods,
        starts=np.zeros(dim),
        longest=float(lengths.max()),
        skew=float((lengths / heights).sum()),
    )


def _flags(periodic: Any, dim: int) -> npt.NDArray[np.bool_]:
    """One flag for each axis, of bools or of the integers 0 and 1."""
    try:
        flags = np.asarray(periodic)
    except (ValueError, TypeError):
        flags = np.zeros(0)
    whole = flags.dtype.kind == "b" or (flags.dtype.kind in "iu" and bool(np.isin(flags, (0, 1)).all()))
    if not whole or flags.shape not in ((), (dim,)):
        raise InvalidInputError(
            f"expected True, False or {dim} of them, one for each axis, got {shown(periodic)}; pass True for the axes "
            "that repeat",
            argument="periodic",
        )
    return np.broadcast_to(flags.astype(bool), (dim,)).copy()
