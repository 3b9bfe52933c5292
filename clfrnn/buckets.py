"""Buckets: how points come into the cells of a grid, and what of that fits local memory. Pure, as :mod:`clfrnn.plan`.

A bucket is a run of cells whose addresses follow each other, as many as a power of two.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from .blocks import counting_groups, most_coarse_cells
from .configs import REAL_SIZE, CounterConfig, PointConfig
from .domain import CellGrid
from .plan import Problem, group_size
from .profile import DeviceProfile

__all__ = [
    "BucketConfig",
    "Filling",
    "PickConfig",
    "RegionConfig",
    "bucket_groups",
    "fewer_cells",
    "most_cells_of_bucket",
    "plan_bucket_cells",
    "plan_buckets",
    "plan_filling",
    "plan_in_turn",
    "plan_picks",
    "plan_regions",
]

#: Work-items of a group that picks a bucket, of one that counts buckets, and of one that fills the cells of a bucket
#: (measured on an H200, the latter two among 256, 512 and 1024).
_PICKING, _WIDE, _NARROW = 1024, 512, 512

#: Points that an item loads before it counts the first of them.
_BATCH = 4

#: Groups that count buckets on each compute unit, at least and at most: as many as have a batch for each item
#: (measured).
_GROUPS_A_UNIT = 2, 4

#: Points in a bucket of an even cloud: fewer where there would be fewer buckets than so many for each compute unit, but
#: not much fewer.
_OF_BUCKET, _BUCKETS_A_UNIT, _LEAST_OF_BUCKET = 1024, 4, 64

#: Cells in a bucket, at most: with more counters fewer groups are in flight.
_MOST_CELLS = 8192

#: One group has to fill a bucket: no more of the points may be expected in one than this share, or so many.
_LARGEST_SHARE, _SOON_FILLED = 1 / 32, 4096

#: Where cells are made fewer, for so many of the buckets that a group can count, as whole cells are a little more.
_NEARLY = 0.97

#: Work-items of a group that sorts a tile by regions, points of it for each of them (measured), and runs that it can
#: tell apart.
_TILED, _OF_TILE, _MOST_RUNS = 256, 8, 256

#: Bytes that memory is written in at once, and bytes of them that groups may have begun and not filled before they sort
#: by regions first: a group has a place of its own in every bucket that it enters, and what no cache holds until it is
#: full is written in parts (measured on an H200, whose caches hold as much: too soon with 32 MiB, worth it with 64).
_LINE, _MOST_OPEN = 128, 48 << 20

#: So few points for an item of a group go in one launch instead of three: each group reads all of them, and fills a
#: bucket that shall have so many (measured).
_FEW_OF_ITEM, _PICKED = 64, 256

#: Points that an item of such a group loads before it looks at the first of them, and counters for those of lower
#: buckets, so that items that go in step do not wait for each other.
_PICKED_TOGETHER, _SPREAD = 8, 32

#: So few points one item of a CPU has brought into cells before six launches would have (measured). It takes no more
#: turns than so many for each of them, or of a few: they are counted and placed, and their cells, four for each at
#: most, are cleared and summed up.
_FEW_IN_TURN, _TURNS, _LEAST_TURNS = 1 << 12, 12, 512


@dataclasses.dataclass(frozen=True, kw_only=True)
class BucketConfig(CounterConfig):
    """Sorting into buckets, all of which a group counts."""

    #: points that an item loads before it counts the first of them
    batch: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class FillingConfig(CounterConfig):
    """Filling the cells of a bucket, of which so many points are written in one go; their places are shorts."""

    tile: int
    #: how the sorted copy keeps points: see :func:`~clfrnn.configs.numbers_of_point`
    layout: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class PickConfig(FillingConfig):
    """Picking the points of a bucket out of all, and the numbers of as many as a tile has at once."""

    #: as that of :class:`BucketConfig`
    batch: int
    #: counters of the points in lower buckets
    spread: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class InTurnConfig(PointConfig):
    """Bringing points into cells one after the other."""

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
        return self.tile * (_record_size(self.real) + 2) + 4 + 12 * int(self.names()["room"])

    def names(self) -> dict[str, Any]:
        """The fields, and the points of a tile; a driver may have allowed smaller groups than were planned."""
        return {**super().names(), "tile": self.tile}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Filling:
    """How points come into cells, and why, in words.

    "in turn", by one work-item; "at once", each group picking those of a bucket; by way of "buckets"; or "one by one".
    """

    way: str
    why: str
    #: a bucket has two to this power cells
    shift: int = 0
    buckets: int = 0
    #: a region has two to this power buckets; there are none where points go into buckets at once
    span: int = 0
    regions: int = 0
    #: buckets that groups enter, added up over groups, with which the device goes by buckets at once all the same, as
    #: long as no group enters twice as many as the mean of these
    entered: int = 0
    #: points would come sooner into fewer cells
    overfull: bool = False

    @property
    def together(self) -> bool:
        """Whether there are kernels for all of it, those of ``in_turn``, ``picks`` or ``buckets.cl.mako``."""
        return self.way != "one by one"


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
        work_group_size=group_size(profile, _WIDE),
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
        work_group_size=group_size(profile, _NARROW),
        dim=dim,
        real=real,
        periodic=periodic,
        counters=counters,
        tile=max(1, min(8 * _OF_BUCKET, (profile.usable_local_memory - 4) // 2 - 2 * counters)),
        layout=layout,
    )


def _most_cells_picked(profile: DeviceProfile) -> int:
    """Cells that a group can count beside the points that it picks, a power of two; a third of its memory is theirs."""
    return _power_of_two(profile.usable_local_memory // 12)


def plan_picks(profile: DeviceProfile, *, dim: int, real: str, periodic: bool, layout: str) -> PickConfig:
    """Wide groups, as each reads all points; room for four times the points that a bucket shall have."""
    counters = _most_cells_picked(profile)
    left = profile.usable_local_memory - 4 * (counters + _SPREAD + 1)
    return PickConfig(
        work_group_size=group_size(profile, _PICKING),
        dim=dim,
        real=real,
        periodic=periodic,
        counters=counters,
        tile=max(1, min(4 * _PICKED, left // 4)),
        layout=layout,
        batch=_PICKED_TOGETHER,
        spread=_SPREAD,
    )


def plan_in_turn(profile: DeviceProfile, *, dim: int, real: str, periodic: bool, layout: str) -> InTurnConfig:  # noqa: ARG001
    """One item, whatever the device."""
    return InTurnConfig(work_group_size=1, dim=dim, real=real, periodic=periodic, layout=layout)


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


def plan_filling(profile: DeviceProfile, *, problem: Problem, grid: CellGrid, in_tiles: bool = False) -> Filling:
    """The fewest launches, with writes that lie near each other, where no group has much more to do than others.

    Of buckets that are sorted `in_tiles`, no group has.
    """
    one_by_one = "one by one"
    if profile.kind != "gpu":
        turns = max(_TURNS * problem.n, _LEAST_TURNS)
        # Their number alone decides: an update of the same points to other cells compiles nothing.
        if problem.n <= _FEW_IN_TURN and turns <= (profile.loop_turns or math.inf):
            return Filling(way="in turn", why="points are few, and a launch takes longer than one work-item for them")
        return Filling(way=one_by_one, why="the device is no GPU")
    if profile.loop_turns is not None:
        return Filling(way=one_by_one, why="the driver bounds loops")
    n, cells, most = problem.n, grid.cells, most_coarse_cells(profile)
    picked = _plan_picking(profile, problem=problem, grid=grid)
    if picked is not None:
        return picked
    least = math.ceil(math.log2(max(1.0, cells / most)))
    if 1 << least > most_cells_of_bucket(profile):
        return Filling(way=one_by_one, why="local memory could not count so many cells in two steps", overfull=True)
    busy = min(n / _LEAST_OF_BUCKET, _BUCKETS_A_UNIT * profile.compute_units)
    wanted = max(1.0, n / _OF_BUCKET, busy)
    shift = min(math.ceil(math.log2(max(1.0, cells / wanted))), int(math.log2(most_cells_of_bucket(profile))))
    if not in_tiles:
        crowd, bearable = _crowd(problem, grid), max(n * _LARGEST_SHARE, _SOON_FILLED)
        if crowd * 2**least > bearable:
            return Filling(way=one_by_one, why="many points are expected in few cells")
        shift = min(shift, math.floor(math.log2(bearable / crowd)))
    shift = max(least, shift)
    buckets = -(-cells // (1 << shift))
    span, regions = _divide_buckets(profile, problem=problem, buckets=buckets)
    why = "a group fills one in local memory"
    facts: dict[str, Any] = {"dim": problem.dim, "real": problem.real, "periodic": problem.box is not None}
    overfull = n > _OF_BUCKET * buckets and n > plan_bucket_cells(profile, **facts, layout="records").tile * buckets
    divided = {"span": span, "regions": regions, "entered": _MOST_OPEN // _LINE} if regions else {}
    return Filling(way="buckets", why=why, shift=shift, buckets=buckets, overfull=overfull, **divided)


def _plan_picking(profile: DeviceProfile, *, problem: Problem, grid: CellGrid) -> Filling | None:
    """Buckets that are picked out of all points, as many as groups work at once; None for more points or cells."""
    if problem.n > _FEW_OF_ITEM * group_size(profile, _PICKING):
        return None
    wanted = max(1.0, min(profile.compute_units - 1, problem.n / _PICKED))
    most = int(math.log2(_most_cells_picked(profile)))
    shift = min(most, math.ceil(math.log2(max(1.0, grid.cells / wanted))))
    buckets = -(-grid.cells // (1 << shift))
    if buckets >= max(2, profile.compute_units):  # and a group for their box
        return None
    return Filling(way="at once", why="points are few, and each group reads all", shift=shift, buckets=buckets)


def _divide_buckets(profile: DeviceProfile, *, problem: Problem, buckets: int) -> tuple[int, int]:
    """About as many regions as each has buckets, where one pass leaves too many lines of memory open and two do not."""
    config = plan_regions(profile, dim=problem.dim, real=problem.real, periodic=problem.box is not None)
    groups = bucket_groups(profile, problem.n, group_size(profile, _WIDE))
    size = _record_size(problem.real)
    span = round(math.log2(buckets) / 2)
    regions = -(-buckets // (1 << span))
    runs = max(regions, 1 << span)
    opened = min(problem.n * size, groups * buckets * _LINE)
    if opened < _MOST_OPEN or runs > config.counters or config.tile * size < runs * _LINE:
        return 0, 0
    return span, regions


def _record_size(real: str) -> int:
    """Bytes of a record, four lanes."""
    return 4 * REAL_SIZE[real]


def _crowd(problem: Problem, grid: CellGrid) -> float:
    """Points expected for each cell of a point's bucket; all of them where that is beyond numbers."""
    n = max(1.0, float(problem.n))
    crowd = problem.survey.density(problem.radius) * math.prod(grid.sides)
    folded = n / grid.cells if grid.wrapped else 0.0  # far points share addresses
    return max(crowd + folded, n / grid.cells) if crowd < n else n
