"""PeriodicCell: a domain that repeats along vectors of any directions, and how points are placed in it.

The height of a point over an axis is its distance from the plane through the origin that the other lattice vectors
span, with a sign. Seen by their heights, the images of a point lie as those of a rectangular box: one step along a
lattice vector changes one height alone, by the height of the cell. No height changes faster than distance, so the
window of a query is its radius on every axis. Methods therefore place points by heights as they place points in a box
by coordinates; distances are computed from coordinates.

The vectors of a skewed cell are replaced by short ones of the same lattice, whose heights are not far below their
lengths. Images are counted along these. The shift of a pair counts the vectors that the caller gave, and so does the
translation by which its distance is computed.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInputError
from ..host.numbers import real_number, shown
from .box import EPSILON, FARTHEST, SLACK, Frame, PeriodicBox
from .reduction import short_combinations

__all__ = ["PeriodicCell", "cell_from_parameters", "periodic_cell"]

#: Least height of a cell, as a share of the length of its vector, in units of the rounding of coordinates, where images
#: are counted along vectors that are not short ones. The vectors of a flatter cell count as linearly dependent.
_FLATTEST = 128.0

#: Share of the lowest height by which coordinates may be rounded where images are to be distinguished.
_ROUNDED = 2.0**-6

#: Distance from the origin, in cells, up to which points may lie in any case.
_NEAR = 64.0

#: Share of the lowest height that pads may take for heights on an axis that is not periodic.
_OPEN_PAD = 2.0**-7

#: The largest shift of an image in vectors that the caller gave, as int32 and the numbers of each type hold it.
_MOST_SHIFT = {"float": 2.0**19, "double": 2.0**29}

#: The largest shift over the largest number of times that a vector is in a combination: points some cells away from the
#: origin are then near enough, see :meth:`PeriodicCell.limits`.
_IN_COMBINATION = 16

#: Bits of square roots: far more than a float has.
_ROOT_BITS = 200

_DTYPE: dict[str, Any] = {"float": np.float32, "double": np.float64}

_Row = tuple[Fraction, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class PeriodicCell(PeriodicBox):
    """Lattice vectors, and the directions in which heights are measured.

    ``lengths`` are the heights of the cell, 0 on axes that are not periodic, and ``low`` is None. Heights are measured
    from the origin.
    """

    #: the type of coordinates, to which all numbers here are rounded
    real: str
    #: the lattice vectors that the caller gave, as rows; zeros on axes that are not periodic
    vectors: tuple[tuple[float, ...], ...]
    #: how often each of these is in each vector along which images are counted, as rows; ones on the diagonal where
    #: images are counted along the vectors themselves
    combinations: tuple[tuple[int, ...], ...]
    #: for each axis the unit vector along which heights are measured
    normals: tuple[tuple[float, ...], ...]
    #: for each axis, how far coordinates may be from the origin for each unit of the height, all added up, and so may
    #: the parts of a translation, of which there is one for each of `vectors`
    weights: tuple[float, ...]

    @functools.cached_property
    def kind(self) -> str:
        """See :class:`~.box.Domain`."""
        unchanged = all(times == (k == j) for k, row in enumerate(self.combinations) for j, times in enumerate(row))
        return "cell" if unchanged else "reduced_cell"

    @functools.cached_property
    def steps(self) -> npt.NDArray[np.float64]:
        """The vectors along which images are counted, as rows; zeros on axes that are not periodic."""
        found: npt.NDArray[np.float64] = np.array(self.combinations, np.float64) @ np.array(self.vectors)
        return found

    @property
    def frame(self) -> Frame:
        """See :class:`~.box.Frame`."""
        vectors, combinations = np.array(self.vectors), np.array(self.combinations, np.float64)
        return Frame(np.array(self.normals), vectors, self.steps, combinations, np.array(self.weights))

    def heights(self, positions: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The heights of `positions`, (n, dim), in float64."""
        return positions.astype(np.float64) @ np.array(self.normals).T

    def into_box(self, positions: npt.NDArray[Any], starts: tuple[float, ...]) -> npt.NDArray[Any]:
        """See :class:`PeriodicBox`."""
        heights = self.heights(positions)
        with np.errstate(invalid="ignore"):  # rows that are not finite are refused later
            images = np.floor((heights - np.array(starts)) / [length or np.inf for length in self.lengths])
            return positions - images @ self.steps

    def repeats(self, radius: float) -> bool:
        """See :class:`PeriodicBox`; always in a cell so flat that points near it are rounded by much of its height."""
        return super().repeats(radius) or self._near > self._distinguished

    @property
    def spans(self) -> tuple[float, ...]:
        """See :class:`PeriodicBox`. As squares of spans are added, a sum of vectors is not longer than their root."""
        dim = len(self.lengths)
        return tuple(math.sqrt(dim) * math.hypot(*step) for step in self.steps.tolist())

    @property
    def sides(self) -> tuple[float, ...]:
        """See :class:`PeriodicBox`. The product of heights is less than the volume, by the volume of the normals."""
        axes = sum(1 for length in self.lengths if length)
        share = abs(float(np.linalg.det(np.array(self.normals)))) ** (1 / axes)
        return tuple(length / share for length in self.lengths)

    def most_shift(self, radius: float) -> float:
        """See :class:`PeriodicBox`."""
        images = [radius / length + 1.5 if length else 0.0 for length in self.lengths]
        return max(self._shift(images))

    def _shift(self, images: Sequence[float]) -> list[float]:
        """The largest shift along each vector of the caller's of an image at most `images` away on each axis."""
        columns = zip(*self.combinations, strict=True)
        return [sum(many * abs(times) for many, times in zip(images, column, strict=True)) for column in columns]

    @property
    def growth(self) -> float:
        """See :class:`PeriodicBox`."""
        return 16 * EPSILON[self.real] * sum(self.weights)

    @property
    def most_visited(self) -> float:
        """See :class:`PeriodicBox`."""
        pad = 64 * EPSILON[self.real] * max(self._distinguished, self._near) * len(self.lengths)
        return math.prod(2 * pad / length + 3 for length in self.lengths if length)

    def pads(self, starts: tuple[float, ...], real: str) -> tuple[float, ...]:
        """See :class:`PeriodicBox`. Rounding of any coordinate may change any height, so each axis has all of it."""
        pad = 0.0
        for start, length, weight, extent in zip(starts, self.lengths, self.weights, self.extents, strict=True):
            farthest = abs(start) + length * (1 + 2 * SLACK) if length else extent
            pad += EPSILON[real] * weight * (32 * farthest + 16 * abs(start) + 16 * length)
        return tuple((pad + length * SLACK) * (1 + SLACK) for length in self.lengths)

    @property
    def extents(self) -> tuple[float, ...]:
        """The largest heights of points inside on open axes, for which pads stay small; infinite on periodic axes."""
        most = _OPEN_PAD * self._lowest / (32 * EPSILON[self.real])
        return tuple(
            math.inf if length else most / weight for length, weight in zip(self.lengths, self.weights, strict=True)
        )

    def holds(self, low: tuple[float, ...], high: tuple[float, ...], starts: tuple[float, ...] | None = None) -> bool:
        """See :class:`PeriodicBox`. Of the extent of open axes, the host allows half, as it does of the slack."""
        farthest = (max(abs(a), abs(b)) for a, b in zip(low, high, strict=True))
        near = all(far <= extent / 2 for far, extent in zip(farthest, self.extents, strict=True))
        return near and super().holds(low, high, starts)

    def limits(self, real: str) -> tuple[float, ...]:
        """See :class:`PeriodicBox`. Heights on open axes count too, as they are sums of the same coordinates."""
        most = max(self._distinguished, self._near)
        images = min(FARTHEST[real] / 2, _MOST_SHIFT[real] / max(self._shift([1.0] * len(self.lengths))))
        return tuple(
            min(most / weight, images * length if length else math.inf)
            for weight, length in zip(self.weights, self.lengths, strict=True)
        )

    @property
    def _lowest(self) -> float:
        """The lowest height of the cell."""
        return min(length for length in self.lengths if length)

    @property
    def _distinguished(self) -> float:
        """How far from the origin coordinates may be on any axis, where images are to be distinguished."""
        return _ROUNDED / EPSILON[self.real] * self._lowest / len(self.lengths)

    @property
    def _near(self) -> float:
        """How far from the origin they may be in any case."""
        return _NEAR * sum(weight * length for weight, length in zip(self.weights, self.lengths, strict=True))


