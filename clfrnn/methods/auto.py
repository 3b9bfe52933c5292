"""The choice of "auto": a pure function of the survey of the points and the facts of the device."""

from __future__ import annotations

from typing import NamedTuple

from ..groups import busy_units
from ..problem import Problem
from ..profile import DeviceProfile
from ..tuning import Tuning
from .base import Method
from .brute_force.brute_force import BruteForce
from .grid.strips import Strips
from .grid.uniform_grid import UniformGrid
from .tree.aabb_tree import AabbTree

__all__ = ["Choice", "choose_method", "is_worth_binning"]


def is_worth_binning(
    n: int, profile: DeviceProfile, tuning: Tuning, *, dim: int, queries: int | None, periodic: bool
) -> bool:
    """Whether the choice depends on more than the numbers of points and coordinates and the device.

    `queries` is the number of queries of a single search, or None where an index serves several calls.
    """
    few = _few_points(profile, tuning, dim=dim, queries=queries, periodic=periodic)
    if queries is None:
        return n > few
    if profile.kind == "gpu":
        return n > few or n * queries > tuning.auto.most_pairs
    # Fewer queries take as long, because work-items in lockstep wait for each other.
    return n * max(queries, tuning.auto.least_queries) > few * few


def _few_points(profile: DeviceProfile, tuning: Tuning, *, dim: int, queries: int | None, periodic: bool) -> int:
    """The largest number of points for which brute force is fastest, whatever their positions."""
    numbers = tuning.auto
    if queries is None:
        in_grids = numbers.pairs_in_loop, numbers.pairs_in_loop_periodic
        by_trees = numbers.pairs_in_loop_of_tree, numbers.pairs_in_loop_of_tree_periodic
        return (in_grids if dim in Strips.dims else by_trees)[periodic]
    if not periodic:
        return numbers.pairs_once
    return numbers.pairs_once_periodic * (2 if profile.kind == "gpu" and queries <= numbers.few_queries else 1)


class Choice(NamedTuple):
    """A method and the reason for it."""

    method: Method
    why: str


def choose_method(
    problem: Problem, profile: DeviceProfile, tuning: Tuning, *, queries: int | None = None, varied: bool = False
) -> Choice:
    """Choose the method for a problem whose options are not settled yet; `queries` is that of :func:`is_worth_binning`.

    `varied` says that queries have radii of their own, the largest of which is the radius of the problem.
    """
    n, dim = problem.n, problem.dim
    if not n:
        return Choice(BruteForce(), "chosen by auto, as there are no points")
    periodic = bool(problem.periodic)
    few = _few_points(profile, tuning, dim=dim, queries=queries, periodic=periodic)
    of_these = f"up to {few:,} points" if queries is None else f"{n:,} points, for {queries:,} queries,"
    binned = is_worth_binning(n, profile, tuning, dim=dim, queries=queries, periodic=periodic)
    if dim not in Strips.dims:
        return _choose_without_grids(problem, tuning, None if binned else of_these)
    if not binned:
        return Choice(BruteForce(), f"chosen by auto, as {of_these} are not worth binning")
    of_few = _are_few_points(problem, profile, tuning)
    why_tree = _crowd(problem, tuning, of_few) or _many_neighbors(problem, tuning, of_few, queries, varied)
    if why_tree is not None:
        return Choice(AabbTree(), f"chosen by auto, as {why_tree}")
    if queries is not None and _is_done_unweighed(problem, profile, tuning, queries):
        why = "so few points are searched sooner than the best sides of cells are found"
        return Choice(UniformGrid(), f"chosen by auto, as {why}")
    many = f"there are more than {few:,} points, and " if queries is None and few else ""
    return Choice(Strips(), f"chosen by auto, as {many}no other method was measured to be much sooner for such points")


def _is_done_unweighed(problem: Problem, profile: DeviceProfile, tuning: Tuning, queries: int) -> bool:
    """Whether a single search over cells of any side takes less time than a survey that finds the best side."""
    if profile.kind != "gpu" or max(problem.n, queries) > tuning.auto.most_unweighed:
        return False
    return problem.survey.neighbors(problem.radius) <= tuning.auto.most_neighbors_unweighed


def _choose_without_grids(problem: Problem, tuning: Tuning, too_few: str | None) -> Choice:
    """A tree, unless there are few points, as `too_few` says in words, or most points are neighbors of each other."""
    why = f"chosen by auto, as no grid serves {problem.dim} dimensions"
    if too_few is not None:
        return Choice(BruteForce(), f"{why} and {too_few} are not worth a tree")
    if not problem.survey.neighbors(problem.radius) <= tuning.auto.most_of_all * problem.n:
        return Choice(BruteForce(), f"{why} and most points are neighbors of each other")
    return Choice(AabbTree(), why)


def _crowd(problem: Problem, tuning: Tuning, of_few: bool) -> str | None:
    """A description of uneven crowding, where a device would wait for the few queries with most neighbors."""
    survey = problem.survey
    uneven, crowds = survey.unevenness_beyond_chance, tuning.auto.crowds_of_few if of_few else tuning.auto.crowds
    if not any(survey.others >= others and uneven >= unevenness for others, unevenness in crowds):
        return None
    return f"a point has {survey.others:.3g} others in its cell on average, and some points far more"


def _many_neighbors(problem: Problem, tuning: Tuning, of_few: bool, queries: int | None, varied: bool) -> str | None:
    """A description of the number of neighbors, where a device tests leaves of a tree faster than cells."""
    numbers = tuning.auto
    least = numbers.tree_neighbors_in_loop if queries is None else numbers.tree_neighbors_once
    if varied:
        least = numbers.tree_neighbors_varied * (2 if of_few else 1)
    found = problem.survey.neighbors(problem.radius)
    within = "the largest of the radii" if varied else "the radius"
    return f"a point has about {found:,.0f} neighbors within {within}" if found >= least else None


def _are_few_points(problem: Problem, profile: DeviceProfile, tuning: Tuning) -> bool:
    return problem.n <= min(tuning.auto.most_few_points, tuning.auto.few_points_a_unit * busy_units(profile))
