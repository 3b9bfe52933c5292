"""The width of packets: how many queries go down a tree together. Pure functions.

The number itself is ``tree.packet_queries``: its default stands in ``clfrnn/tuning/tree.py``, and what was measured on
single devices in ``clfrnn/tuning/stored``.
"""

from __future__ import annotations

from ...profile import DeviceProfile
from ...tuning import Tuning

__all__ = ["LEAST_PACKET", "packet_queries", "packet_widths"]

#: Smallest packet: a packet tests the descendants of a node three levels down side by side.
LEAST_PACKET = 8

#: Work-items in lockstep from beyond which packets are wider, and queries of the widest packet.
_LOCKSTEP, _WIDEST_PACKET = 32, 64


def packet_queries(profile: DeviceProfile, tuning: Tuning) -> int:
    """The number of queries of a packet: as the tuning says, or one for each work-item of a wider wavefront.

    Where more work-items run in lockstep than a packet has queries, the rest of them would idle.
    """
    wide = profile.simd_width if profile.kind == "gpu" and profile.simd_width > _LOCKSTEP else 0
    return max(tuning.tree.packet_queries, min(wide, _WIDEST_PACKET))


def packet_widths(profile: DeviceProfile, tuning: Tuning) -> tuple[int, ...]:
    """The widths to choose from, the best one first: smaller packets take less local memory."""
    return tuple(dict.fromkeys((packet_queries(profile, tuning), tuning.tree.packet_queries)))
