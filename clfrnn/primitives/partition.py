"""How a pass over an array is shared out among work-groups."""

from __future__ import annotations

from ..planning.tuning import Tuning
from ..profile import DeviceProfile

__all__ = ["most_groups", "share_out"]


def most_groups(profile: DeviceProfile, tuning: Tuning) -> int:
    """Groups of a pass, however many elements there are: they fill the device several times over."""
    return max(1, min(tuning.primitives.most_groups, profile.compute_units * tuning.primitives.groups_a_unit))


def share_out(profile: DeviceProfile, tuning: Tuning, n: int, tile: int) -> tuple[int, int]:
    """Number of groups, and the elements of each group's share, a multiple of `tile`.

    Enough groups to fill the device several times over, and no more: each leaves one partial result.
    """
    groups = max(1, min(most_groups(profile, tuning), -(-n // tile)))
    span = -(-max(1, -(-n // groups)) // tile) * tile
    return max(1, -(-n // span)), span
