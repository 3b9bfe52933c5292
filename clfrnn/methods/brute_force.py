"""Brute force: all pairs, tiled through local memory. The oracle on the device, in 1 to 12 dimensions."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np
import pyopencl.array as cla

from ..functions import NeighborFunction
from ..index import Index
from ..planning.configs import TileConfig, VisitVariant
from ..planning.problem import Problem
from ..planning.traversal import plan_tile
from ..planning.tuning import Tuning
from ..primitives.readback import Box, PendingBox
from ..profile import DeviceProfile
from ..runtime.launch_limits import check_turns
from ..runtime.scratch import Scratch
from ..runtime.session import Session

__all__ = ["BruteForce", "BruteForceStructure"]


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

    def plan(self, problem: Problem, profile: DeviceProfile, tuning: Tuning) -> BruteForcePlan:
        """The tile that fits the device."""
        periodic = problem.box is not None
        return BruteForcePlan(config=plan_tile(profile, tuning, dim=problem.dim, real=problem.real, periodic=periodic))

    def build(
        self, session: Session, problem: Problem, points: cla.Array, bounds: PendingBox | None
    ) -> BruteForceStructure:
        """Keep a copy of the points."""
        plan = self.plan(problem, session.profile, session.tuning)
        return BruteForceStructure(session, problem, plan, points, bounds)


class BruteForceStructure(Index):
    """A copy of the points. Cost of a visit: m · n tests."""

    stem: ClassVar[str] = "brute_force"

    def __init__(
        self,
        session: Session,
        problem: Problem,
        plan: BruteForcePlan,
        points: cla.Array,
        bounds: PendingBox | None,
    ) -> None:
        super().__init__(session, problem)
        check_turns(session.profile, problem=problem, side=problem.radius, rows=0)
        self._plan = plan
        self._n = np.int32(self.num_points)
        self._take(points, bounds, problem.survey.low)

    @property
    def config(self) -> TileConfig:
        """See :class:`~clfrnn.methods.traversal.Traversal`."""
        return self._plan.config

    def config_for(self, function: NeighborFunction, variant: VisitVariant) -> TileConfig:  # noqa: ARG002
        """For a user's function no tiles: idle items go through those too, and would run its ``state``."""
        return self.config if function.own else self.config.inline()

    def describe(self) -> list[str]:
        """See :class:`~clfrnn.methods.traversal.Traversal`."""
        return [f"tiles: {self.config.tile} points at a time in local memory"]

    def _place(self, points: cla.Array, bounds: PendingBox, box: Box | None) -> None:
        periodic = self.problem.box
        starts = periodic.starts(box.low, box.high) if periodic is not None and box is not None else self._starts
        self._take(points, bounds, starts)

    def _take(self, points: cla.Array, bounds: PendingBox | None, starts: tuple[float, ...]) -> None:
        """New buffers for new points, so that a query asked before still finds the old ones."""
        session, periodic = self.session, self.problem.box
        copy = session.allocate((self.num_points, self.dim), self.dtype, purpose="the index's copy of the points")
        session.copy(points, copy)
        images = None
        if periodic is not None:
            images = self.images(starts, bounds)
        self._points, self._images, self._starts = copy, images, starts

    def walk_arguments(self) -> tuple[Any, ...]:
        """See :class:`~clfrnn.methods.traversal.Traversal`."""
        images = () if self._images is None else (self._images.base_data,)
        return (self._n, self._points.base_data, *images)

    def _box_starts(self) -> tuple[float, ...]:
        return self._starts

    def _buffers(self) -> dict[str, cla.Array | Scratch]:
        return {"points": self._points, **({} if self._images is None else {"images": self._images})}

    def positions(self) -> cla.Array:
        """See :class:`~clfrnn.methods.structure.SearchStructure`."""
        return self._points

    def _tests_of_query(self) -> float:
        box = self.problem.box
        return self.num_points * (1.0 if box is None else box.images(self.radius))
