"""Coarse cells: how FENNS divides a domain, and how points are counted in few cells. Pure functions."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

from ..domain import CellGrid, grid_of, padded_radius
from ..period import SLACK, PeriodicBox
from ..profile import DeviceProfile
from .configs import CounterConfig
from .groups import group_size
from .tuning import Tuning

__all__ = [
    "CoarseConfig",
    "counting_groups",
    "divide",
    "fit_coarse",
    "most_coarse_cells",
    "plan_coarse",
]

#: A cell is so much wider than the reach that rounding never takes a window past the next cell.
_MARGIN = 1.01

_LARGEST_EXTENT = {"float": 2.0**127, "double": 2.0**1020}
_EPSILON = {"float": 2.0**-23, "double": 2.0**-52}


@dataclasses.dataclass(frozen=True, kw_only=True)
class CoarseConfig(CounterConfig):
    """Sorting into coarse cells, all of which a group counts."""

    #: points that an item loads before it counts the first of them
    batch: int
    #: counters lie so far apart, in numbers, that atomics on several do not wait for each other
    spread: int

    def names(self) -> dict[str, Any]:
        """The fields, and how points are kept."""
        return {**super().names(), "layout": "records"}


def most_coarse_cells(profile: DeviceProfile) -> int:
    """Cells that one group can count in local memory."""
    return max(1, profile.usable_local_memory // 4)


def counting_groups(profile: DeviceProfile, tuning: Tuning, n: int, size: int, *, a_unit: int | None = None) -> int:
    """Groups of `size` that count n points: some for each compute unit, if they have something to count together."""
    a_unit = a_unit or tuning.fenns.count_groups_a_unit
    return max(1, min(profile.compute_units * a_unit, -(-n // size)))


def plan_coarse(profile: DeviceProfile, tuning: Tuning, *, dim: int, real: str, periodic: bool) -> CoarseConfig:
    """On a GPU groups of many items, as each clears and adds up all counters; few on a CPU, where they take turns."""
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
    box: PeriodicBox | None = None,
) -> CellGrid:
    """At most `most` cells, as cubic as whole numbers allow, over the points between `low` and `high`; or `shape`.

    None is narrower than the reach of a query: what that sees then lies in its own cell and the next ones.
    """
    if box is not None:
        low, high = box.domain(low, high)
    lengths = box.lengths if box is not None else (0.0,) * len(low)
    extents = [
        min(length or 2.0 * (b / 2 - a / 2), _LARGEST_EXTENT[real])
        for length, a, b in zip(lengths, low, high, strict=True)
    ]
    least = [
        # The more cells on an axis, the coarser the coordinates of the last are rounded, in cells.
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
    low: tuple[float, ...], high: tuple[float, ...], *, radius: float, real: str, box: PeriodicBox | None
) -> list[float]:
    """Half the width of a query's window on each axis, with what the rounding of coordinates adds to it."""
    epsilon = _EPSILON[real]
    reach = padded_radius(radius, real) * (1 + 8 * epsilon)
    pads = [4 * epsilon * max(abs(a), abs(b)) for a, b in zip(low, high, strict=True)]
    if box is not None:
        own = box.pads(box.starts(low, high), real)
        pads = [
            pad + extra + (2 * SLACK + 300 * epsilon) * length
            for pad, extra, length in zip(pads, own, box.lengths, strict=True)
        ]
    return [reach + pad for pad in pads]


def divide(extents: Sequence[float], caps: Sequence[int], most: int) -> tuple[int, ...]:
    """How often to divide each axis: at most `caps`, `most` parts in all, which are as cubic as can be."""
    longest = max(extents)
    if not longest > 0:
        return (1,) * len(extents)

    def shape(along: int) -> tuple[int, ...]:
        # Axes that are nearly alike are divided alike.
        return tuple(
            max(1, min(cap, math.floor(along * (extent / longest) + 0.05)))
            for extent, cap in zip(extents, caps, strict=True)
        )

    few, many = 1, most + 1  # parts of the longest axis that are few enough, and too many
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if math.prod(shape(middle)) > most else (middle, many)
    return shape(few)
