"""First bounds: radii within which the points of a tree certainly have k neighbors, from the points beside them."""

from __future__ import annotations

import dataclasses
from typing import Any

from ...config import PointConfig
from ...groups import group_size
from ...profile import DeviceProfile
from ...runtime.scratch import Scratch
from ...runtime.session import Session
from ...tuning import Tuning
from .build_plan import tree_layout
from .packet_plan import packet_queries

__all__ = ["FirstBoundsConfig", "find_first_bounds", "plan_first_bounds"]

#: Steps by which squared distances are counted, a power of two.
_STEPS = 64


@dataclasses.dataclass(frozen=True, kw_only=True)
class FirstBoundsConfig(PointConfig):
    """A work-group of points in search order, and the points before and behind them."""

    #: the layout of the sorted copy: see :func:`~clfrnn.config.numbers_per_point`
    layout: str
    #: points on each side
    beside: int
    #: steps by which squared distances are counted
    steps: int = _STEPS


def plan_first_bounds(profile: DeviceProfile, tuning: Tuning, *, dim: int, real: str) -> FirstBoundsConfig:
    """Plan groups as wide as packets, which the points of a few leaves fill."""
    size = group_size(profile, packet_queries(profile, tuning))
    facts: dict[str, Any] = {"layout": tree_layout(profile, dim), "beside": tuning.nearest.beside}
    return FirstBoundsConfig(work_group_size=size, dim=dim, real=real, **facts)


def find_first_bounds(
    session: Session, sorted_points: Scratch, n: int, k: int, *, limits: tuple[Any, Any], dim: int, real: str
) -> Scratch:
    """Enqueue the search for the radii of n sorted points, (n,), by their numbers. One launch.

    The first of `limits` is the largest radius. The second is the ratio to the least radius of a group above which a
    radius is -1: such points have to be searched for by themselves.
    """
    facts = {"dim": dim, "real": real}
    kernels, config = session.planned("methods/tree/first_bounds", plan_first_bounds, **facts)
    radii = session.scratch(n, sorted_points.dtype, purpose="first bounds of the nearest neighbors")
    given = n, sorted_points.base_data, k, *limits, radii.base_data
    session.launch(kernels["find_first_bounds"], n, config.work_group_size, *given)
    return radii
