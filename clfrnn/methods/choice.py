"""Choice: the method that "auto" takes, and why. A pure function of the points' survey and the device."""

from __future__ import annotations

import dataclasses
import math
from typing import NamedTuple

from ..blocks import block_points, why_no_tiles
from ..plan import Problem
from ..profile import DeviceProfile
from .aabb_tree import AabbTree
from .base import Method
from .brute_force import BruteForce
from .fenns import Fenns
from .strips import Strips

__all__ = ["Choice", "choose_method", "is_worth_binning"]


class _Few(NamedTuple):
    """How many points are too few to sort, or to make a tree of: where a grid serves, and where none does."""

    binned: int
    treed: int


#: Of so few points all pairs are tested sooner: by those who search once, and by those who keep an index, whose steps
#: are an update and a query. On a GPU these are done sooner with cells or a tree, of any number of points (measured
#: from 64 points on, in 1 to 12 dimensions; a single search in 3D, of up to 1,000).
_ONCE = {"gpu": _Few(1024, 8192), "cpu": _Few(512, 512)}
_KEPT = {"gpu": _Few(0, 0), "cpu": _Few(300, 300)}

#: Of neighbors that are more than this share of all points, a tree leaves out too little.
_MOST_OF_ALL = 0.25

#: Neighbors of a point from which on cells in memory are walked sooner than local ones are made, by the number of
#: coordinates and whether the box is periodic (measured, with single precision).
_MOST_NEIGHBORS = {(2, False): 6.0, (3, False): 1.0, (2, True): 5.0, (3, True): 0.2}

#: Crowds on a GPU: from so many others in a point's cell on, where they are so unevenly many, a tree is walked sooner
#: than cells, as it divides the work for the few points that have most neighbors (measured on an H200, in 2D and 3D).
_CROWDS = ((50.0, 2.2), (10.0, 4.0))

#: Records of doubles take twice the local memory.
_SHARE_OF_DOUBLES = 0.1

#: Cells in memory are filled as soon as coarse ones, unless there are so many points for each compute unit (measured on
#: an H200), or a periodic box, which strips have to know first.
_MANY_OF_UNIT = 12_000

#: In a periodic box few points are searched about as soon as launched for, and FENNS takes the fewest launches:
#: of up to so many for a compute unit, each may have so many times as many neighbors. Measured on an H200, in 2D with
#: single precision alone; inferred for other devices and flat doubles, hence no more points than there, nor neighbors.
_TIMES_OF_FEW = ((512, 50.0), (2048, 1.5))
_MOST_POINTS_OF_FEW, _MOST_NEIGHBORS_OF_FEW = 1 << 18, 100.0

#: Why another method is taken after all.
_UNEVEN = "points lie too unevenly for local grids"


def is_worth_binning(n: int, dim: int, profile: DeviceProfile, *, once: bool) -> bool:
    """Whether the choice depends on more than how many points there are, in how many dimensions, on what device."""
    return n > _few_points(dim, profile, once=once)


def _few_points(dim: int, profile: DeviceProfile, *, once: bool) -> int:
    few = (_ONCE if once else _KEPT)["gpu" if profile.kind == "gpu" else "cpu"]
    return few.binned if dim in Strips.dims else few.treed


class Choice(NamedTuple):
    """A method and why it is taken; and what is instead, where its index does not suit the points after all."""

    method: Method
    why: str
    otherwise: Choice | None = None


