"""Limits of a launch: the time that it may take, and the turns of a work-item's loops."""

from __future__ import annotations

import math

from ..errors import NoDeviceError
from ..problem import Problem
from ..profile import DeviceProfile
from ..tuning import Tuning

__all__ = [
    "check_turns",
    "launch_budget",
    "sorts_within_turns",
    "turns_refusal",
]


def launch_budget(profile: DeviceProfile, tuning: Tuning) -> int:
    """The number of pairs that one launch may test: a cautious estimate for the time of a slice."""
    clocks = profile.compute_units * profile.clock * 1_000_000 * profile.unit_lanes
    return max(tuning.runtime.least_budget, clocks // tuning.runtime.clocks_of_pair)


def check_turns(profile: DeviceProfile, *, problem: Problem, side: float, rows: float) -> None:
    """Raise where queries could take more turns through candidates and `rows` of cells than the driver allows.

    A window is wider than the radius by `side`, the side of a cell. Work-items in lockstep take each turn together,
    also where they are in different rows of candidates.
    """
    if profile.loop_turns is None:
        return
    turns = problem.domain.images(problem.radius + side) * (problem.n * profile.simd_width + rows)
    if turns > profile.loop_turns:
        raise turns_refusal(profile, f"a query of {problem.n:,} points could take {turns:,.0f}")


def sorts_within_turns(profile: DeviceProfile, longest: int) -> bool:
    """Whether the driver allows the turns that it takes to sort a row of `longest` neighbors."""
    return profile.loop_turns is None or longest * (math.log2(max(1, longest)) + 2) <= profile.loop_turns


def turns_refusal(profile: DeviceProfile, need: str) -> NoDeviceError:
    """The error about a device that ends loops early; `need` says what takes more turns."""
    return NoDeviceError(
        f"{profile}: its driver ends the loops of a work-item after {profile.loop_turns:,} turns and would lose what "
        f"comes behind; {need}. Take another device of those that clfrnn.devices() lists, or install a driver"
    )
