"""What the methods are made of: bounding box, scan, sort."""

from __future__ import annotations

import numpy as np
import pyopencl.array as cla

from clfrnn.primitives.radix_sort import sort_positions
from clfrnn.primitives.reduce import bounding_box
from clfrnn.primitives.scan import exclusive_scan

from .common import PLATFORMS, device_seconds, session


class Primitives:
    """Each over arrays of n elements."""

    params = (list(PLATFORMS), [1 << 16, 1 << 22])
    param_names = ("device", "n")
    timeout = 120

    def setup(self, device: str, n: int) -> None:
        """Seeded arrays on the device."""
        self.session = session(device)
        rng = np.random.default_rng(0)
        self.points = cla.to_device(self.session.queue, rng.random((n, 3), dtype=np.float32))
        self.keys = self.session.upload(rng.integers(0, 1 << 20, n, dtype=np.uint32), purpose="keys")
        self.counts = self.session.upload(rng.integers(0, 9, n, dtype=np.int32), purpose="counts")
        self.starts = self.session.scratch(n + 1, np.dtype(np.int32), purpose="starts")

    def sort(self) -> object:
        """Twenty bits; the sort overwrites its keys, and takes as long over sorted ones."""
        return sort_positions(self.session, self.keys, 20)

    def track_bounding_box(self, *_: object) -> float:
        """Device time."""
        return device_seconds(self.session, lambda: bounding_box(self.session, self.points))

    def track_scan(self, *_: object) -> float:
        """Device time."""
        return device_seconds(self.session, lambda: exclusive_scan(self.session, self.counts, self.starts))

    def track_sort(self, *_: object) -> float:
        """Device time."""
        return device_seconds(self.session, self.sort)

    track_bounding_box.unit = "seconds"  # type: ignore[attr-defined]
    track_scan.unit = "seconds"  # type: ignore[attr-defined]
    track_sort.unit = "seconds"  # type: ignore[attr-defined]
