"""Facts that every plan needs: the size and number of work-groups, and how square roots are rounded."""

from __future__ import annotations

from .profile import DeviceProfile
from .tuning import Tuning

__all__ = ["busy_units", "group_size", "most_groups", "share_out", "square_root"]

#: Lanes of the compute units for which numbers of groups were measured.
_LANES = 64


def group_size(profile: DeviceProfile, preferred: int) -> int:
    """The largest power of two up to `preferred` that the device allows for a work-group."""
    size = 1
    while size * 2 <= min(preferred, profile.max_work_group_size):
        size *= 2
    return size


def busy_units(profile: DeviceProfile) -> int:
    """The number of compute units that numbers of groups go by: units of 64 lanes, where a GPU's driver counts smaller.

    Each group leaves counters of its own. As many groups for each small unit would run one after another, and leave
    up to six counters for each point.
    """
    lanes = min(profile.unit_lanes, _LANES) if profile.kind == "gpu" else _LANES
    return max(1, profile.compute_units * lanes // _LANES)


def most_groups(profile: DeviceProfile, tuning: Tuning) -> int:
    """The largest number of groups of a pass; they occupy the device several times over."""
    return max(1, min(tuning.primitives.most_groups, busy_units(profile) * tuning.primitives.groups_a_unit))


def share_out(profile: DeviceProfile, tuning: Tuning, n: int, tile: int) -> tuple[int, int]:
    """The number of groups, and the number of elements of each group, a multiple of `tile`.

    The groups occupy the device several times over, and are no more than that, as each leaves one partial result.
    """
    groups = max(1, min(most_groups(profile, tuning), -(-n // tile)))
    span = -(-max(1, -(-n // groups)) // tile) * tile
    return max(1, -(-n // span)), span


def square_root(profile: DeviceProfile, real: str) -> str:
    """The way of computing correctly rounded roots: by the device, in double, or corrected in integer arithmetic.

    OpenCL rounds ``sqrt`` of doubles correctly but allows an error of 3 ulp for floats.
    """
    if real == "double" or profile.rounded_sqrt:
        return "native"
    return "double" if profile.fp64 else "integer"
