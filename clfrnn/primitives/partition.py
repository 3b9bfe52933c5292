"""How a pass over an array is shared out among work-groups."""

from __future__ import annotations

from ..profile import DeviceProfile

__all__ = ["most_groups", "share_out"]

#: Groups that leave a result each, at most: somebody goes through these.
_MOST = 1024


def most_groups(profile: DeviceProfile, most: int = _MOST) -> int:
    """Groups of a pass, however many elements there are: they fill the device several times over."""
    return max(1, min(most, profile.compute_units * 8))


def share_out(profile: DeviceProfile, n: int, tile: int, most: int = _MOST) -> tuple[int, int]:
    """Number of groups, and the elements of each group's share, a multiple of `tile`.

    Enough groups to fill the device several times over, and no more: each leaves one partial result.
    """
    groups = max(1, min(most_groups(profile, most), -(-n // tile)))
    span = -(-max(1, -(-n // groups)) // tile) * tile
    return max(1, -(-n // span)), span
