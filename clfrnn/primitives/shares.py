"""How a pass over an array is shared out among work-groups."""

from __future__ import annotations

from ..profile import DeviceProfile

__all__ = ["share_out"]


def share_out(profile: DeviceProfile, n: int, tile: int, most: int = 1024) -> tuple[int, int]:
    """Number of groups, and the elements of each group's share, a multiple of `tile`.

    Enough groups to fill the device several times over, and no more: each leaves one partial result.
    """
    groups = max(1, min(most, profile.compute_units * 8, -(-n // tile)))
    span = -(-max(1, -(-n // groups)) // tile) * tile
    return max(1, -(-n // span)), span
