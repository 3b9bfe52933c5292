"""Binning: in which way points come into the cells of a grid, and why. Pure functions."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from ..domain import CellGrid
from ..profile import DeviceProfile
from .bucket_sort import (
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
from .tuning import Tuning

__all__ = ["BinningPlan", "plan_binning"]

#: Turns that one item takes through loops for each point, and for a few of them: points are counted and placed, and
#: their cells, four for each at most, are cleared and summed up.
_TURNS, _LEAST_TURNS = 12, 512


@dataclasses.dataclass(frozen=True, kw_only=True)
class BinningPlan:
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
        """Whether there are kernels for all of it, those of ``in_turn``, ``picks`` or ``grid/bucket_pass.cl.mako``."""
        return self.way != "one by one"


def plan_binning(
    profile: DeviceProfile, tuning: Tuning, *, problem: Problem, grid: CellGrid, in_tiles: bool = False
) -> BinningPlan:
    """The fewest launches, with writes that lie near each other, where no group has much more to do than others.

    Of buckets that are sorted `in_tiles`, no group has.
    """
    one_by_one, numbers = "one by one", tuning.binning
    if profile.kind != "gpu":
        turns = max(_TURNS * problem.n, _LEAST_TURNS)
        # Their number alone decides: an update of the same points to other cells compiles nothing.
        if problem.n <= numbers.serial_points and turns <= (profile.loop_turns or math.inf):
            return BinningPlan(
                way="in turn", why="points are few, and a launch takes longer than one work-item for them"
            )
        return BinningPlan(way=one_by_one, why="the device is no GPU")
    if profile.loop_turns is not None:
        return BinningPlan(way=one_by_one, why="the driver bounds loops")
    n, cells, most = problem.n, grid.cells, most_coarse_cells(profile)
    picked = _plan_picking(profile, tuning, problem=problem, grid=grid)
    if picked is not None:
        return picked
    least = math.ceil(math.log2(max(1.0, cells / most)))
    most_cells = most_cells_of_bucket(profile, tuning)
    if 1 << least > most_cells:
        return BinningPlan(way=one_by_one, why="local memory could not count so many cells in two steps", overfull=True)
    busy = min(n / numbers.least_bucket_points, numbers.buckets_a_unit * profile.compute_units)
    wanted = max(1.0, n / numbers.bucket_points, busy)
    shift = min(math.ceil(math.log2(max(1.0, cells / wanted))), int(math.log2(most_cells)))
    if not in_tiles:
        crowd, bearable = _crowd(problem, grid), max(n * numbers.largest_share, numbers.soon_filled)
        if crowd * 2**least > bearable:
            return BinningPlan(way=one_by_one, why="many points are expected in few cells")
        shift = min(shift, math.floor(math.log2(bearable / crowd)))
    shift = max(least, shift)
    buckets = -(-cells // (1 << shift))
    span, regions = _divide_buckets(profile, tuning, problem=problem, buckets=buckets)
    why = "a group fills one in local memory"
    tile = plan_bucket_cells(profile, tuning, **_facts(problem), layout="records").tile
    overfull = n > max(numbers.bucket_points, tile) * buckets
    entered = numbers.most_open_bytes // numbers.line_bytes
    divided = {"span": span, "regions": regions, "entered": entered} if regions else {}
    return BinningPlan(way="buckets", why=why, shift=shift, buckets=buckets, overfull=overfull, **divided)


def _plan_picking(profile: DeviceProfile, tuning: Tuning, *, problem: Problem, grid: CellGrid) -> BinningPlan | None:
    """Buckets that are picked out of all points, as many as groups work at once; None for more points or cells."""
    picking = plan_select_cells(profile, tuning, **_facts(problem), layout="records")
    if problem.n > tuning.binning.few_of_item * picking.work_group_size:
        return None
    wanted = max(1.0, min(profile.compute_units - 1, problem.n / tuning.binning.selected_points))
    most = int(math.log2(picking.counters))
    shift = min(most, math.ceil(math.log2(max(1.0, grid.cells / wanted))))
    buckets = -(-grid.cells // (1 << shift))
    if buckets >= max(2, profile.compute_units):  # and a group for their box
        return None
    return BinningPlan(way="at once", why="points are few, and each group reads all", shift=shift, buckets=buckets)


def _divide_buckets(profile: DeviceProfile, tuning: Tuning, *, problem: Problem, buckets: int) -> tuple[int, int]:
    """About as many regions as each has buckets, where one pass leaves too many lines of memory open and two do not."""
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
    """What programs that read points are planned by."""
    return {"dim": problem.dim, "real": problem.real, "periodic": problem.box is not None}


def _crowd(problem: Problem, grid: CellGrid) -> float:
    """Points expected for each cell of a point's bucket; all of them where that is beyond numbers."""
    n = max(1.0, float(problem.n))
    crowd = problem.survey.density(problem.radius) * math.prod(grid.sides)
    folded = n / grid.cells if grid.wrapped else 0.0  # far points share addresses
    return max(crowd + folded, n / grid.cells) if crowd < n else n
