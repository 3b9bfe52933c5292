"""Runs: estimates the time of a kernel's next launch from earlier launches, by the host's clock and without waiting."""

from __future__ import annotations

import dataclasses

import pyopencl as cl

__all__ = ["Runs"]


@dataclasses.dataclass
class Runs:
    """The observed run of one kernel, and the times that slices have measured.

    ``event``, ``began`` and ``units`` are those of the observed run, which is read again from the time ``due`` on.
    """

    event: cl.Event | None = None
    began: float = 0.0
    units: int = 1
    due: float = 0.0
    #: seconds for each unit, as slices have measured
    pace: float = 0.0
    #: seconds between two launches during which the device was idle, as slices have found
    idle: float = 0.0

    def expected(self, units: int, now: float, limit: float, pause: float) -> float:
        """The expected seconds of a launch of `units`; more than `limit` where only slices can measure them.

        The state of the observed run is read once in `pause` seconds. A run that is complete took no longer than the
        time since it was enqueued. If that was too long, the caller may have been idle, and slices measure whether it
        was; times up to twice as long are then taken for idle time, which is halved after each short run.
        """
        measured_time = self.pace * units
        if self.event is None or now < self.due:
            return measured_time
        self.due = now + pause
        passed = now - self.began
        if self.event.command_execution_status != cl.command_execution_status.COMPLETE:
            return max(measured_time, passed)
        self.event = None
        most = passed * max(1.0, units / self.units)
        if most <= limit:
            self.idle /= 2
        elif passed > 2 * self.idle:
            self.idle = passed
            return most
        return measured_time

    def observe(self, event: cl.Event | None, units: int, now: float) -> None:
        """Observe a launch of `units` that was enqueued after `now`, unless another launch is observed."""
        if self.event is None:
            self.event, self.began, self.units = event, now, units

    def measured(self, units: int, seconds: float, limit: float) -> None:
        """Note that slices of `units` took so long in all."""
        self.event, self.pace = None, seconds / units
        if seconds > limit:
            self.idle = 0.0
