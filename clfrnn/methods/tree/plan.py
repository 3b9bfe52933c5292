"""The plan of an AABB-tree: its config, the size of its leaves, and its options."""

from __future__ import annotations

import dataclasses

from ...problem import Problem
from ...profile import DeviceProfile
from ...tuning import Tuning
from .build_plan import MOST_LEAVES, count_leaves, default_leaf_size, leaves_of_group
from .walk_plan import TreeWalkConfig, plan_tree_walk

__all__ = ["CONSTRUCTION_ADVICE", "TREE_CONSTRUCTIONS", "TreePlan", "plan_aabb_tree"]

TREE_CONSTRUCTIONS = ("morton", "median")
CONSTRUCTION_ADVICE = "'median' orders points on the host, level by level: leave it out unless you compare the two"


@dataclasses.dataclass(frozen=True, kw_only=True)
class TreePlan:
    """The config of the walk, and how the tree is built and built again."""

    config: TreeWalkConfig
    #: number of points of a leaf
    leaf_size: int
    #: the number of leaves that a group builds, see :func:`~clfrnn.methods.tree.build_plan.leaves_of_group`
    group_leaves: int
    construction: str
    rebuild_threshold: float


def plan_aabb_tree(problem: Problem, profile: DeviceProfile, tuning: Tuning) -> TreePlan:
    """Plan leaves of the requested size, or of the default of the device, and packets on devices that use them."""
    neighbors = problem.survey.neighbors(problem.radius)
    leaf_size = problem.options["leaf_size"]
    if leaf_size is None:
        leaf_size = default_leaf_size(tuning, problem.n, neighbors, periodic=bool(problem.periodic))
    leaf_size = max(leaf_size, -(-problem.n // MOST_LEAVES))
    config = plan_tree_walk(
        profile,
        tuning,
        dim=problem.dim,
        real=problem.real,
        periodic=problem.periodic,
        leaf_size=leaf_size,
        neighbors=neighbors,
    )
    return TreePlan(
        config=config,
        leaf_size=leaf_size,
        group_leaves=leaves_of_group(profile, tuning, count_leaves(problem.n, leaf_size)),
        construction=problem.options["construction"],
        rebuild_threshold=problem.options["rebuild_threshold"],
    )
