"""Binning plans: the way in which points are sorted into the cells of a grid, and why. Pure."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Literal, TypeAlias

from ....domain.box import SYSTEMS
from ....domain.cells import CellGrid
from ....groups import busy_units
from ....problem import Problem
from ....profile import DeviceProfile
from ....tuning import Tuning
from ..coarse_plan import most_coarse_cells
from .config import (
    bucket_groups,
    most_cells_of_bucket,
    plan_bucket_cells,
    plan_buckets,
    plan_regions,
    plan_select_cells,
    record_size,
)

__all__ = ["BinningPlan", "Way", "plan_binning"]

#: The ways of binning, each a class of :mod:`clfrnn.methods.grid`: one work-item counts and places all points; each
#: group selects the points of its bucket; points are sorted into buckets first; into regions of buckets first; the
#: order by cell is found by counters in global memory; or by a radix sort.
Way: TypeAlias = Literal["serial_cells", "select_cells", "bucket_sort", "region_sort", "counting_sort", "radix_sort"]

_IN_WORDS: dict[Way, str] = {
    "serial_cells": "by one work-item",
    "select_cells": "by groups that each select a bucket out of all points",
    "bucket_sort": "by way of {buckets:,} buckets of {cells:,} cells",
    "region_sort": "by way of {regions:,} regions and {buckets:,} buckets of {cells:,} cells",
    "counting_sort": "by counters in global memory",
    "radix_sort": "by a radix sort of the addresses of cells",
}

#: Turns of one work-item's loops for each point, and for few points: points are counted and placed, and their cells, at
#: most four for each point, are cleared and summed.
_TURNS, _LEAST_TURNS = 12, 512


@dataclasses.dataclass(frozen=True, kw_only=True)
class BinningPlan:
    """The way of binning, and the reason in words."""

    way: Way
    why: str
    #: the logarithm to base two of the number of cells of a bucket
    shift: int = 0
    buckets: int = 0
    #: the logarithm of the number of buckets of a region, and the number of regions, which is 0 without regions
    span: int = 0
    regions: int = 0
    #: sum over groups of the buckets that they write to, up to which the device skips regions, unless a group writes to
    #: twice as many buckets as the mean
    entered: int = 0
    #: whether fewer cells would make points faster to sort
    overfull: bool = False

    @property
    def by_buckets(self) -> bool:
        """Whether points are sorted into buckets before cells."""
        return self.way in ("bucket_sort", "region_sort")

    def describe(self) -> str:
        """The way and the reason, in words."""
        way = _IN_WORDS[self.way].format(regions=self.regions, buckets=self.buckets, cells=1 << self.shift)
        return f"{way}, as {self.why}"


def plan_binning(
    profile: DeviceProfile, tuning: Tuning, *, problem: Problem, grid: CellGrid, tiles: bool = False
) -> BinningPlan:
    """Plan the way with the fewest launches and adjacent writes, where no group has much more to do than others.

    With `tiles`, of which each group takes one, every group has as much to do, and the order inside a cell, which the
    option ``construction`` is about, does not matter.
    """
    if problem.options.get("construction") == "sort" and not tiles:
        return BinningPlan(way="radix_sort", why="asked for")
    if problem.periodic in SYSTEMS:
        return BinningPlan(way="counting_sort", why="each system has cells of its own")
    if profile.kind != "gpu":
        turns = max(_TURNS * problem.n, _LEAST_TURNS)
        # The number of points alone decides, so that an update of the points with other cells compiles nothing.
        if problem.n <= tuning.binning.serial_points and turns <= (profile.loop_turns or math.inf):
            why = "points are few, and a launch takes longer than one work-item for them"
            return BinningPlan(way="serial_cells", why=why)
        return BinningPlan(way="counting_sort", why="the device is no GPU")
    if profile.loop_turns is not None:
        return BinningPlan(way="counting_sort", why="the driver bounds loops")
    selection = _plan_selection(profile, tuning, problem=problem, grid=grid)
    return selection or _plan_buckets(profile, tuning, problem=problem, grid=grid, tiles=tiles)


def _plan_selection(profile: DeviceProfile, tuning: Tuning, *, problem: Problem, grid: CellGrid) -> BinningPlan | None:
    """Plan buckets that groups select out of all points at the same time; None for too many points or cells."""
    config = plan_select_cells(profile, tuning, **_facts(problem), layout="records")
    if problem.n > tuning.binning.few_of_item * config.work_group_size:
        return None
    wanted = max(1.0, min(busy_units(profile) - 1, problem.n / tuning.binning.selected_points))
    most = int(math.log2(config.counters))
    shift = min(most, math.ceil(math.log2(max(1.0, grid.cells / wanted))))
    buckets = -(-grid.cells // (1 << shift))
    if buckets >= max(2, busy_units(profile)):  # one group finds the bounding box
        return None
    return BinningPlan(way="select_cells", why="points are few, and each group reads all", shift=shift, buckets=buckets)


def _plan_buckets(
    profile: DeviceProfile, tuning: Tuning, *, problem: Problem, grid: CellGrid, tiles: bool
) -> BinningPlan:
    """Plan buckets that a group counts, regions where buckets are many, or else counters in global memory."""
    numbers, n, cells = tuning.binning, problem.n, grid.cells
    most, of_bucket = most_coarse_cells(profile), most_cells_of_bucket(profile, tuning)
    least = math.ceil(math.log2(max(1.0, cells / most)))
    if 1 << least > of_bucket:
        why = "local memory could not count these cells in two steps"
        return BinningPlan(way="counting_sort", why=why, overfull=True)
    busy = min(n / numbers.least_bucket_points, numbers.buckets_a_unit * busy_units(profile))
    wanted = max(1.0, n / numbers.bucket_points, busy)
    shift = min(math.ceil(math.log2(max(1.0, cells / wanted))), int(math.log2(of_bucket)))
    if not tiles:
        crowd, bearable = _crowd(problem, grid), max(n * numbers.largest_share, numbers.soon_filled)
        if crowd * 2**least > bearable:
            return BinningPlan(way="counting_sort", why="many points are expected in few cells")
        shift = min(shift, math.floor(math.log2(bearable / crowd)))
    shift = max(least, shift)
    buckets = -(-cells // (1 << shift))
    tile = plan_bucket_cells(profile, tuning, **_facts(problem), layout="records").tile
    plan = BinningPlan(
        way="bucket_sort",
        why="a group fills one in local memory",
        shift=shift,
        buckets=buckets,
        overfull=n > max(numbers.bucket_points, tile) * buckets,
    )
    span, regions = _divide_buckets(profile, tuning, problem=problem, buckets=buckets)
    if not regions:
        return plan
    entered = numbers.most_open_bytes // numbers.line_bytes
    return dataclasses.replace(plan, way="region_sort", span=span, regions=regions, entered=entered)


def _divide_buckets(profile: DeviceProfile, tuning: Tuning, *, problem: Problem, buckets: int) -> tuple[int, int]:
    """Plan about as many regions as buckets in each, where one pass leaves too many lines of memory open."""
    config, line = plan_regions(profile, tuning, **_facts(problem)), tuning.binning.line_bytes
    of_group = plan_buckets(profile, tuning, **_facts(problem)).work_group_size
    groups = bucket_groups(profile, tuning, problem.n, of_group)
    size = record_size(problem.real)
    span = round(math.log2(buckets) / 2)
    regions = -(-buckets // (1 << span))
    runs = max(regions, 1 << span)
    opened = min(problem.n * size, groups * buckets * line)
    if opened < tuning.binning.most_open_bytes or runs > config.counters or config.tile * size < runs * line:
        return 0, 0
    return span, regions


def _facts(problem: Problem) -> dict[str, Any]:
    """The facts that programs over points are planned from."""
    return {"dim": problem.dim, "real": problem.real, "periodic": problem.periodic}


def _crowd(problem: Problem, grid: CellGrid) -> float:
    """The expected number of points in each cell of a point's bucket, at most n."""
    n = max(1.0, float(problem.n))
    crowd = problem.survey.density(problem.radius) * math.prod(grid.sides)
    folded = n / grid.cells if grid.wrapped else 0.0  # points that are far apart share addresses
    return max(crowd + folded, n / grid.cells) if crowd < n else n
