"""The coarse grid of FENNS, and how points are counted in few cells. Pure functions."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

from ...config import CounterConfig
from ...domain.box import SLACK, PeriodicBox
from ...domain.cells import CellGrid, grid_of, padded_radius
from ...groups import busy_units, group_size
from ...profile import DeviceProfile
from ...tuning import Tuning

__all__ = [
    "CoarseConfig",
    "counting_groups",
    "divide",
    "fit_coarse",
    "most_coarse_cells",
    "plan_coarse",
]

#: Ratio by which a cell is wider than the padded radius, so that rounding takes no window beyond the adjacent cell.
_MARGIN = 1.01

_LARGEST_EXTENT = {"float": 2.0**127, "double": 2.0**1020}
_EPSILON = {"float": 2.0**-23, "double": 2.0**-52}


@dataclasses.dataclass(frozen=True, kw_only=True)
class CoarseConfig(CounterConfig):
    """Sorting into coarse cells, all of which each group counts."""

    #: points that a work-item loads before it counts the first of them
    batch: int
    #: distance between counters in integers, so that atomic operations on several do not wait for each other
    spread: int

    def names(self) -> dict[str, Any]:
        """The fields, and the layout of points."""
        return {**super().names(), "layout": "records"}


def most_coarse_cells(profile: DeviceProfile) -> int:
    """The largest number of cells that one group can count in local memory."""
    return max(1, profile.usable_local_memory // 4)


def counting_groups(profile: DeviceProfile, tuning: Tuning, n: int, size: int, *, a_unit: int | None = None) -> int:
    """The number of groups of `size` that count n points: `a_unit` for each compute unit where points are enough."""
    a_unit = a_unit or tuning.fenns.count_groups_a_unit
    return max(1, min(busy_units(profile) * a_unit, -(-n // size)))


def plan_coarse(profile: DeviceProfile, tuning: Tuning, *, dim: int, real: str, periodic: str) -> CoarseConfig:
    """Plan wide groups on a GPU, where each group clears and adds up all counters, and narrow ones on a CPU."""
    numbers = tuning.fenns
    return CoarseConfig(
        work_group_size=group_size(profile, numbers.count_group),
        dim=dim,
        real=real,
        periodic=periodic,
        counters=most_coarse_cells(profile),
        batch=numbers.count_batch,
        spread=numbers.counter_spread,
    )


def fit_coarse(
    *,
    low: tuple[float, ...],
    high: tuple[float, ...],
    radius: float,
    real: str,
    most: int,
    shape: Sequence[int] | None = None,
    box: PeriodicBox,
) -> CellGrid:
    """Plan at most `most` cells, as cubic as whole numbers allow, over the domain between `low` and `high`; or `shape`.

    No cell is narrower than the padded radius, so that a query's neighbors lie in its own cell and the adjacent ones.
    """
    lengths = box.lengths
    extents = [
        min(length or 2.0 * (b / 2 - a / 2), _LARGEST_EXTENT[real])
        for length, a, b in zip(lengths, low, high, strict=True)
    ]
    least = [
        # With many cells on an axis, the coordinates of the last cells are rounded more coarsely, in units of a cell.
        reach * (_MARGIN + 8 * _EPSILON[real] * min(most, extent / reach))
        for reach, extent in zip(_reaches(low, high, radius=radius, real=real, box=box), extents, strict=True)
    ]
    caps = [max(1, math.floor(min(extent / side, most))) for extent, side in zip(extents, least, strict=True)]
    wanted = divide(extents, caps, most) if shape is None else tuple(map(min, shape, caps))
    sides = tuple(
        extent / many if length else max(extent / many, side)
        for extent, many, side, length in zip(extents, wanted, least, lengths, strict=True)
    )
    periods = tuple(many if length else 0 for many, length in zip(wanted, lengths, strict=True))
    return grid_of(low=low, sides=sides, shape=wanted, periods=periods, real=real)


def _reaches(
    low: tuple[float, ...], high: tuple[float, ...], *, radius: float, real: str, box: PeriodicBox
) -> list[float]:
    """Half the width of a query's window on each axis, with padding for the rounding of coordinates."""
    epsilon = _EPSILON[real]
    reach = padded_radius(radius, real) * (1 + 8 * epsilon + box.growth)
    pads = [4 * epsilon * max(abs(a), abs(b)) for a, b in zip(low, high, strict=True)]
    own = box.pads(box.starts(low, high), real)
    return [
        reach + (pad + extra + (2 * SLACK + 300 * epsilon) * length)
        for pad, extra, length in zip(pads, own, box.lengths, strict=True)
    ]


def divide(extents: Sequence[float], caps: Sequence[int], most: int) -> tuple[int, ...]:
    """The number of parts of each axis: at most `caps`, at most `most` parts in all, and as cubic as possible."""
    longest = max(extents)
    if not longest > 0:
        return (1,) * len(extents)

    def shape(along: int) -> tuple[int, ...]:
        # Axes of nearly the same extent have the same number of parts.
        return tuple(
            max(1, min(cap, math.floor(along * (extent / longest) + 0.05)))
            for extent, cap in zip(extents, caps, strict=True)
        )

    few, many = 1, most + 1  # bounds of the number of parts of the longest axis
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if math.prod(shape(middle)) > most else (middle, many)
    return shape(few)
