"""Brute force: every query tests every point, in 1 to 12 dimensions; the reference on the device."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, ClassVar

import numpy as np
import pyopencl.array as cla

from ...config import TileConfig, VisitVariant
from ...functions import WalkFunction
from ...points.argument_types import MethodName
from ...points.deferred_checks import DeferredChecks
from ...primitives.readback import Box
from ...problem import Problem
from ...profile import DeviceProfile
from ...runtime.launch_limits import check_turns
from ...runtime.scratch import Scratch
from ...runtime.session import Session
from ...tuning import Tuning
from ..domain_tables.tables import Images
from ..structure import NewPoints, SearchStructure
from ..walk_plan import plan_tile

__all__ = ["BruteForce", "BruteForceStructure"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class BruteForcePlan:
    """The config alone."""

    config: TileConfig


class BruteForce:
    """The method: every query tests every point."""

    name: MethodName = "brute_force"
    stem = "methods/brute_force/brute_force"
    dims = frozenset(range(1, 13))
    options: frozenset[str] = frozenset()
    surveys_occupancy = False
    variations: tuple[dict[str, Any], ...] = ({},)

    def check(self, options: dict[str, Any]) -> dict[str, Any]:
        """There are no options to check."""
        return options

    def plan(self, problem: Problem, profile: DeviceProfile, tuning: Tuning) -> BruteForcePlan:
        """Plan the tile that fits the device."""
        facts: dict[str, Any] = {"dim": problem.dim, "real": problem.real, "periodic": problem.periodic}
        return BruteForcePlan(config=plan_tile(profile, tuning, **facts))

    def refit(
        self,
        plan: BruteForcePlan,
        problem: Problem,  # noqa: ARG002
        profile: DeviceProfile,  # noqa: ARG002
        tuning: Tuning,  # noqa: ARG002
    ) -> BruteForcePlan:
        """The same tile serves any points."""
        return plan

    def arrange(
        self,
        session: Session,
        problem: Problem,
        checks: DeferredChecks,
        plan: BruteForcePlan,
        *,
        new: NewPoints,
    ) -> BruteForceStructure:
        """Copy the points."""
        return BruteForceStructure(session, problem, checks, plan, new=new)

    build = arrange


class BruteForceStructure(SearchStructure):
    """A copy of the points. Cost of a visit: m · n tests."""

    stem: ClassVar[str] = BruteForce.stem

    def __init__(
        self,
        session: Session,
        problem: Problem,
        checks: DeferredChecks,
        plan: BruteForcePlan,
        *,
        new: NewPoints,
    ) -> None:
        super().__init__(session, problem, checks)
        check_turns(session.profile, problem=problem, side=problem.radius, rows=0)
        self._plan = plan
        self._n = np.int32(problem.n)
        self._points, self._images = self._copy(new, problem.starts)

    def _copy(self, new: NewPoints, starts: tuple[float, ...]) -> tuple[cla.Array, Images]:
        """Copy new points to new buffers, so that earlier requests still refer to the old ones."""
        shape = self.problem.n, self.problem.dim
        copy = self.session.allocate(shape, self.dtype, purpose="the index's copy of the points")
        self.session.copy(new.points, copy)
        return copy, new.tables.images(starts, new.bounds)

    def update(self, new: NewPoints, box: Box | None) -> str:
        starts = self._images.starts if box is None else self.problem.space.starts(box.low, box.high)
        self._points, self._images = self._copy(new, starts)
        return "rebuilt"

    def arguments(self) -> tuple[Any, ...]:
        return (self._n, self._points.base_data, *self._images.arguments)

    @property
    def images(self) -> Images:
        return self._images

    def buffers(self) -> dict[str, cla.Array | Scratch]:
        images = self._images.table
        return {"points": self._points, **({} if images is None else {"images": images})}

    def positions(self) -> cla.Array:
        return self._points

    def describe(self) -> list[str]:
        return [f"tiles: {self.config.tile} points at a time in local memory"]

    @property
    def config(self) -> TileConfig:
        return self._plan.config

    def config_for(self, function: WalkFunction, variant: VisitVariant) -> TileConfig:  # noqa: ARG002
        """No tiles for a user's function, as idle work-items go through tiles too and would run its ``state``."""
        return self.config if function.own else self.config.inline()

    @functools.cached_property
    def tests_of_query(self) -> float:
        return self.problem.n * self.problem.images
