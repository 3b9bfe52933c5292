"""Plans of the kernels that find where points lie in a periodic domain. Pure functions."""

from __future__ import annotations

import dataclasses

from ...config import REAL_SIZE, PointConfig
from ...groups import group_size
from ...profile import DeviceProfile
from ...tuning import Tuning

__all__ = ["ImagesConfig", "plan_images", "plan_systems"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ImagesConfig(PointConfig):
    """The numbers by which a walk finds the images of points in a periodic domain of that kind."""

    periodic: str
    #: work-items that place points in a cell together; the numbers are computed by one
    placing_group: int


def plan_images(profile: DeviceProfile, tuning: Tuning, *, dim: int, real: str, periodic: str = "box") -> ImagesConfig:
    """Plan one work-item, for a few numbers on each axis."""
    placing = group_size(profile, tuning.primitives.copy_group)
    return ImagesConfig(work_group_size=1, dim=dim, real=real, periodic=periodic, placing_group=placing)


def plan_systems(profile: DeviceProfile, tuning: Tuning, *, dim: int, real: str, periodic: str) -> ImagesConfig:
    """Plan groups that bound the points of a system together; half of local memory holds what each work-item found."""
    size = group_size(profile, tuning.primitives.system_group)
    while size > 1 and 4 * dim * size * REAL_SIZE[real] > profile.usable_local_memory:
        size //= 2
    return ImagesConfig(work_group_size=size, dim=dim, real=real, periodic=periodic, placing_group=size)
