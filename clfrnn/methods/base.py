"""The protocol of a method: from a problem to a plan, from a plan to a search structure."""

from __future__ import annotations

from typing import Any, Protocol

from ..config import KernelConfig
from ..points.argument_types import MethodName
from ..points.deferred_checks import DeferredChecks
from ..problem import Problem
from ..profile import DeviceProfile
from ..runtime.session import Session
from ..tuning import Tuning
from .structure import NewPoints, SearchStructure

__all__ = ["Method", "MethodPlan"]


class MethodPlan(Protocol):
    """The plan of a method for a problem, which holds at least a config."""

    @property
    def config(self) -> KernelConfig:
        """The config that the method's programs are compiled for."""


class Method(Protocol):
    """A method of searching; tests and the command line know it by its name."""

    name: MethodName
    #: the stem of the template that holds its walk
    stem: str
    dims: frozenset[int]
    #: the names of the method's options
    options: frozenset[str]
    #: whether the plan depends on the crowding of the points
    surveys_occupancy: bool
    #: combinations of options that select different code; verification and tests try each of them
    variations: tuple[dict[str, Any], ...]

    def check(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return the options with defaults filled in; raise for an invalid value."""

    def plan(self, problem: Problem, profile: DeviceProfile, tuning: Tuning) -> MethodPlan:
        """Plan from facts alone, without a device."""

    def refit(self, plan: Any, problem: Problem, profile: DeviceProfile, tuning: Tuning) -> Any | None:
        """The plan for another number of points or another box, with the kernels of `plan`.

        None where these cannot serve, or where points have outgrown the survey that they were planned from. From facts
        alone, as :meth:`plan`.
        """

    def arrange(
        self,
        session: Session,
        problem: Problem,
        checks: DeferredChecks,
        plan: Any,
        *,
        new: NewPoints,
    ) -> SearchStructure:
        """The structure of a plan; points have bounds where the survey found these or an axis is periodic."""

    def build(
        self,
        session: Session,
        problem: Problem,
        checks: DeferredChecks,
        plan: Any,
        *,
        new: NewPoints,
    ) -> SearchStructure:
        """The same as :meth:`arrange` on most methods; it may plan anew by what the structure finds of the points."""
