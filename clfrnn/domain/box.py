"""Domain: where points lie and which of their images count; and PeriodicBox: space whose axes repeat, or do not."""

from __future__ import annotations

import abc
import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = [
    "CELLS",
    "EPSILON",
    "FARTHEST",
    "SLACK",
    "SYSTEMS",
    "Domain",
    "Frame",
    "PeriodicBox",
    "find_far_coordinate",
    "lies_inside",
    "open_space",
]

#: Kinds of domains that :mod:`.lattice` describes; images of the second are counted along combinations of the vectors
#: that the caller gave.
CELLS = ("cell", "reduced_cell")

#: Kinds of domains that :mod:`.systems` describes; in the second some system has a cell of the second kind.
SYSTEMS = ("systems", "reduced_systems")

#: Distance from a periodic box in lengths up to which coordinates distinguish images despite rounding.
FARTHEST = {"float": 2.0**20, "double": 2.0**28}

#: The distance from 1 to the next number of each type.
EPSILON = {"float": 2.0**-23, "double": 2.0**-52}

#: Share of a length by which a point may lie outside a periodic box and still count as inside on the device. The host
#: allows half of it, so that rounding cannot make a point that the host counts as inside one that the device does not.
SLACK = 2.0**-16


class Domain(abc.ABC):
    """Open space, a periodic box or cell, or many systems: a frozen value that knows no positions and no device."""

    @property
    @abc.abstractmethod
    def kind(self) -> str:
        """What programs are compiled for: "" in open space, "box", one of :data:`CELLS`, or one of :data:`SYSTEMS`."""

    @property
    @abc.abstractmethod
    def space(self) -> PeriodicBox:
        """The space in which methods place points: for many systems open space, in which each has a slot of its own."""

    @property
    @abc.abstractmethod
    def has_images(self) -> bool:
        """Whether a point has images."""

    @functools.cached_property
    def num_points(self) -> int | None:
        """The number of points where the domain knows the system of each; None where there may be any number."""
        return None

    @abc.abstractmethod
    def parts(self, n: int) -> Sequence[tuple[PeriodicBox, int]]:
        """The spaces in which queries look for neighbors, and the largest number of `n` points that lie in each."""

    @abc.abstractmethod
    def spaces_of(self, n: int) -> tuple[npt.NDArray[np.int32], Sequence[PeriodicBox]]:
        """The system of each of `n` points, (n,), and the space of each system; one for all where there are none."""

    @abc.abstractmethod
    def repeats(self, radius: float) -> bool:
        """Whether a query may see two images of one point within `radius`, with a margin for the coarsest rounding."""

    @abc.abstractmethod
    def images(self, radius: float) -> float:
        """The mean number of images of the space that a query covers."""

    @abc.abstractmethod
    def most_images(self, radius: float) -> float:
        """The largest number of images of the space that a query covers, including rounding."""

    @abc.abstractmethod
    def pair_density(self, n: int, m: int, systems: npt.NDArray[np.int32] | None) -> float | None:
        """The number of pairs of `m` queries with `n` points that a unit of volume has where points are even.

        `systems` are those of queries, (m,), where these are no points. None where not all axes repeat.
        """

    @abc.abstractmethod
    def describe(self) -> str:
        """The domain in words; "" in open space."""


class Frame(NamedTuple):
    """The directions of a space as arrays, (dim, dim) and for weights (dim,); see :class:`.lattice.PeriodicCell`."""

    normals: npt.NDArray[np.float64]
    vectors: npt.NDArray[np.float64]
    #: the vectors along which images are counted, and how often each of `vectors` is in these
    steps: npt.NDArray[np.float64]
    combinations: npt.NDArray[np.float64]
    weights: npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True, kw_only=True)
