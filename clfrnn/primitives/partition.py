"""The division of a pass over an array among work-groups."""

from __future__ import annotations

from ..planning.tuning import Tuning
from ..profile import DeviceProfile

__all__ = ["most_groups", "share_out"]


def most_groups(profile: DeviceProfile, tuning: Tuning) -> int:
    """The largest number of groups of a pass; they occupy the device several times over."""
    return max(1, min(tuning.primitives.most_groups, profile.compute_units * tuning.primitives.groups_a_unit))


def share_out(profile: DeviceProfile, tuning: Tuning, n: int, tile: int) -> tuple[int, int]:
    """The number of groups, and the number of elements of each group, a multiple of `tile`.

    The groups occupy the device several times over, and are no more than that, as each leaves one partial result.
    """
    groups = max(1, min(most_groups(profile, tuning), -(-n // tile)))
    span = -(-max(1, -(-n // groups)) // tile) * tile
    return max(1, -(-n // span)), span
