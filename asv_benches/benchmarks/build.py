"""Building an index: survey, plan, bins."""

from __future__ import annotations

from .common import NUMBERS, PLATFORMS, Search


class Build(Search):
    """``build_index`` of points on the device, with its waits for the survey."""

    params = (list(PLATFORMS), ["strips", "aabb_tree"], ["uniform"], NUMBERS, [50])

    def time_build(self, *_: object) -> None:
        """Wall time."""
        self.case.build()
        self.case.finish()

    def track_build(self, *_: object) -> float:
        """Device time."""
        return self.case.seconds(self.case.build)

    track_build.unit = "seconds"  # type: ignore[attr-defined]
