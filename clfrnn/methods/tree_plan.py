"""The plan of an AABB-tree: its options, its leaves, and the curve that its points follow."""

from __future__ import annotations

import dataclasses
import numbers
import operator

from ..errors import InvalidInputError
from ..packs import TreeWalkConfig, plan_tree_walk
from ..plan import Problem
from ..profile import DeviceProfile
from ..trees import MOST_LEAVES, default_leaf_size

__all__ = ["ADVICE", "CONSTRUCTIONS", "TreePlan", "check_leaf_size", "check_threshold", "plan_of"]

CONSTRUCTIONS = ("morton", "median")
ADVICE = "'median' orders points on the host, level by level: leave it out unless you compare the two"

_LARGEST_LEAF = 1 << 16


@dataclasses.dataclass(frozen=True, kw_only=True)
class TreePlan:
    """What is compiled in, how the tree is built, and when again."""

    config: TreeWalkConfig
    #: points of a leaf
    leaf_size: int
    construction: str
    rebuild_threshold: float


def check_leaf_size(value: object) -> int | None:
    """The number of points of a leaf, or None for the device's."""
    if value is None:
        return None
    try:
        size = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        size = 0
    if isinstance(value, bool) or not 1 <= size <= _LARGEST_LEAF:
        raise InvalidInputError(
            f"leaf_size: expected a number of points from 1 to {_LARGEST_LEAF:,}, got {value!r}; leave it out for that "
            "of the device"
        )
    return size


def check_threshold(value: object) -> float:
    """The ratio of volumes from which on a tree is built again."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not float(value) >= 1:
        raise InvalidInputError(
            f"rebuild_threshold: expected a ratio of volumes of at least 1, got {value!r}; "
            "pass math.inf to never build the tree again"
        )
    return float(value)


def plan_of(problem: Problem, profile: DeviceProfile) -> TreePlan:
    """Leaves of the size asked for, else of the device's; packs where it has them."""
    neighbors = problem.survey.neighbors(problem.radius)
    of_leaf = problem.options["leaf_size"]
    if of_leaf is None:
        of_leaf = default_leaf_size(profile, problem.n, neighbors)
    of_leaf = max(of_leaf, -(-problem.n // MOST_LEAVES))
    config = plan_tree_walk(
        profile,
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
