"""The plan of an AABB-tree: its options, its leaves, and the curve that its points follow."""

from __future__ import annotations

import dataclasses

from ...planning.problem import Problem
from ...planning.tree_build import MOST_LEAVES, default_leaf_size
from ...planning.tree_traversal import TreeWalkConfig, plan_tree_walk
from ...planning.tuning import Tuning
from ...profile import DeviceProfile

__all__ = ["ADVICE", "TREE_CONSTRUCTIONS", "TreePlan", "plan_of"]

TREE_CONSTRUCTIONS = ("morton", "median")
ADVICE = "'median' orders points on the host, level by level: leave it out unless you compare the two"


@dataclasses.dataclass(frozen=True, kw_only=True)
class TreePlan:
    """What is compiled in, how the tree is built, and when again."""

    config: TreeWalkConfig
    #: points of a leaf
    leaf_size: int
    construction: str
    rebuild_threshold: float


def plan_of(problem: Problem, profile: DeviceProfile, tuning: Tuning) -> TreePlan:
    """Leaves of the size asked for, else of the device's; packs where it has them."""
    neighbors = problem.survey.neighbors(problem.radius)
    of_leaf = problem.options["leaf_size"]
    if of_leaf is None:
        of_leaf = default_leaf_size(tuning, problem.n, neighbors)
    of_leaf = max(of_leaf, -(-problem.n // MOST_LEAVES))
    config = plan_tree_walk(
        profile,
        tuning,
        dim=problem.dim,
        real=problem.real,
        periodic=problem.box is not None,
        leaf_size=of_leaf,
        neighbors=neighbors,
    )
    return TreePlan(
        config=config,
        leaf_size=of_leaf,
        construction=problem.options["construction"],
        rebuild_threshold=problem.options["rebuild_threshold"],
    )
