"""Choice: the method that "auto" takes, and why. A pure function of the points' survey and the device."""

from __future__ import annotations

from typing import NamedTuple

from ..planning.problem import Problem
from ..profile import DeviceProfile
from .base import Method
from .brute_force import BruteForce
from .grid.strips import Strips
from .grid.uniform_grid import UniformGrid
from .tree.aabb_tree import AabbTree

__all__ = ["Choice", "choose_method", "is_worth_binning"]


class _Few(NamedTuple):
    """How many points are too few to sort, or to make a tree of: in the open, and in a periodic box."""

    open: int
    periodic: int


#: Of so few points all pairs are tested sooner by those who search once, for as many queries. A search of 4,000 points
#: in 3D took all pairs 0.89 and 0.71 times as long as a grid, on a GPU with a quick host and with a slow one, of 8,000
#: 1.28 and 0.89 times, of 16,000 2.2 and 1.35 times; on a CPU of 250 points 0.8 times, of 500 1.1 times. In a periodic
#: box a pair is tested in each image that may be met: 500 points took a GPU 1.07 and 0.82 times as long, 1,000 1.69 and
#: 1.15 times, 250 a CPU 0.95 to 1.1 times.
_ONCE = {"gpu": _Few(6000, 500), "cpu": _Few(512, 256)}

#: In a periodic box a GPU tests twice as many points for so few queries: 1,000 for 256 in 1.01 and 0.81 times the time
#: of a grid, 2,000 in 1.56 and 1.07.
_FEW_QUERIES = 256

#: And by those who keep an index, whose steps are an update and a query: in 2D and 3D, and where no grid serves. On a
#: GPU these are done sooner with cells or a tree, of any number of points (measured from 64 on, in 1 to 12 dimensions).
#: On a CPU, which brings few points into cells by one launch, steps of 64 points take cells 0.85 to 1.1 times as long
#: as all pairs, and of 128 points trees 1.0 to 1.25 times.
_KEPT = {"gpu": _Few(0, 0), "cpu": _Few(50, 50)}
_KEPT_BY_TREES = {"gpu": _Few(0, 0), "cpu": _Few(150, 100)}

#: A GPU tests so many pairs of few points as soon as it sorts the points and goes through cells (measured with 100 to
#: 4,000 points and 64 to 1,048,576 queries on an H200: 500 points with a million queries, or 2,000 with a quarter).
_MOST_PAIRS = 1 << 29

#: Up to so many points with so few neighbors, for as many queries, a GPU searches once through a grid sooner than the
#: host has weighed the sides of cells for strips: of 1,000 to 16,000 points in 0.85 to 0.9 times the time, in periodic
#: boxes in 0.81 to 0.87 (H100s with a quick host and with a slow one). Steps with lists
#: of 65,536 points with 47 neighbors took a grid 0.9 to 1.04 times as long, of a million 1.28.
_MOST_UNWEIGHED, _MOST_NEIGHBORS_UNWEIGHED = 1 << 16, 50.0

#: So many queries take a CPU as long as one, by all pairs (measured: one query of 262,144 points 24.7 ms, and 14.7 by
#: strips; 20 queries of 10,000 points 1.4 and 1.8).
_LEAST_QUERIES = 16

#: Of neighbors that are more than this share of all points, a tree leaves out too little.
_MOST_OF_ALL = 0.25

#: Crowds on a GPU: from so many others in a point's cell on, where they are so unevenly many, a tree is walked sooner
#: than cells, as it divides the work for the few points that have most neighbors (measured on an H200, in 2D and 3D).
#: Few points are done so soon that less is enough (measured at 1.7, a filament).
_CROWDS = ((50.0, 2.2), (10.0, 4.0))
_CROWDS_OF_FEW = ((50.0, 1.6), *_CROWDS)

#: Neighbors of a point within the largest radius, from which on a GPU walks a tree sooner than cells, however evenly
#: points lie: whole leaves are then within reach. Of an index that is kept counts and lists are weighed against each
#: other; a single search makes lists, which trees write later; and radii of the queries' own leave most of them with
#: far fewer, of few points so much so that it takes twice as many (measured with 65,536 to 1,048,576 points, radii over
#: up to three decades, and 200 to 6,800 neighbors).
_MANY_NEIGHBORS = {"kept": 1_200.0, "once": 1_500.0, "varied": 2_000.0}

#: Few points are so many for each compute unit, and no more than were measured: 65,536 on an H200.
_FEW_OF_UNIT, _MOST_OF_FEW = 512, 1 << 16


