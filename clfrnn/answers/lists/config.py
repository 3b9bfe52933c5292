"""The config of the kernel that goes through a list."""

from __future__ import annotations

import dataclasses

from ...config import VisitConfig
from ...groups import group_size, square_root
from ...profile import DeviceProfile
from ...tuning import Tuning

__all__ = ["ListVisitConfig", "plan_list_visit"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ListVisitConfig(VisitConfig):
    """A visit of the pairs of a list whose offsets have the type ``offset``."""

    offset: str
    #: whether the list has the shift of each pair; otherwise a neighbor is the nearest image of its point
    stored: bool


def plan_list_visit(
    profile: DeviceProfile, tuning: Tuning, *, dim: int, real: str, periodic: str, offset: str, stored: bool
) -> ListVisitConfig:
    """Plan one work-item per row."""
    return ListVisitConfig(
        work_group_size=group_size(profile, tuning.lists.visit_group),
        dim=dim,
        real=real,
        square_root=square_root(profile, real),
        periodic=periodic,
        offset=offset,
        stored=stored,
    )
