"""Brute force: all pairs, tiled through local memory. The oracle on the device, in 1 to 12 dimensions."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np
import pyopencl.array as cla

from ..plan import Problem, TileConfig, plan_tile
from ..primitives.reduce import Box
from ..profile import DeviceProfile
from ..session import Session
from .index import Index

__all__ = ["BruteForce", "BruteForceIndex"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class BruteForcePlan:
    """Nothing but what is compiled in."""

    config: TileConfig


class BruteForce:
    """The method: every query looks at every point."""

    name = "brute_force"
    dims = frozenset(range(1, 13))
    options: frozenset[str] = frozenset()
    surveys_occupancy = False
    variations: tuple[dict[str, Any], ...] = ({},)

    def check(self, options: dict[str, Any]) -> dict[str, Any]:
        """There are no options."""
        return options

    def plan(self, problem: Problem, profile: DeviceProfile) -> BruteForcePlan:
        """The tile that fits the device."""
        return BruteForcePlan(config=plan_tile(profile, dim=problem.dim, real=problem.real))

    def build(self, session: Session, problem: Problem, points: cla.Array) -> BruteForceIndex:
        """Keep a copy of the points."""
        return BruteForceIndex(session, problem, self.plan(problem, session.profile), points)


class BruteForceIndex(Index):
    """A copy of the points. Cost of a visit: m · n tests."""

    stem: ClassVar[str] = "brute_force"

    def __init__(self, session: Session, problem: Problem, plan: BruteForcePlan, points: cla.Array) -> None:
        super().__init__(session, problem)
        self._plan = plan
        self._points = session.allocate((problem.n, problem.dim), self.dtype, purpose="the index's copy of the points")
        self._place(points, None)

    @property
    def _config(self) -> TileConfig:
        return self._plan.config

    def _place(self, points: cla.Array, box: Box | None) -> None:  # noqa: ARG002
        self.session.copy(points, self._points)

    def _walk_arguments(self) -> list[Any]:
        return [np.int32(self.num_points), self._points.base_data]

    def _tests(self, m: int) -> float:
        return float(m) * self.num_points
