"""Buckets: what programs count and fill them, and what of them fits local memory. Pure, as all of planning.

A bucket is a run of cells whose addresses follow each other, as many as a power of two.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from ..profile import DeviceProfile
from .coarse_grid import counting_groups, most_coarse_cells
from .configs import REAL_SIZE, CounterConfig, PointConfig
from .groups import group_size
from .tuning import Tuning

__all__ = [
    "BucketConfig",
    "FillingConfig",
    "RegionConfig",
    "SelectConfig",
    "SerialConfig",
    "bucket_groups",
    "fewer_cells",
    "most_cells_of_bucket",
    "plan_bucket_cells",
    "plan_buckets",
    "plan_regions",
    "plan_select_cells",
    "plan_serial_cells",
    "record_size",
]

#: Share of the buckets that a group can count for which cells are made fewer: whole cells are a little more.
_NEARLY = 0.97


@dataclasses.dataclass(frozen=True, kw_only=True)
class BucketConfig(CounterConfig):
    """Sorting into buckets, all of which a group counts."""

    #: points that an item loads before it counts the first of them
    batch: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class FillingConfig(CounterConfig):
    """Filling the cells of a bucket: ``tile`` points of it are written in one go; their places are shorts."""

    tile: int
    #: how the sorted copy keeps points: see :func:`~clfrnn.planning.configs.numbers_per_point`
    layout: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class SelectConfig(FillingConfig):
    """Selecting the points of a bucket out of all, and the numbers of as many as a tile has at once."""

    #: as that of :class:`BucketConfig`
    batch: int
    #: counters of the points in lower buckets
    spread: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class SerialConfig(PointConfig):
    """Bringing points into cells by one work-item."""

    periodic: bool
    #: as that of :class:`FillingConfig`
    layout: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class RegionConfig(CounterConfig):
    """Sorting into regions, and these into buckets: a group counts as many runs of a tile."""

    #: points of a tile that an item holds
    batch: int

    @property
    def tile(self) -> int:
        """Points that a group sorts in local memory at a time."""
        return self.work_group_size * self.batch

    @property
    def local_memory(self) -> int:
        """Bytes of a group: records and the runs that they belong to, and three numbers for each run."""
        return self.tile * (record_size(self.real) + 2) + 4 + 12 * int(self.names()["local_ints"])

    def names(self) -> dict[str, Any]:
        """The fields, and the points of a tile; a driver may have allowed smaller groups than were planned."""
        return {**super().names(), "tile": self.tile}


def most_cells_of_bucket(profile: DeviceProfile, tuning: Tuning) -> int:
    """Cells that one group can count in local memory beside other groups and its sources, a power of two."""
    return _power_of_two(tuning, most_coarse_cells(profile) * 4 // 5)


def fewer_cells(profile: DeviceProfile, tuning: Tuning, cells: int, most: float) -> list[float]:
    """How many times fewer cells, up to `most`, make nearly as many buckets as a group can count, the least first."""
    sizes = (1 << shift for shift in range(int(math.log2(most_cells_of_bucket(profile, tuning))), -1, -1))
    found = [cells / (_NEARLY * most_coarse_cells(profile) * size) for size in sizes]
    return [times for times in found if 1 < times <= most]


def _power_of_two(tuning: Tuning, cells: int) -> int:
    """The largest power of two that is no more than `cells`, nor than a bucket may have."""
    return int(2 ** math.floor(math.log2(max(1, min(tuning.binning.most_bucket_cells, cells)))))


def plan_buckets(profile: DeviceProfile, tuning: Tuning, *, dim: int, real: str, periodic: bool) -> BucketConfig:
    """Wide groups, as each has to clear and add up all counters."""
    return BucketConfig(
        work_group_size=group_size(profile, tuning.binning.bucket_group),
        dim=dim,
        real=real,
        periodic=periodic,
        counters=most_coarse_cells(profile),
        batch=tuning.binning.bucket_batch,
    )


def bucket_groups(profile: DeviceProfile, tuning: Tuning, n: int, size: int) -> int:
    """Groups of `size` that count n points by buckets."""
    least, most = tuning.binning.bucket_groups_a_unit
    batches = round(n / (profile.compute_units * size * tuning.binning.bucket_batch))
    return counting_groups(profile, tuning, n, size, a_unit=max(least, min(most, batches)))


def plan_bucket_cells(
    profile: DeviceProfile, tuning: Tuning, *, dim: int, real: str, periodic: bool, layout: str
) -> FillingConfig:
    """Groups for about two points of a bucket to a work-item; tiles for eight times the points of a planned bucket.

    Buckets hold as many where cells are too many for smaller buckets.
    """
    counters = most_cells_of_bucket(profile, tuning)
    return FillingConfig(
        work_group_size=group_size(profile, tuning.binning.fill_group),
        dim=dim,
        real=real,
        periodic=periodic,
        counters=counters,
        tile=max(1, min(tuning.binning.fill_tile, (profile.usable_local_memory - 4) // 2 - 2 * counters)),
        layout=layout,
    )


def plan_select_cells(
    profile: DeviceProfile, tuning: Tuning, *, dim: int, real: str, periodic: bool, layout: str
) -> SelectConfig:
    """Wide groups, as each reads all points; a third of their local memory counts cells."""
    numbers = tuning.binning
    counters = _power_of_two(tuning, profile.usable_local_memory // 12)
    left = profile.usable_local_memory - 4 * (counters + numbers.select_spread + 1)
    return SelectConfig(
        work_group_size=group_size(profile, numbers.select_group),
        dim=dim,
        real=real,
        periodic=periodic,
        counters=counters,
        tile=max(1, min(numbers.select_tile, left // 4)),
        layout=layout,
        batch=numbers.select_batch,
        spread=numbers.select_spread,
    )


def plan_serial_cells(
    profile: DeviceProfile,  # noqa: ARG001 — as all plans
    tuning: Tuning,  # noqa: ARG001
    *,
    dim: int,
    real: str,
    periodic: bool,
    layout: str,
) -> SerialConfig:
    """One work-item, whatever the device."""
    return SerialConfig(work_group_size=1, dim=dim, real=real, periodic=periodic, layout=layout)


def plan_regions(profile: DeviceProfile, tuning: Tuning, *, dim: int, real: str, periodic: bool) -> RegionConfig:
    """Tiles of a few thousand points, as local memory allows."""
    config = RegionConfig(
        work_group_size=group_size(profile, tuning.binning.region_group),
        dim=dim,
        real=real,
        periodic=periodic,
        counters=tuning.binning.most_regions,
        batch=tuning.binning.region_batch,
    )
    for field in ("batch", "work_group_size", "counters"):
        while getattr(config, field) > 1 and config.local_memory > profile.usable_local_memory:
            config = dataclasses.replace(config, **{field: getattr(config, field) // 2})
    return config


def record_size(real: str) -> int:
    """Bytes of a record, four lanes."""
    return 4 * REAL_SIZE[real]
