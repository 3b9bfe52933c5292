"""Building an index: survey, plan, bins."""

from __future__ import annotations

from .common import NUMBERS, PLATFORMS, Case, Search, wall_case


class Build(Search):
    """``build_index`` of points on the device, with its waits for the survey."""

    params = (list(PLATFORMS), ["strips", "aabb_tree"], ["uniform"], NUMBERS, [50])
    plain: Case

    def setup(self, device: str, method: str, cloud: str, n: int, neighbors: float) -> None:
        """A case for device times, and one for the wall clock."""
        super().setup(device, method, cloud, n, neighbors)
        self.plain = wall_case(device, method, cloud, n, neighbors)

    def time_build(self, *_: object) -> None:
        """Wall time."""
        self.plain.build()
        self.plain.finish()

    def track_build(self, *_: object) -> float:
        """Device time."""
        return self.case.seconds(self.case.build)

    track_build.unit = "seconds"  # type: ignore[attr-defined]
