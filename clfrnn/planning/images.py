"""The config of periodic images: how the numbers are found by which walks find the images of points. Pure."""

from __future__ import annotations

import dataclasses

from ..profile import DeviceProfile
from .configs import PointConfig
from .groups import group_size
from .tuning import Tuning

__all__ = ["ImagesConfig", "plan_images"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ImagesConfig(PointConfig):
    """The numbers by which a walk finds the images of points in a periodic box of that kind, "box" or "cell"."""

    periodic: str
    #: work-items that place points in a cell together; the numbers are computed by one
    placing_group: int


def plan_images(profile: DeviceProfile, tuning: Tuning, *, dim: int, real: str, periodic: str = "box") -> ImagesConfig:
    """Plan one work-item, for a few numbers on each axis."""
    placing = group_size(profile, tuning.primitives.copy_group)
    return ImagesConfig(work_group_size=1, dim=dim, real=real, periodic=periodic, placing_group=placing)
