"""Survey: what passes over the points have found, from which plans are made."""

from __future__ import annotations

import dataclasses
import functools
import math
import operator
from typing import NamedTuple

__all__ = ["Sample", "Survey", "occupancy_sample"]


#: Cells of this share of a cloud's width, or smaller, are finer than keys of 20 bits for each axis tell apart.
_FINE = 2.0**-18


class Sample(NamedTuple):
    """The occupancy sample of n points: one of each `stride` points has its cell sampled.

    Of all points, one of each `step` is counted in these cells. The two choices differ, because points in rows of a
    lattice would be met in the same rhythm by both.
    """

    sampled: int
    stride: int
    counted: int
    step: int
    #: the logarithm of the number of counters, to base two
    bits: int

    def crowding(self, found: int, crowd: int, square: int) -> tuple[float, float]:
        """The values `others` and `unevenness` of a survey.

        `found` is the number of sampled points, `crowd` the sum of the points that were counted in their cells, and
        `square` the sum of the squares. Each counted point stands for `step` points, and each two of them for the
        square of that.
        """
        if crowd == 0:
            return 0.0, 1.0
        return self.step * crowd / found, found * (self.step * (square - crowd) + crowd) / (self.step * crowd**2)


def occupancy_sample(n: int, *, points: int, counted: int, slots: int) -> Sample:
    """The occupancy sample of n points, n at least 1, spread over all points in their order.

    At most `points` points have their cells sampled, and at most `counted` points are counted in these cells, with
    `slots` counters for each sampled point.
    """
    sampled = min(n, points)
    step = -(-n // counted)
    return Sample(
        sampled=sampled,
        stride=n // sampled,
        counted=-(-n // step),
        step=step,
        bits=(slots * sampled - 1).bit_length(),
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Survey:
    """The bounding box of the points, and how crowded the space around a point is.

    ``low`` and ``high`` bound the finite points. ``bulk`` bounds the points without strays, see
    /primitives/reduce.cl.mako; None where it was not found. ``others`` is the mean number of other points in a point's
    cell, a cube of side `radius`; unlike ``n / volume`` it sees clusters. ``unevenness`` is the mean square of that
    number over the square of its mean: about 1 where as many points are around every point, also in clusters, and
    larger where few points have most of the neighbors. ``counted`` is the density around a point that an index found by
    a count in its own cells, 0 where it made no count. ``sample`` says how `others` was found; it is None where all
    points were counted.
    """

    n: int
    low: tuple[float, ...]
    high: tuple[float, ...]
    bulk: tuple[tuple[float, ...], tuple[float, ...]] | None = None
    others: float = 0.0
    unevenness: float = 1.0
    counted: float = 0.0
    sample: Sample | None = None
    #: the side of the cells in which `others` were counted, 0 where none were
    cell: float = 0.0

    @property
    def crowds_finely(self) -> bool:
        """Whether points have others in cells of a millionth of the cloud's width."""
        low, high = self.without_strays
        return 0 < self.cell < _FINE * max(map(operator.sub, high, low), default=0.0) and self.others >= 1

    @property
    def dim(self) -> int:
        """The number of coordinates of a point."""
        return len(self.low)

    @property
    def without_strays(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """The corners of the points without strays, or of all points."""
        return (self.low, self.high) if self.bulk is None else self.bulk

    @property
    def has_strays(self) -> bool:
        """Whether a few points lie far from all others."""
        return self.without_strays != (self.low, self.high)

    def density(self, cell_side: float) -> float:
        """The density around a point, in points per unit of volume; `others` was counted in cells of `cell_side`."""
        densest = self._log_density(cell_side)
        return math.exp(densest) if -700 < densest < 700 else math.inf if densest > 0 else 0.0

    @functools.lru_cache(maxsize=64)  # noqa: B019 — surveys are small, and a plan needs the same value a dozen times
    def _log_density(self, cell_side: float) -> float:
        if self.counted:
            return math.log(self.counted)
        logarithm = sum(
            math.log(max(high / 2 - low / 2, 0.5 * cell_side, 5e-324)) + math.log(2)
            for low, high in zip(*self.without_strays, strict=True)
        )
        mean = math.log(max(self.n, 1)) - logarithm
        local = -math.inf
        if cell_side > 0 and self.others > self._chance(min(0.0, mean + self.dim * math.log(cell_side))):
            local = math.log(self.others) - self.dim * math.log(cell_side)
        return max(local, mean)

    @functools.lru_cache(maxsize=64)  # noqa: B019 — as above
    def neighbors(self, radius: float) -> float:
        """The expected number of points in a ball of `radius` around a point; `others` was counted in such cells."""
        if not radius > 0:
            return 0.0
        dim = len(self.low)
        unit = math.pi ** (dim / 2) / math.gamma(dim / 2 + 1)
        found = self._log_density(radius) + math.log(unit) + dim * math.log(radius)
        return min(float(self.n), math.exp(min(700.0, found)))

    def spread(self, radius: float) -> float:
        """The standard deviation over points of that number: chance, and what unevenness adds to it."""
        mean, excess = self.neighbors(radius), 0.0
        if self.others > 0:
            found = self.unevenness - 1 - 1 / self.others
            excess = found if found > self.chance_of_unevenness else 0.0
        return math.sqrt(mean + excess * mean * mean)

    @property
    def unevenness_beyond_chance(self) -> float:
        """The part of `unevenness` that chance does not explain; if it is large, few points have most neighbors."""
        return self.unevenness - self.chance_of_unevenness

    @property
    def chance_of_unevenness(self) -> float:
        """What chance may add to `unevenness`: where few points are counted, two in one cell look like a crowd."""
        sampled, step = self._sampled
        return 4 * math.sqrt(2 / sampled) * step / self.others if self.others > 0 else math.inf

    def _chance(self, expected: float) -> float:
        """What `others` may reach by chance in an even cloud; `expected` is the logarithm of its mean, at most 0."""
        sampled, step = self._sampled
        # Of few points each pair is met from both sides. Of many points each counted one stands for several others.
        spread = math.exp(expected) * max(2, step) / sampled
        return math.exp(expected) + 4 * math.sqrt(spread)

    @property
    def _sampled(self) -> tuple[int, int]:
        """The number of points whose cells were sampled, and how many points each counted one stands for."""
        return (max(1, self.n), 1) if self.sample is None else (self.sample.sampled, self.sample.step)
