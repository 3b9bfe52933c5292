"""Random queries that are no points, as many as points and fewer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyopencl.array as cla

from .common import NUMBERS, PLATFORMS, Case, case


class Foreign:
    """``index.count(queries)`` and ``index.query(queries)`` of an index that stands."""

    params = (list(PLATFORMS), ["strips", "fenns", "aabb_tree"], [1, 16, 256], NUMBERS)
    param_names = ("device", "method", "points_of_query", "n")
    timeout = 120
    case: Case
    queries: cla.Array

    def setup(self, device: str, method: str, points_of_query: int, n: int) -> None:
        """Queries in random order, on the device."""
        self.case = case(device, method, "uniform", n, 50)
        queries: Any = np.random.default_rng(1).random((n // points_of_query, 3), dtype=np.float32)
        self.queries = cla.to_device(self.case.session.queue, queries)

    def track_count(self, *_: object) -> float:
        """Device time."""
        return self.case.seconds(lambda: self.case.index.count(self.queries))

    track_count.unit = "seconds"  # type: ignore[attr-defined]

    def track_lists(self, *_: object) -> float:
        """Device time."""
        return self.case.seconds(lambda: self.case.index.query(self.queries))

    track_lists.unit = "seconds"  # type: ignore[attr-defined]