class PeriodicBox(Domain):
    """The length of each periodic axis, 0 for other axes, and the low corner of the box where the caller has given it.

    Where no axis is periodic, this is open space. The low corner never changes a result; it decides which points lie
    inside the box.
    """

    lengths: tuple[float, ...]
    low: tuple[float, ...] | None

    @functools.cached_property
    def kind(self) -> str:
        """See :class:`Domain`."""
        return "box" if any(self.lengths) else ""

    @functools.cached_property
    def space(self) -> PeriodicBox:
        """The box itself."""
        return self

    @functools.cached_property
    def has_images(self) -> bool:
        """See :class:`Domain`."""
        return bool(self.kind)

    def parts(self, n: int) -> Sequence[tuple[PeriodicBox, int]]:
        """The box alone, with all points."""
        return ((self, n),)

    def spaces_of(self, n: int) -> tuple[npt.NDArray[np.int32], Sequence[PeriodicBox]]:
        """See :class:`Domain`."""
        return np.zeros(n, np.int32), (self,)

    def describe(self) -> str:
        """See :class:`Domain`."""
        axes = ", ".join(f"axis {k} of length {length:g}" for k, length in enumerate(self.lengths) if length)
        return f"periodic: {axes}" if axes else ""

    def pair_density(self, n: int, m: int, systems: npt.NDArray[np.int32] | None) -> float | None:  # noqa: ARG002
        """See :class:`Domain`."""
        return n * m / self.volume if self.volume else None

    @functools.cached_property
    def volume(self) -> float:
        """The volume of one period; 0 where an axis does not repeat."""
        return abs(float(np.linalg.det(self.frame.vectors)))

    @property
    def frame(self) -> Frame:
        """The directions along which points are placed: the axes."""
        lengths, unit = np.diag(self.lengths), np.eye(len(self.lengths))
        return Frame(unit, lengths, lengths, unit, np.ones(len(unit)))

    @property
    def most_visited(self) -> float:
        """The largest number of images that a query visits besides those within its radius, by rounding."""
        return math.prod([3.0 for length in self.lengths if length])

    @property
    def extents(self) -> tuple[float, ...]:
        """How far points inside may lie from the origin on each axis for pads to stay small; infinite on most."""
        return (math.inf,) * len(self.lengths)

    def heights(self, positions: Any) -> Any:
        """By what `positions`, (n, dim), lie in the box: in a cell their heights, here the positions."""
        return positions

    def into_box(self, positions: npt.NDArray[Any], starts: tuple[float, ...]) -> npt.NDArray[Any]:
        """The images of `positions`, (n, dim), in the box with the low corner `starts`, about as kernels find them."""
        if not self.kind:
            return positions
        periods = np.where(np.greater(self.lengths, 0), self.lengths, np.inf)
        with np.errstate(invalid="ignore"):  # rows that are not finite are refused later
            return positions - np.floor((positions - np.array(starts)) / periods) * self.lengths

    def limits(self, real: str) -> tuple[float, ...]:
        """How far from the origin rounding lets images be distinguished on each axis; infinite where there are none."""
        return tuple(FARTHEST[real] / 2 * length if length else math.inf for length in self.lengths)

    @property
    def sides(self) -> tuple[float, ...]:
        """The lengths of a rectangular box that has the volume of this one; 0 on axes that are not periodic."""
        return self.lengths

    @property
    def spans(self) -> tuple[float, ...]:
        """How far apart the images of a point lie along each axis, so that squares of these may be added."""
        return self.lengths

    def starts(self, low: tuple[float, ...], high: tuple[float, ...]) -> tuple[float, ...]:
        """The best low corner for points between `low` and `high`: all points lie inside the box where possible."""
        if not self.kind:
            return self.lengths
        return tuple(
            self._start(axis, a, b) if length else 0.0
            for axis, (length, a, b) in enumerate(zip(self.lengths, low, high, strict=True))
        )

    def _start(self, axis: int, low: float, high: float) -> float:
        length = self.lengths[axis]
        usual = (0.0, -0.5 * length) if self.low is None else (self.low[axis],)
        return next((start for start in usual if lies_inside(start, length, low, high)), low)

    @property
    def growth(self) -> float:
        """The share of a radius by which a window is wider than its radius and :meth:`pads`."""
        return 0.0

    def repeats(self, radius: float) -> bool:
        """See :class:`Domain`."""
        return any(length and 2.0 * radius >= 0.7 * length for length in self.lengths)

    def images(self, radius: float) -> float:
        """See :class:`Domain`."""
        return math.prod([2.0 * radius / length + 1.0 for length in self.lengths if length]) if self.kind else 1.0

    def most_images(self, radius: float) -> float:
        """See :class:`Domain`."""
        return math.prod(2.0 * radius / length + 3.0 for length in self.lengths if length)

    def most_shift(self, radius: float) -> float:
        """The largest number of lengths or lattice vectors by which neighbors of queries in the box are shifted."""
        return max((radius / length + 1.5 for length in self.lengths if length), default=0.0)

    def pads(self, starts: tuple[float, ...], real: str) -> tuple[float, ...]:
        """The padding of windows on each axis, for queries and points inside a box with the low corner `starts`.

        It is the sum of the rounding of coordinates, images and differences, and of the distance by which a point that
        counts as inside may lie outside. The kernel of ``methods/domain_tables/periodic_images.cl.mako`` computes it
        for other points.
        """
        return tuple(
            (8 * EPSILON[real] * (3 * abs(start) + 3 * length * (1 + 2 * SLACK)) + length * SLACK) * (1 + SLACK)
            if length
            else 0.0
            for start, length in zip(starts, self.lengths, strict=True)
        )

    def exceeds_windows(self, reaches: Sequence[float]) -> bool:
        """Whether every length is more than the window of a query inside the box, so that it crosses at most one edge.

        The last 1 % is a margin for rounding.
        """
        return all(2 * reach < 0.99 * length for length, reach in zip(self.lengths, reaches, strict=True) if length)

    def filled(self, low: tuple[float, ...], high: tuple[float, ...]) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """The corners of the space that points fill: one period, or their extent on an axis that is not periodic."""
        if not self.kind:
            return low, high
        starts = self.starts(low, high)
        corners = [
            (start, start + length) if length else (a, b)
            for start, length, a, b in zip(starts, self.lengths, low, high, strict=True)
        ]
        return tuple(corner[0] for corner in corners), tuple(corner[1] for corner in corners)

    def holds(self, low: tuple[float, ...], high: tuple[float, ...], starts: tuple[float, ...] | None = None) -> bool:
        """Whether all points between `low` and `high` lie inside the box with the low corner `starts`, or its best."""
        starts = self.starts(low, high) if starts is None else starts
        return all(
            lies_inside(start, length, a, b)
            for start, length, a, b in zip(starts, self.lengths, low, high, strict=True)
            if length
        )


@functools.cache
def open_space(dim: int) -> PeriodicBox:
    """Space of which no axis repeats."""
    return PeriodicBox(lengths=(0.0,) * dim, low=None)


def lies_inside(start: float, length: float, low: float, high: float) -> bool:
    """Whether points between `low` and `high` on an axis lie in one period of it."""
    slack = SLACK / 2 * length
    return start - slack <= low and high <= start + length + slack


def find_far_coordinate(
    space: PeriodicBox, low: tuple[float, ...], high: tuple[float, ...], real: str
) -> tuple[int, float] | None:
    """The axis and coordinate of a point so far from a periodic box that images cannot be distinguished, or None."""
    for axis, (most, a, b) in enumerate(zip(space.limits(real), low, high, strict=True)):
        if a < -most or b > most:
            return axis, max(a, b, key=abs)
    return None
