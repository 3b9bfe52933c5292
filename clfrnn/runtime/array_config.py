"""Configs and plans of what device arrays compute: operators, reductions, edges and tables. Pure functions."""

from __future__ import annotations

import dataclasses

from ..config import KernelConfig
from ..groups import group_size
from ..profile import DeviceProfile
from ..tuning import Tuning

__all__ = ["OperationConfig", "ReductionConfig", "RowsConfig", "plan_operation", "plan_reduction", "plan_rows"]

#: Elements of a work-item that reduces: few enough for sums of floats, which are rounded at each, to lose no digits.
_REDUCED = 128


@dataclasses.dataclass(frozen=True, kw_only=True)
class OperationConfig(KernelConfig):
    """An ``operation``, by its name in Python, of elements of the type ``element``, computed in the type ``wide``."""

    operation: str
    element: str
    wide: str
    out: str
    #: whether the left and the right side are arrays, or one number
    x_array: bool
    y_array: bool
    #: whether elements are truth values
    truth: bool


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReductionConfig(KernelConfig):
    """A ``reduction`` of elements of the type ``element``, ``items`` in each partial result of the type ``total``."""

    reduction: str
    element: str
    total: str
    items: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class RowsConfig(KernelConfig):
    """The rows of a list in another form, from offsets of the type ``offset``."""

    offset: str


def plan_rows(profile: DeviceProfile, tuning: Tuning, *, offset: str) -> RowsConfig:
    """Plan one work-item per number that is written."""
    return RowsConfig(work_group_size=group_size(profile, tuning.primitives.copy_group), offset=offset)


def plan_operation(
    profile: DeviceProfile,
    tuning: Tuning,
    *,
    operation: str,
    element: str,
    wide: str,
    out: str,
    x_array: bool,
    y_array: bool,
    truth: bool,
) -> OperationConfig:
    """Plan one work-item per element."""
    return OperationConfig(
        work_group_size=group_size(profile, tuning.primitives.copy_group),
        operation=operation,
        element=element,
        wide=wide,
        out=out,
        x_array=x_array,
        y_array=y_array,
        truth=truth,
    )


def plan_reduction(
    profile: DeviceProfile,
    tuning: Tuning,
    *,
    reduction: str,
    element: str,
    total: str,
) -> ReductionConfig:
    """Plan work-items without barriers, on which compilers for CPUs spend most of their work."""
    size = group_size(profile, tuning.primitives.copy_group)
    return ReductionConfig(work_group_size=size, reduction=reduction, element=element, total=total, items=_REDUCED)
