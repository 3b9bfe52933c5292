"""Steps of a gas: forces over a list that is made again each twentieth step, and over an index that is updated."""

from __future__ import annotations

import functools
from typing import Any

import clfrnn

from .common import PLATFORMS, Gas, session


@functools.cache
def gas_case(device: str, n: int) -> Gas:
    """A gas, made once, in a session as users have it."""
    return Gas(clfrnn.Session(session(device).device), n)


class Forces:
    """A step of a gas with its forces."""

    params = (list(PLATFORMS), [65_536, 1_000_000])
    param_names = ("device", "n")
    timeout = 300

    def setup(self, device: str, n: int) -> None:
        """Made once, then found again."""
        self.gas = gas_case(device, n)

    def track_listed(self, *_: Any) -> float:
        """With a list."""
        return self.gas.seconds(self.gas.listed)

    track_listed.unit = "seconds"  # type: ignore[attr-defined]

    def track_searched(self, *_: Any) -> float:
        """With an index."""
        return self.gas.seconds(self.gas.searched)

    track_searched.unit = "seconds"  # type: ignore[attr-defined]