def is_worth_binning(n: int, profile: DeviceProfile, *, dim: int, queries: int | None, periodic: bool) -> bool:
    """Whether the choice depends on more than how many points of how many coordinates there are, and on what device.

    `queries` is their number where these are searched once and for all, None where an index is kept.
    """
    few = _few_points(profile, dim=dim, queries=queries, periodic=periodic)
    if queries is None:
        return n > few
    if profile.kind == "gpu":
        return n > few or n * queries > _MOST_PAIRS
    # Fewer queries take no less time, as items of a group go in step.
    return n * max(queries, _LEAST_QUERIES) > few * few


def _few_points(profile: DeviceProfile, *, dim: int, queries: int | None, periodic: bool) -> int:
    limits = _ONCE if queries is not None else _KEPT if dim in Strips.dims else _KEPT_BY_TREES
    few = limits["gpu" if profile.kind == "gpu" else "cpu"]
    if not periodic:
        return few.open
    return few.periodic * (2 if profile.kind == "gpu" and queries is not None and queries <= _FEW_QUERIES else 1)


class Choice(NamedTuple):
    """A method and why it is taken."""

    method: Method
    why: str


def choose_method(
    problem: Problem, profile: DeviceProfile, *, queries: int | None = None, varied: bool = False
) -> Choice:
    """What "auto" takes for a problem whose options and reason are not settled yet; `queries` as above.

    `varied` says that queries have radii of their own, of which the problem's is the largest.
    """
    n, dim = problem.n, problem.dim
    if not n:
        return Choice(BruteForce(), "chosen by auto, as there are no points")
    periodic = problem.box is not None
    few = _few_points(profile, dim=dim, queries=queries, periodic=periodic)
    of_these = f"up to {few:,} points" if queries is None else f"{n:,} points, for {queries:,} queries,"
    binned = is_worth_binning(n, profile, dim=dim, queries=queries, periodic=periodic)
    if dim not in Strips.dims:
        return _choose_without_grids(problem, None if binned else of_these)
    if not binned:
        return Choice(BruteForce(), f"chosen by auto, as {of_these} are not worth binning")
    why_tree = _crowd(problem, profile) or _many_neighbors(
        problem, profile, "varied" if varied else "kept" if queries is None else "once"
    )
    if why_tree is not None:
        return Choice(AabbTree(), f"chosen by auto, as {why_tree}")
    if queries is not None and _is_done_unweighed(problem, profile, queries):
        why = "so few points are searched sooner than the best sides of cells are found"
        return Choice(UniformGrid(), f"chosen by auto, as {why}")
    many = f"there are more than {few:,} points, and " if queries is None and few else ""
    return Choice(Strips(), f"chosen by auto, as {many}no other method was measured to be much sooner for such points")


def _is_done_unweighed(problem: Problem, profile: DeviceProfile, queries: int) -> bool:
    """Whether a single search by cells of any side is over before the best side is known."""
    if profile.kind != "gpu" or max(problem.n, queries) > _MOST_UNWEIGHED:
        return False
    return problem.survey.neighbors(problem.radius) <= _MOST_NEIGHBORS_UNWEIGHED


def _choose_without_grids(problem: Problem, too_few: str | None) -> Choice:
    """A tree, unless there are too few points, in words, or it would leave out little."""
    why = f"chosen by auto, as no grid serves {problem.dim} dimensions"
    if too_few is not None:
        return Choice(BruteForce(), f"{why} and {too_few} are not worth a tree")
    if not problem.survey.neighbors(problem.radius) <= _MOST_OF_ALL * problem.n:
        return Choice(BruteForce(), f"{why} and most points are neighbors of each other")
    return Choice(AabbTree(), why)


def _crowd(problem: Problem, profile: DeviceProfile) -> str | None:
    """How points crowd, in words, where a device would wait for the few queries that have most neighbors."""
    survey = problem.survey
    uneven, crowds = survey.unevenness_beyond_chance, _CROWDS_OF_FEW if _are_few(problem, profile) else _CROWDS
    crowded = any(survey.others >= others and uneven >= unevenness for others, unevenness in crowds)
    if profile.kind != "gpu" or not crowded:
        return None
    return f"a point has {survey.others:.3g} others in its cell on average, and some points far more"


def _many_neighbors(problem: Problem, profile: DeviceProfile, asked: str) -> str | None:
    """How many neighbors points have, in words, where a device goes through leaves sooner than through cells."""
    if profile.kind != "gpu":
        return None
    least = _MANY_NEIGHBORS[asked] * (2 if asked == "varied" and _are_few(problem, profile) else 1)
    found = problem.survey.neighbors(problem.radius)
    within = "the largest of the radii" if asked == "varied" else "the radius"
    return f"a point has about {found:,.0f} neighbors within {within}" if found >= least else None


def _are_few(problem: Problem, profile: DeviceProfile) -> bool:
    return problem.n <= min(_MOST_OF_FEW, _FEW_OF_UNIT * profile.compute_units)
