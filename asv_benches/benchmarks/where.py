"""Counts and lists under a condition on pairs, beside those of `count` and `lists`."""

from __future__ import annotations

from .common import PLATFORMS, Uniform, conditions

TEXTS = ["plain", "1", "kind[i] != kind[j]", "d2 > inner2"]


class Where(Uniform):
    """``index.count(where=...)`` and ``index.query(where=...)`` of an index that stands."""

    params = (list(PLATFORMS), ["strips", "aabb_tree"], ["uniform"], [1_048_576], [50], TEXTS)
    param_names = (*Uniform.param_names, "condition")

    def setup(self, device: str, method: str, cloud: str, n: int, neighbors: float, text: str) -> None:  # type: ignore[override]
        """A kind for each point on the device."""
        super().setup(device, method, cloud, n, neighbors)
        self.where = conditions(self.case.session, n, self.case.radius)[text]

    def track_count(self, *_: object) -> float:
        """Device time."""
        return self.case.seconds(lambda: self.case.index.count(where=self.where))

    track_count.unit = "seconds"  # type: ignore[attr-defined]

    def track_query(self, *_: object) -> float:
        """Device time."""
        return self.case.seconds(lambda: self.case.index.query(where=self.where))

    track_query.unit = "seconds"  # type: ignore[attr-defined]