@functools.lru_cache(maxsize=64)
def periodic_cell(rows: tuple[tuple[float, ...] | None, ...], real: str) -> PeriodicBox | None:
    """The domain of lattice vectors, which are given for periodic axes and None for others; None where they are flat.

    `rows` are rounded to the type `real`. Vectors that follow the axes in the positive direction give a
    :class:`PeriodicBox`. Computed in fractions, so that no rounding grows however flat the cell is.
    """
    dim = len(rows)
    if all(row is None or _follows(row, axis) for axis, row in enumerate(rows)):
        return PeriodicBox(lengths=tuple(row[axis] if row else 0.0 for axis, row in enumerate(rows)), low=None)
    frame = _completed([None if row is None else tuple(map(Fraction, row)) for row in rows])
    if frame is None:
        return None
    combinations = _combinations(rows, frame, int(2 * _MOST_SHIFT[real] / _IN_COMBINATION))
    short = [_sum(times, frame) for times in combinations]
    duals, heights = _heights(short)
    flattest = Fraction(_FLATTEST * EPSILON[real])
    if any(height < flattest * _root(_dot(row, row)) for row, height in zip(short, heights, strict=True)):
        return None
    dtype = _DTYPE[real]
    sizes = [sum(map(abs, vector), Fraction(0)) for vector in frame]
    lengths, normals, weights = [], [], []
    for row, times, dual, height in zip(rows, combinations, duals, heights, strict=True):
        normals.append(tuple(float(dtype(float(each * height))) for each in dual))
        lengths.append(0.0 if row is None else float(dtype(float(height))))
        parts = sum((abs(many) * size for many, size in zip(times, sizes, strict=True) if many), Fraction(0))
        weights.append(float(parts / height) * (1 + 1e-6))
    return PeriodicCell(
        lengths=tuple(lengths),
        low=None,
        real=real,
        vectors=tuple(row if row is not None else (0.0,) * dim for row in rows),
        combinations=combinations,
        normals=tuple(normals),
        weights=tuple(weights),
    )


