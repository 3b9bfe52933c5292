"""Runs: how long a kernel's next launch may take, told from the ones before by the host's clock and without a wait."""

from __future__ import annotations

import dataclasses

import pyopencl as cl

__all__ = ["Runs"]


@dataclasses.dataclass
class Runs:
    """Of a kernel: the run that is watched, when it was enqueued and its units; and what slices have measured."""

    event: cl.Event | None = None
    began: float = 0.0
    units: int = 1
    due: float = 0.0
    #: seconds of a unit
    pace: float = 0.0
    #: seconds between two launches in which the device was found to have been idle
    idle: float = 0.0

    def foreseen(self, units: int, now: float, limit: float, pause: float) -> float:
        """Seconds that `units` take, as far as is known; more than `limit` where only slices can tell.

        A run is looked at once in a `pause` of some seconds.

        A run that is over took no longer than the time since it was enqueued. If that was too long, slices find out
        whether the caller was idle, and are believed about times up to twice as long, by half after each short run.
        """
        known = self.pace * units
        if self.event is None or now < self.due:
            return known
        self.due = now + pause
        passed = now - self.began
        if self.event.command_execution_status != cl.command_execution_status.COMPLETE:
            return max(known, passed)
        self.event = None
        most = passed * max(1.0, units / self.units)
        if most <= limit:
            self.idle /= 2
        elif passed > 2 * self.idle:
            self.idle = passed
            return most
        return known

    def watch(self, event: cl.Event | None, units: int, now: float) -> None:
        """A launch of `units` was enqueued after `now`: it is watched unless another one still is."""
        if self.event is None:
            self.event, self.began, self.units = event, now, units

    def measured(self, units: int, seconds: float, limit: float) -> None:
        """Slices of `units` took so many seconds in all."""
        self.event, self.pace = None, seconds / units
        if seconds > limit:
            self.idle = 0.0
