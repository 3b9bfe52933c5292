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

__all__ = [
    "OF_BUCKET",
    "OF_SELECTED",
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

#: Work-items of a group that selects a bucket, of one that counts buckets, and of one that fills the cells of a bucket
#: (measured on an H200, the latter two among 256, 512 and 1024).
_SELECTING, _COUNTING, _FILLING = 1024, 512, 512

#: Points that an item loads before it counts the first of them.
_BATCH = 4

#: Groups that count buckets on each compute unit, at least and at most: as many as have a batch for each item
#: (measured).
_GROUPS_A_UNIT = 2, 4

#: Points in a bucket of an even cloud, and in one that is selected out of all points.
OF_BUCKET, OF_SELECTED = 1024, 256

#: Cells in a bucket, at most: with more counters fewer groups are in flight.
_MOST_CELLS = 8192

#: Where cells are made fewer, for so many of the buckets that a group can count, as whole cells are a little more.
_NEARLY = 0.97

#: Work-items of a group that sorts a tile by regions, points of it for each of them (measured), and runs that it can
#: tell apart.
_TILED, _OF_TILE, _MOST_RUNS = 256, 8, 256

#: Points that an item of a group that selects a bucket loads before it looks at the first of them, and counters for
#: those of lower buckets, so that items that go in step do not wait for each other.
_SELECT_BATCH, _SPREAD = 8, 32


@dataclasses.dataclass(frozen=True, kw_only=True)
class BucketConfig(CounterConfig):
    """Sorting into buckets, all of which a group counts."""

    #: points that an item loads before it counts the first of them
    batch: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class FillingConfig(CounterConfig):
    """Filling the cells of a bucket, of which so many points are written in one go; their places are shorts."""

    tile: int
    #: how the sorted copy keeps points: see :func:`~clfrnn.planning.configs.numbers_of_point`
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
        return self.tile * (record_size(self.real) + 2) + 4 + 12 * int(self.names()["room"])

    def names(self) -> dict[str, Any]:
        """The fields, and the points of a tile; a driver may have allowed smaller groups than were planned."""
        return {**super().names(), "tile": self.tile}


def most_cells_of_bucket(profile: DeviceProfile) -> int:
    """Cells that one group can count in local memory beside other groups and its sources, a power of two."""
    return _power_of_two(most_coarse_cells(profile) * 4 // 5)


def fewer_cells(profile: DeviceProfile, cells: int, most: float) -> list[float]:
    """How many times fewer cells, up to `most`, make nearly as many buckets as a group can count, the least first."""
    sizes = (1 << shift for shift in range(int(math.log2(most_cells_of_bucket(profile))), -1, -1))
    found = [cells / (_NEARLY * most_coarse_cells(profile) * size) for size in sizes]
    return [times for times in found if 1 < times <= most]


def _power_of_two(cells: int) -> int:
    """The largest that is no more than so many cells, nor than a bucket may have."""
    return int(2 ** math.floor(math.log2(max(1, min(_MOST_CELLS, cells)))))


def plan_buckets(profile: DeviceProfile, *, dim: int, real: str, periodic: bool) -> BucketConfig:
    """Wide groups, as each has to clear and add up all counters."""
    return BucketConfig(
        work_group_size=group_size(profile, _COUNTING),
        dim=dim,
        real=real,
        periodic=periodic,
        counters=most_coarse_cells(profile),
        batch=_BATCH,
    )


def bucket_groups(profile: DeviceProfile, n: int, size: int) -> int:
    """Groups of `size` that count n points by buckets."""
    least, most = _GROUPS_A_UNIT
    batches = round(n / (profile.compute_units * size * _BATCH))
    return counting_groups(profile, n, size, a_unit=max(least, min(most, batches)))


def plan_bucket_cells(profile: DeviceProfile, *, dim: int, real: str, periodic: bool, layout: str) -> FillingConfig:
    """Groups for about two points of a bucket to an item; room for eight times the points that a bucket shall have.

    So many there are where cells are too many for smaller buckets.
    """
    counters = most_cells_of_bucket(profile)
    return FillingConfig(
        work_group_size=group_size(profile, _FILLING),
        dim=dim,
        real=real,
        periodic=periodic,
        counters=counters,
        tile=max(1, min(8 * OF_BUCKET, (profile.usable_local_memory - 4) // 2 - 2 * counters)),
        layout=layout,
    )


def _most_cells_selected(profile: DeviceProfile) -> int:
    """Cells that a group can count beside the points that it selects, a power of two, in a third of its memory."""
    return _power_of_two(profile.usable_local_memory // 12)


def plan_select_cells(profile: DeviceProfile, *, dim: int, real: str, periodic: bool, layout: str) -> SelectConfig:
    """Wide groups, as each reads all points; room for four times the points that a bucket shall have."""
    counters = _most_cells_selected(profile)
    left = profile.usable_local_memory - 4 * (counters + _SPREAD + 1)
    return SelectConfig(
        work_group_size=group_size(profile, _SELECTING),
        dim=dim,
        real=real,
        periodic=periodic,
        counters=counters,
        tile=max(1, min(4 * OF_SELECTED, left // 4)),
        layout=layout,
        batch=_SELECT_BATCH,
        spread=_SPREAD,
    )


def plan_serial_cells(profile: DeviceProfile, *, dim: int, real: str, periodic: bool, layout: str) -> SerialConfig:
    """One work-item, whatever the device."""
    return SerialConfig(work_group_size=1, dim=dim, real=real, periodic=periodic, layout=layout)


def plan_regions(profile: DeviceProfile, *, dim: int, real: str, periodic: bool) -> RegionConfig:
    """Tiles of a few thousand points, as local memory allows."""
    config = RegionConfig(
        work_group_size=group_size(profile, _TILED),
        dim=dim,
        real=real,
        periodic=periodic,
        counters=_MOST_RUNS,
        batch=_OF_TILE,
    )
    for field in ("batch", "work_group_size", "counters"):
        while getattr(config, field) > 1 and config.local_memory > profile.usable_local_memory:
            config = dataclasses.replace(config, **{field: getattr(config, field) // 2})
    return config


def record_size(real: str) -> int:
    """Bytes of a record, four lanes."""
    return 4 * REAL_SIZE[real]