def _combinations(
    rows: Sequence[tuple[float, ...] | None], frame: Sequence[_Row], most: int
) -> tuple[tuple[int, ...], ...]:
    """How often each vector is in each of a reduced basis, at most `most` times; what does not repeat stays alone."""
    axes = [axis for axis, row in enumerate(rows) if row is not None]
    short = short_combinations([frame[axis] for axis in axes], most)
    found = [[int(k == j) for j in range(len(rows))] for k in range(len(rows))]
    for axis, row in zip(axes, short, strict=True):
        for other, times in zip(axes, row, strict=True):
            found[axis][other] = times
    return tuple(map(tuple, found))


def _heights(frame: Sequence[_Row]) -> tuple[list[_Row], list[Fraction]]:
    """The duals of vectors, and how high the cell of these vectors is over each of its faces."""
    duals = _duals(frame)
    return duals, [1 / _root(_dot(dual, dual)) for dual in duals]


def _sum(times: Sequence[int], rows: Sequence[_Row]) -> _Row:
    """The sum of all rows, each that many times."""
    columns = zip(*rows, strict=True)
    return tuple(sum((many * x for many, x in zip(times, column, strict=True)), Fraction(0)) for column in columns)


def _follows(row: tuple[float, ...], axis: int) -> bool:
    """Whether a vector has the positive direction of an axis."""
    return row[axis] > 0 and not any(each for k, each in enumerate(row) if k != axis)