def choose_method(problem: Problem, profile: DeviceProfile, *, once: bool = False) -> Choice:
    """What "auto" takes for a problem whose options and reason are not settled yet; `once`: for one query alone."""
    if not problem.n:
        return Choice(BruteForce(), "chosen by auto, as there are no points")
    few = _few_points(problem.dim, profile, once=once)
    if problem.dim not in Strips.dims:
        return _choose_without_grids(problem, few)
    if problem.n <= few:
        return Choice(BruteForce(), f"chosen by auto, as up to {few:,} points are not worth binning")
    crowd = _crowd(problem, profile)
    if crowd is not None:
        return Choice(AabbTree(), f"chosen by auto, as {crowd}")
    reason = _reason_against_local_grids(problem, profile)
    many = f"there are more than {few:,} points, and " if few else ""
    strips = Choice(Strips(), f"chosen by auto, as {many}{reason or _UNEVEN}")
    if reason is not None:
        return strips
    why = "chosen by auto, as a GPU makes local grids sooner than it fills cells where neighbors are few"
    return Choice(Fenns(), why, otherwise=strips)


def _choose_without_grids(problem: Problem, few: int) -> Choice:
    """A tree, unless it would leave out little."""
    why = f"chosen by auto, as no grid serves {problem.dim} dimensions"
    if problem.n <= few:
        return Choice(BruteForce(), f"{why} and up to {few:,} points are not worth a tree")
    if not problem.survey.neighbors(problem.radius) <= _MOST_OF_ALL * problem.n:
        return Choice(BruteForce(), f"{why} and most points are neighbors of each other")
    return Choice(AabbTree(), why)


def _crowd(problem: Problem, profile: DeviceProfile) -> str | None:
    """How points crowd, in words, where a device would wait for the few queries that have most neighbors."""
    survey = problem.survey
    # Beyond chance, which is much where one of hundreds of points is counted.
    uneven = survey.unevenness - survey.chance_of_unevenness
    crowded = any(survey.others >= others and uneven >= unevenness for others, unevenness in _CROWDS)
    if profile.kind != "gpu" or not crowded:
        return None
    return f"a point has {survey.others:.3g} others in its cell on average, and few points have most of them"


def _reason_against_local_grids(problem: Problem, profile: DeviceProfile) -> str | None:
    """Why FENNS is not expected to be the fastest, in words; None where it may be."""
    if profile.kind != "gpu":
        return "no work-items share a local grid"
    periodic, of_unit = problem.box is not None, problem.n / profile.compute_units
    if not periodic and of_unit < _MANY_OF_UNIT:
        few = f"fewer than {_MANY_OF_UNIT:,} points for each compute unit"
        return f"{few} are brought into cells as soon as into coarse ones"
    most = _MOST_NEIGHBORS[problem.dim, periodic]
    if problem.real == "double":
        most *= _SHARE_OF_DOUBLES
    launched = of_unit if periodic and problem.n <= _MOST_POINTS_OF_FEW else math.inf
    times = next((times for least, times in _TIMES_OF_FEW if launched <= least), 1.0)
    most = min(_MOST_NEIGHBORS_OF_FEW, most * times)
    if not problem.survey.neighbors(problem.radius) <= most:
        return f"a point has more than {most:g} neighbors{' in a periodic box' if periodic else ''}"
    if problem.dim == 3 and not periodic and _goes_by_regions(problem, profile):
        return "so many points go into cells by regions as soon as into coarse ones"
    # As if points lay evenly: the sample of crowding sees no farther than the radius, and a sheet looks like a clump
    # there. The index tells, when it has counted its cells.
    fenns, survey = Fenns(), dataclasses.replace(problem.survey, others=0.0)
    even = dataclasses.replace(problem, survey=survey, options=fenns.check({}))
    plan = fenns.plan(even, profile)
    if not plan.config.tile:
        return why_no_tiles(profile, even, plan.grid)
    if block_points(even, plan.grid) > plan.config.tile:
        return "what a local grid covers does not fit local memory"
    return None


def _goes_by_regions(problem: Problem, profile: DeviceProfile) -> bool:
    """Whether strips would sort the points in two passes, both of which write whole lines of memory (measured)."""
    strips = Strips()
    filling = strips.plan(dataclasses.replace(problem, options=strips.check({})), profile).filling
    return filling is not None and filling.regions > 0
