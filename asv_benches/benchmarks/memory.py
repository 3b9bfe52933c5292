"""Device memory: what an index keeps, and the largest size of its session's pool."""

from __future__ import annotations

import clfrnn

from .common import PLATFORMS, Uniform, cloud, session


class Memory(Uniform):
    """Bytes."""

    def track_index(self, *_: object) -> int:
        """What the index keeps."""
        return sum(self.case.index.nbytes.values())

    def track_pool(self, *_: object) -> int:
        """What the pool has taken from the device, for the index and its lists."""
        return self.case.session.pooled_bytes

    track_index.unit = "bytes"  # type: ignore[attr-defined]
    track_pool.unit = "bytes"  # type: ignore[attr-defined]


class SearchMemory:
    """Bytes of one search for a list, in a session that did nothing before."""

    params = (list(PLATFORMS), [1_048_576], [3, 10, 49])
    param_names = ("device", "points", "neighbors")

    def setup(self, device: str, n: int, neighbors: int) -> None:
        """Search once."""
        points, radius = cloud("uniform", n, neighbors)
        fresh = clfrnn.Session(session(device).device)
        self.list = clfrnn.search(points, radius, session=fresh)
        self.pool = fresh.pooled_bytes

    def track_peak(self, *_: object) -> int:
        """The most that the pool took from the device: it returns nothing while a list is made."""
        return self.pool

    def track_list(self, *_: object) -> int:
        """The list's own bytes. The peak should be at most 1.6 times these, and 80 for each point."""
        return int(self.list.indices.nbytes + self.list.offsets.nbytes)

    track_peak.unit = "bytes"  # type: ignore[attr-defined]
    track_list.unit = "bytes"  # type: ignore[attr-defined]
