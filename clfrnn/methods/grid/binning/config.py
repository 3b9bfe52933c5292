"""Configs of the sort by buckets, and the number of points and cells that fit local memory. Pure.

A bucket is a run of cells with consecutive addresses, whose number is a power of two.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from ....config import REAL_SIZE, CounterConfig, PointConfig
from ....groups import busy_units, group_size
from ....profile import DeviceProfile
from ....tuning import Tuning
from ..coarse_plan import counting_groups, most_coarse_cells

__all__ = [
    "BucketCellsConfig",
    "BucketConfig",
    "RegionConfig",
    "SelectCellsConfig",
    "SerialCellsConfig",
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

#: Fewest cells of a bucket that a program is compiled for, so that programs are few.
_LEAST_CELLS = 1024

#: Least tile, in mean buckets: points of larger buckets are not written side by side.
_LEAST_TILE = 3

#: Share of the buckets that a group can count for which fewer cells are planned, as whole cells are slightly more.
_NEARLY = 0.97


@dataclasses.dataclass(frozen=True, kw_only=True)
class BucketConfig(CounterConfig):
    """Sorting into buckets, all of which each group counts."""

    #: points that a work-item loads before it counts the first of them
    batch: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class BucketCellsConfig(CounterConfig):
    """Filling the cells of a bucket: ``tile`` points are written at once; their places are 16-bit integers."""

    tile: int
    #: the layout of the sorted copy: see :func:`~clfrnn.config.numbers_per_point`
    layout: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class SelectCellsConfig(BucketCellsConfig):
    """Selecting the points of a bucket out of all points; ``tile`` indices are held at a time."""

    #: as in :class:`BucketConfig`
    batch: int
    #: counters of points in lower buckets
    spread: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class SerialCellsConfig(PointConfig):
    """Sorting points into cells by one work-item."""

    periodic: str
    #: as in :class:`BucketCellsConfig`
    layout: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class RegionConfig(CounterConfig):
    """Sorting into regions, and regions into buckets; a group counts the runs of its tile."""

    #: points of a tile for each work-item
    batch: int

    @property
    def tile(self) -> int:
        """The number of points that a group sorts in local memory at a time."""
        return self.work_group_size * self.batch

    @property
    def local_memory(self) -> int:
        """Bytes of local memory for a group: records and their runs, and three numbers for each run."""
        return self.tile * (record_size(self.real) + 2) + 4 + 12 * int(self.names()["local_ints"])

    def names(self) -> dict[str, Any]:
        """The fields, and the points of a tile; a driver may allow smaller groups than planned."""
        return {**super().names(), "tile": self.tile}


def most_cells_of_bucket(profile: DeviceProfile, tuning: Tuning) -> int:
    """The number of cells that one group can count in local memory beside the sources of points, a power of two."""
    return _power_of_two(tuning, most_coarse_cells(profile) * 4 // 5)


def fewer_cells(profile: DeviceProfile, tuning: Tuning, cells: int, most: float) -> list[float]:
    """Factors, at most `most`, by which fewer cells make nearly as many buckets as a group can count, ascending."""
    sizes = (1 << shift for shift in range(int(math.log2(most_cells_of_bucket(profile, tuning))), -1, -1))
    found = [cells / (_NEARLY * most_coarse_cells(profile) * size) for size in sizes]
    return [times for times in found if 1 < times <= most]


def _power_of_two(tuning: Tuning, cells: int) -> int:
    """The largest power of two that exceeds neither `cells` nor the largest number of cells of a bucket."""
    return int(2 ** math.floor(math.log2(max(1, min(tuning.binning.most_bucket_cells, cells)))))


def plan_buckets(
    profile: DeviceProfile, tuning: Tuning, *, dim: int, real: str, periodic: str, buckets: int | None = None
) -> BucketConfig:
    """Plan wide groups, as each group clears and adds up all counters.

    Where `buckets` are few, their counters leave local memory to the other groups of a compute unit, if the unit's is
    known.
    """
    counters = most_coarse_cells(profile)
    together = profile.local_memory_beside(tuning.binning.bucket_groups_a_unit[1]) // 4
    if buckets is not None and buckets <= together:
        counters = together
    return BucketConfig(
        work_group_size=group_size(profile, tuning.binning.bucket_group),
        dim=dim,
        real=real,
        periodic=periodic,
        counters=counters,
        batch=tuning.binning.bucket_batch,
    )


def bucket_groups(profile: DeviceProfile, tuning: Tuning, n: int, size: int) -> int:
    """The number of groups of `size` that count n points by buckets."""
    least, most = tuning.binning.bucket_groups_a_unit
    batches = round(n / (busy_units(profile) * size * tuning.binning.bucket_batch))
    return counting_groups(profile, tuning, n, size, a_unit=max(least, min(most, batches)))


def plan_bucket_cells(
    profile: DeviceProfile,
    tuning: Tuning,
    *,
    dim: int,
    real: str,
    periodic: str,
    layout: str,
    cells: int | None = None,
) -> BucketCellsConfig:
    """Plan groups for about two points of a bucket to a work-item, and tiles of eight times a bucket's points.

    Buckets hold as many points where cells are too many for smaller buckets. Where the `cells` of a bucket are few,
    counters and a tile of a few times its points leave local memory to the other groups of a unit, if the unit's
    is known.
    """
    counters, local_memory = most_cells_of_bucket(profile, tuning), profile.usable_local_memory
    together = profile.local_memory_beside(tuning.binning.fill_groups_a_unit)
    if cells is not None and together < local_memory:
        few = max(_LEAST_CELLS, cells)
        if together - 4 * few >= 2 * _LEAST_TILE * tuning.binning.bucket_points:
            counters, local_memory = min(counters, few), together
    return BucketCellsConfig(
        work_group_size=group_size(profile, tuning.binning.fill_group),
        dim=dim,
        real=real,
        periodic=periodic,
        counters=counters,
        tile=max(1, min(tuning.binning.fill_tile, (local_memory - 4) // 2 - 2 * counters)),
        layout=layout,
    )


def plan_select_cells(
    profile: DeviceProfile, tuning: Tuning, *, dim: int, real: str, periodic: str, layout: str
) -> SelectCellsConfig:
    """Plan wide groups, as each group reads all points; a third of their local memory counts cells."""
    numbers = tuning.binning
    counters = _power_of_two(tuning, profile.usable_local_memory // 12)
    left = profile.usable_local_memory - 4 * (counters + numbers.select_spread + 1)
    return SelectCellsConfig(
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
    periodic: str,
    layout: str,
) -> SerialCellsConfig:
    """Plan one work-item, for any device."""
    return SerialCellsConfig(work_group_size=1, dim=dim, real=real, periodic=periodic, layout=layout)


def plan_regions(profile: DeviceProfile, tuning: Tuning, *, dim: int, real: str, periodic: str) -> RegionConfig:
    """Plan tiles of a few thousand points, as local memory allows."""
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
    """The bytes of a record of four numbers."""
    return 4 * REAL_SIZE[real]
