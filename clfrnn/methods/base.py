"""The protocol of a method: from a problem to a plan, from a plan to a search structure."""

from __future__ import annotations

from typing import Any, Protocol

import pyopencl.array as cla

from ..inputs.deferred_checks import DeferredChecks
from ..planning.configs import KernelConfig
from ..planning.problem import Problem
from ..primitives.readback import PendingBox
from ..profile import DeviceProfile
from ..runtime.session import Session
from .structure import SearchStructure

__all__ = ["Method", "MethodPlan"]


class MethodPlan(Protocol):
    """What a method decided for a problem: at least what is compiled in."""

    @property
    def config(self) -> KernelConfig:
        """What the method's programs are specialised by."""


class Method(Protocol):
    """A way to search. Its name is also its test id and its choice on the command line."""

    name: str
    dims: frozenset[int]
    #: the names of the method's options
    options: frozenset[str]
    #: whether its plan depends on how crowded the cells around points are
    surveys_occupancy: bool
    #: options under which its code differs: what verification and tests go through
    variations: tuple[dict[str, Any], ...]

    def check(self, options: dict[str, Any]) -> dict[str, Any]:
        """The options with defaults filled in; an error for a value that makes no sense."""

    def plan(self, problem: Problem, profile: DeviceProfile) -> MethodPlan:
        """Decide, from facts alone: pure, needs no device."""

    def build(
        self, session: Session, problem: Problem, checks: DeferredChecks, points: cla.Array, bounds: PendingBox | None
    ) -> SearchStructure:
        """The structure over `points`, whose `bounds` are known where the survey needed them, or an axis is periodic."""
