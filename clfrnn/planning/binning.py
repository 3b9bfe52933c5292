"""Binning plans: by which way points come into the cells of a grid, and why. Pure, as all of planning."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Literal, TypeAlias

from ..domain import CellGrid
from ..profile import DeviceProfile
from .bucket_sort import (
    OF_BUCKET,
    OF_SELECTED,
    bucket_groups,
    most_cells_of_bucket,
    plan_bucket_cells,
    plan_buckets,
    plan_regions,
    plan_select_cells,
    record_size,
)
from .coarse_grid import most_coarse_cells
from .problem import Problem

__all__ = ["BinningPlan", "Way", "plan_binning"]

#: A class of :mod:`clfrnn.methods.grid` for each: one work-item counts and places all points; each group selects the
#: points of its bucket out of all; points go into buckets first; into regions of buckets first; the order by cell is
#: found by counters in global memory; or by a radix sort.
Way: TypeAlias = Literal["serial_cells", "select_cells", "bucket_sort", "region_sort", "counting_sort", "radix_sort"]

_IN_WORDS: dict[Way, str] = {
    "serial_cells": "by one work-item",
    "select_cells": "by groups that each select a bucket out of all points",
    "bucket_sort": "by way of {buckets:,} buckets of {cells:,} cells",
    "region_sort": "by way of {regions:,} regions and {buckets:,} buckets of {cells:,} cells",
    "counting_sort": "by counters in global memory",
    "radix_sort": "by a radix sort of the addresses of cells",
}

#: Buckets of an even cloud have fewer points where there would be fewer of them than so many for each compute unit, but
#: not much fewer.
_BUCKETS_A_UNIT, _LEAST_OF_BUCKET = 4, 64

#: One group has to fill a bucket: no more of the points may be expected in one than this share, or so many.
_LARGEST_SHARE, _SOON_FILLED = 1 / 32, 4096

#: Bytes that memory is written in at once, and bytes of them that groups may have begun and not filled before they sort
#: by regions first: a group has a place of its own in every bucket that it enters, and what no cache holds until it is
#: full is written in parts (measured on an H200, whose caches hold as much: too soon with 32 MiB, worth it with 64).
_LINE, _MOST_OPEN = 128, 48 << 20

#: So few points for an item of a group go in one launch instead of three: each group reads all of them (measured).
_FEW_OF_ITEM = 64

#: So few points one work-item of a CPU has brought into cells before six launches would have (measured). The item takes
#: no more turns than so many for each of them, or of a few: they are counted and placed, and their cells, four for each
#: at most, are cleared and summed up.
_FEW_SERIAL, _TURNS, _LEAST_TURNS = 1 << 12, 12, 512


@dataclasses.dataclass(frozen=True, kw_only=True)
class BinningPlan:
    """The way in which points come into cells, and why, in words."""

    way: Way
    why: str
    #: a bucket has two to this power cells
    shift: int = 0
    buckets: int = 0
    #: a region has two to this power buckets; there are none where points go into buckets at once
    span: int = 0
    regions: int = 0
    #: buckets that groups enter, added up over groups, up to which the device leaves regions out, as long as no group
    #: enters twice as many as the mean of these
    entered: int = 0
    #: points would come sooner into fewer cells
    overfull: bool = False

    @property
    def by_buckets(self) -> bool:
        """Whether points go into buckets before they go into cells."""
        return self.way in ("bucket_sort", "region_sort")

    def describe(self) -> str:
        """The way and why, in words."""
        way = _IN_WORDS[self.way].format(regions=self.regions, buckets=self.buckets, cells=1 << self.shift)
        return f"{way}, as {self.why}"


def plan_binning(profile: DeviceProfile, *, problem: Problem, grid: CellGrid, tiles: bool = False) -> BinningPlan:
    """The fewest launches, with writes that lie near each other, where no group has much more to do than others.

    With `tiles`, of which each group takes one, no group has; and the order inside a cell, which ``construction``
    asks for, is nobody's concern.
    """
    if problem.options.get("construction") == "sort" and not tiles:
        return BinningPlan(way="radix_sort", why="asked for")
    if profile.kind != "gpu":
        turns = max(_TURNS * problem.n, _LEAST_TURNS)
        # Their number alone decides: an update of the same points to other cells compiles nothing.
        if problem.n <= _FEW_SERIAL and turns <= (profile.loop_turns or math.inf):
            why = "points are few, and a launch takes longer than one work-item for them"
            return BinningPlan(way="serial_cells", why=why)
        return BinningPlan(way="counting_sort", why="the device is no GPU")
    if profile.loop_turns is not None:
        return BinningPlan(way="counting_sort", why="the driver bounds loops")
    selection = _plan_selection(profile, problem=problem, grid=grid)
    return selection or _plan_buckets(profile, problem=problem, grid=grid, tiles=tiles)


def _plan_selection(profile: DeviceProfile, *, problem: Problem, grid: CellGrid) -> BinningPlan | None:
    """Buckets that are selected out of all points, as many as groups work at once; None for more points or cells."""
    config = plan_select_cells(profile, **_facts(problem), layout="records")
    if problem.n > _FEW_OF_ITEM * config.work_group_size:
        return None
    wanted = max(1.0, min(profile.compute_units - 1, problem.n / OF_SELECTED))
    most = int(math.log2(config.counters))
    shift = min(most, math.ceil(math.log2(max(1.0, grid.cells / wanted))))
    buckets = -(-grid.cells // (1 << shift))
    if buckets >= max(2, profile.compute_units):  # and a group for their box
        return None
    return BinningPlan(way="select_cells", why="points are few, and each group reads all", shift=shift, buckets=buckets)


def _plan_buckets(profile: DeviceProfile, *, problem: Problem, grid: CellGrid, tiles: bool) -> BinningPlan:
    """Buckets that a group counts, in regions where they are very many; else counters in global memory."""
    n, cells, most = problem.n, grid.cells, most_coarse_cells(profile)
    least = math.ceil(math.log2(max(1.0, cells / most)))
    if 1 << least > most_cells_of_bucket(profile):
        why = "local memory could not count so many cells in two steps"
        return BinningPlan(way="counting_sort", why=why, overfull=True)
    busy = min(n / _LEAST_OF_BUCKET, _BUCKETS_A_UNIT * profile.compute_units)
    wanted = max(1.0, n / OF_BUCKET, busy)
    shift = min(math.ceil(math.log2(max(1.0, cells / wanted))), int(math.log2(most_cells_of_bucket(profile))))
    if not tiles:
        crowd, bearable = _crowd(problem, grid), max(n * _LARGEST_SHARE, _SOON_FILLED)
        if crowd * 2**least > bearable:
            return BinningPlan(way="counting_sort", why="many points are expected in few cells")
        shift = min(shift, math.floor(math.log2(bearable / crowd)))
    shift = max(least, shift)
    buckets = -(-cells // (1 << shift))
    tile = plan_bucket_cells(profile, **_facts(problem), layout="records").tile
    plan = BinningPlan(
        way="bucket_sort",
        why="a group fills one in local memory",
        shift=shift,
        buckets=buckets,
        overfull=n > max(OF_BUCKET, tile) * buckets,
    )
    span, regions = _divide_buckets(profile, problem=problem, buckets=buckets)
    if not regions:
        return plan
    return dataclasses.replace(plan, way="region_sort", span=span, regions=regions, entered=_MOST_OPEN // _LINE)


def _divide_buckets(profile: DeviceProfile, *, problem: Problem, buckets: int) -> tuple[int, int]:
    """About as many regions as each has buckets, where one pass leaves too many lines of memory open and two do not."""
    config = plan_regions(profile, **_facts(problem))
    groups = bucket_groups(profile, problem.n, plan_buckets(profile, **_facts(problem)).work_group_size)
    size = record_size(problem.real)
    span = round(math.log2(buckets) / 2)
    regions = -(-buckets // (1 << span))
    runs = max(regions, 1 << span)
    opened = min(problem.n * size, groups * buckets * _LINE)
    if opened < _MOST_OPEN or runs > config.counters or config.tile * size < runs * _LINE:
        return 0, 0
    return span, regions


def _facts(problem: Problem) -> dict[str, Any]:
    """What programs that read points are planned by."""
    return {"dim": problem.dim, "real": problem.real, "periodic": problem.box is not None}


def _crowd(problem: Problem, grid: CellGrid) -> float:
    """Points expected for each cell of a point's bucket; all of them where that is beyond numbers."""
    n = max(1.0, float(problem.n))
    crowd = problem.survey.density(problem.radius) * math.prod(grid.sides)
    folded = n / grid.cells if grid.wrapped else 0.0  # far points share addresses
    return max(crowd + folded, n / grid.cells) if crowd < n else n
