"""Facts that every plan needs: the size of work-groups, and how square roots are rounded."""

from __future__ import annotations

from ..profile import DeviceProfile

__all__ = ["group_size", "square_root"]


def group_size(profile: DeviceProfile, preferred: int) -> int:
    """The largest power of two up to `preferred` that the device allows for a work-group."""
    size = 1
    while size * 2 <= min(preferred, profile.max_work_group_size):
        size *= 2
    return size


def square_root(profile: DeviceProfile, real: str) -> str:
    """The way of computing correctly rounded roots: by the device, in double, or corrected in integer arithmetic.

    OpenCL rounds ``sqrt`` of doubles correctly but allows an error of 3 ulp for floats.
    """
    if real == "double" or profile.rounded_sqrt:
        return "native"
    return "double" if profile.fp64 else "integer"
