"""Survey: what the passes over the points told, from which plans are made."""

from __future__ import annotations

import dataclasses
import math

__all__ = ["Survey", "occupancy_bits", "occupancy_share", "others_per_cell"]

#: Points that the occupancy sample aims to count.
_SAMPLED_POINTS = 8192

#: Counters for each of them, so that few sampled cells share one.
_SLOTS_PER_POINT = 32


@dataclasses.dataclass(frozen=True, kw_only=True)
class Survey:
    """The shape of a cloud: its box, and how crowded the surroundings of a point are.

    ``low`` and ``high`` bound the finite points. ``others`` is the mean number of other points that a point
    shares its cell with, cells being cubes of side `radius`; unlike ``n / volume`` it sees clusters. ``counted`` is the
    density that an index found around a point by a count of wider cells of its own, 0 where none was made.
    """

    n: int
    low: tuple[float, ...]
    high: tuple[float, ...]
    others: float = 0.0
    counted: float = 0.0

    @property
    def dim(self) -> int:
        """Number of coordinates of a point."""
        return len(self.low)

    def density(self, cell_side: float) -> float:
        """Points per unit of volume as seen by a point, where `others` was counted in cells of `cell_side`."""
        densest = self._log_density(cell_side)
        return math.exp(densest) if -700 < densest < 700 else math.inf if densest > 0 else 0.0

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

    def neighbors(self, radius: float) -> float:
        """Points in a ball of that radius around a point, where `others` was counted in cells of side `radius`."""
        if not radius > 0:
            return 0.0
        unit = math.pi ** (self.dim / 2) / math.gamma(self.dim / 2 + 1)
        found = self._log_density(radius) + math.log(unit) + self.dim * math.log(radius)
        return min(float(self.n), math.exp(min(700.0, found)))

    def _chance(self, expected: float) -> float:
        """What `others` may come to by chance in an even cloud; `expected` is the logarithm of its mean, or 0."""
        spread = (math.exp(expected) + 1 / _SLOTS_PER_POINT) / max(1, min(self.n, _SAMPLED_POINTS))
        return math.exp(expected) + 4 * math.sqrt(2 * spread)


def occupancy_share(n: int) -> int:
    """The occupancy sample looks at one cell in this many (a power of two)."""
    return 1 << max(0, math.floor(math.log2(max(1, n) / _SAMPLED_POINTS)))


def occupancy_bits(n: int) -> int:
    """The occupancy sample has two to this power counters, at most 1 MiB of them."""
    return (_SLOTS_PER_POINT * max(1, min(n, _SAMPLED_POINTS)) - 1).bit_length()


def others_per_cell(*, n: int, points: int, squares: int) -> float:
    """Mean number of other points in a point's cell, from the sample's sum of counts and sum of squared counts.

    Two sampled cells that share a counter look like one fuller cell; what that adds on average is taken off again.
    When no cell was met, the points sit in so few cells that the sample missed them all.
    """
    if points == 0:
        return float(n) / 8 if occupancy_share(n) > 1 else 0.0
    shared = squares / points - 1.0
    cells = points / (1.0 + shared)
    return max(0.0, shared - cells / (1 << occupancy_bits(n)))