def _dot(a: _Row, b: _Row) -> Fraction:
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def _root(square: Fraction) -> Fraction:
    """The square root, to far more digits than a float has."""
    bits = _ROOT_BITS + abs(square.numerator.bit_length() - square.denominator.bit_length())
    return Fraction(math.isqrt((square.numerator << 2 * bits) // square.denominator), 1 << bits)


def _rest(vector: _Row, others: Sequence[_Row]) -> _Row:
    """The part of a vector that is orthogonal to `others`, which are orthogonal to each other."""
    for other in others:
        share = _dot(vector, other) / _dot(other, other)
        vector = tuple(x - share * y for x, y in zip(vector, other, strict=True))
    return vector


def _completed(rows: list[_Row | None]) -> list[_Row] | None:
    """The rows, with vectors orthogonal to all others in place of None; None where rows are linearly dependent."""
    dim = len(rows)
    orthogonal: list[_Row] = []
    for row in rows:
        if row is not None:
            orthogonal.append(_rest(row, orthogonal))
            if not any(orthogonal[-1]):
                return None
    frame = list(rows)
    for axis, row in enumerate(rows):
        if row is None:
            units = [tuple(Fraction(k == j) for k in range(dim)) for j in range(dim)]
            rests = [_rest(unit, orthogonal) for unit in units]
            # The axis of the same number where it points far enough away from the others.
            best = (
                axis
                if _dot(rests[axis], rests[axis]) > Fraction(1, 4)
                else max(range(dim), key=lambda j: _dot(rests[j], rests[j]))
            )
            frame[axis] = rests[best]
            orthogonal.append(rests[best])
    return [row for row in frame if row is not None]


def _duals(rows: Sequence[_Row]) -> list[_Row]:
    """For each row the vector whose product with that row is 1, and with the others 0."""
    dim = len(rows)
    table = [[*row, *(Fraction(k == j) for j in range(dim))] for k, row in enumerate(rows)]
    for k in range(dim):
        pivot = next(j for j in range(k, dim) if table[j][k])
        table[k], table[pivot] = table[pivot], table[k]
        table[k] = [each / table[k][k] for each in table[k]]
        for j in range(dim):
            if j != k:
                table[j] = [a - table[j][k] * b for a, b in zip(table[j], table[k], strict=True)]
    return [tuple(table[j][dim + k] for j in range(dim)) for k in range(dim)]


def cell_from_parameters(  # noqa: PLR0917 — as every program of crystallography passes them
    a: float, b: float, c: float, alpha: float, beta: float, gamma: float
) -> npt.NDArray[np.float64]:
    """The lattice vectors of a cell that is given by lengths and angles.

    The first vector points along x, and the second lies in the plane of x and y, as in ASE.

    Parameters
    ----------
    a, b, c : the lengths of the lattice vectors, above 0, in the points' unit
    alpha, beta, gamma : the angles between b and c, a and c, a and b, in degrees

    Returns
    -------
    (3, 3) float64, the lattice vectors as rows, for ``cell=``

    Raises
    ------
    InvalidInputError
        A length is not positive, or no three vectors have such angles.

    Examples
    --------
    >>> import clfrnn
    >>> clfrnn.cell_from_parameters(2, 3, 4, 90, 90, 90)
    array([[2., 0., 0.],
           [0., 3., 0.],
           [0., 0., 4.]])
    """
    given = shown((a, b, c)), shown((alpha, beta, gamma))
    a, b, c, alpha, beta, gamma = map(real_number, (a, b, c, alpha, beta, gamma))
    lengths, angles = (a, b, c), (alpha, beta, gamma)
    if not all(math.isfinite(length) and length > 0 for length in lengths):
        raise InvalidInputError(
            f"expected three positive lengths, got {given[0]}; pass lengths, then angles", argument="a, b, c"
        )
    if not all(0 < angle < 180 for angle in angles):
        raise InvalidInputError(
            f"expected three angles between 0 and 180 degrees, got {given[1]}; pass lengths, then angles in degrees",
            argument="alpha, beta, gamma",
        )
    # Right angles are exact, so that a cell of right angles is a box.
    cosines = [0.0 if angle == 90 else math.cos(math.radians(angle)) for angle in angles]
    sine = 1.0 if gamma == 90 else math.sin(math.radians(gamma))
    along = (cosines[0] - cosines[1] * cosines[2]) / sine
    up = 1.0 - cosines[1] ** 2 - along**2
    if not up > 0:
        raise InvalidInputError(
            f"no three vectors have the angles {given[1]} between them; each angle must be less "
            "than the sum of the other two, and the three less than 360 degrees",
            argument="alpha, beta, gamma",
        )
    return np.array(
        [(a, 0.0, 0.0), (b * cosines[2], b * sine, 0.0), (c * cosines[1], c * along, c * math.sqrt(up))], np.float64
    )
