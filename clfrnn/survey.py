"""Survey: what the passes over the points told, from which plans are made."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import NamedTuple

__all__ = ["Sample", "Survey", "occupancy_sample"]


class Sample(NamedTuple):
    """The occupancy sample of n points: one of each `stride` looks into its cell, one of each `step` is counted.

    Not the same one of each: points that come in rows of a lattice would be met in step with it.
    """

    sampled: int
    stride: int
    counted: int
    step: int
    #: there are two to this power counters
    bits: int

    def crowding(self, found: int, crowd: int, square: int) -> tuple[float, float]:
        """`others` and `unevenness`, by what so many of the sampled found counted, in all and in squares.

        Each that was counted stands for `step`, and each two of them for the square of that.
        """
        if crowd == 0:
            return 0.0, 1.0
        return self.step * crowd / found, found * (self.step * (square - crowd) + crowd) / (self.step * crowd**2)


def occupancy_sample(n: int, *, points: int, counted: int, slots: int) -> Sample:
    """The sample of n points, at least one, spread over them all as they come.

    At most so many `points` look into their cells, and so many of all are `counted` there, by so many `slots` for each
    of the former.
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
    """The shape of a cloud: its box, and how crowded the surroundings of a point are.

    ``low`` and ``high`` bound the finite points. ``others`` is the mean number of other points that a point
    shares its cell with, cells being cubes of side `radius`; unlike ``n / volume`` it sees clusters. ``unevenness`` is
    the mean square of that number over the square of its mean: about 1 where as many are around every point, also in
    clusters, and the more the fewer points have most of the neighbors. ``counted`` is the density that an index found
    around a point by a count of wider cells of its own, 0 where none was made. ``sample`` says what `others` was found
    by, None where all points were counted.
    """

    n: int
    low: tuple[float, ...]
    high: tuple[float, ...]
    others: float = 0.0
    unevenness: float = 1.0
    counted: float = 0.0
    sample: Sample | None = None

    @property
    def dim(self) -> int:
        """Number of coordinates of a point."""
        return len(self.low)

    def density(self, cell_side: float) -> float:
        """Points per unit of volume as seen by a point, where `others` was counted in cells of `cell_side`."""
        densest = self._log_density(cell_side)
        return math.exp(densest) if -700 < densest < 700 else math.inf if densest > 0 else 0.0

    @functools.lru_cache(maxsize=64)  # noqa: B019 — surveys are small, and a plan asks for the same a dozen times
    def _log_density(self, cell_side: float) -> float:
        if self.counted:
            return math.log(self.counted)
        logarithm = sum(
            math.log(max(high / 2 - low / 2, 0.5 * cell_side, 5e-324)) + math.log(2)
            for low, high in zip(self.low, self.high, strict=True)
        )
        mean = math.log(max(self.n, 1)) - logarithm
        local = -math.inf
        if cell_side > 0 and self.others > self._chance(min(0.0, mean + self.dim * math.log(cell_side))):
            local = math.log(self.others) - self.dim * math.log(cell_side)
        return max(local, mean)

    @functools.lru_cache(maxsize=64)  # noqa: B019 — as above
    def neighbors(self, radius: float) -> float:
        """Points in a ball of that radius around a point, where `others` was counted in cells of side `radius`."""
        if not radius > 0:
            return 0.0
        dim = len(self.low)
        unit = math.pi ** (dim / 2) / math.gamma(dim / 2 + 1)
        found = self._log_density(radius) + math.log(unit) + dim * math.log(radius)
        return min(float(self.n), math.exp(min(700.0, found)))

    def spread(self, radius: float) -> float:
        """The standard deviation of that number over points: chance alone, and as unevenly as they crowd beyond it."""
        mean, excess = self.neighbors(radius), 0.0
        if self.others > 0:
            found = self.unevenness - 1 - 1 / self.others
            excess = found if found > self.chance_of_unevenness else 0.0
        return math.sqrt(mean + excess * mean * mean)

    @property
    def unevenness_beyond_chance(self) -> float:
        """What is certain of `unevenness`: where that is much, few points have most of the neighbors."""
        return self.unevenness - self.chance_of_unevenness

    @property
    def chance_of_unevenness(self) -> float:
        """What chance may add to `unevenness`: where few points are counted, two in one cell look like a crowd."""
        sampled, step = self._sampled
        return 4 * math.sqrt(2 / sampled) * step / self.others if self.others > 0 else math.inf

    def _chance(self, expected: float) -> float:
        """What `others` may come to by chance in an even cloud; `expected` is the logarithm of its mean, or 0."""
        sampled, step = self._sampled
        # Of few points each pair is met from both sides, of many each stands for some that were not counted.
        spread = math.exp(expected) * max(2, step) / sampled
        return math.exp(expected) + 4 * math.sqrt(spread)

    @property
    def _sampled(self) -> tuple[int, int]:
        """Points that looked into their cells, and how many each stands for that was counted there."""
        return (max(1, self.n), 1) if self.sample is None else (self.sample.sampled, self.sample.step)
