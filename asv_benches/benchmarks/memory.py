"""Device memory: what an index keeps, and the most that its session's pool held while it was built and asked."""

from __future__ import annotations

from .common import Uniform


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
