"""Run: how long a kernel took the last time that anybody looked."""

from __future__ import annotations

import dataclasses

import pyopencl as cl

__all__ = ["Run"]

#: Of runs that were short, so many are not looked at before the next is: asking drivers takes a third of a launch.
_UNTIMED = 3

_STARTED, _ENDED = cl.profiling_info.START, cl.profiling_info.END


@dataclasses.dataclass
class Run:
    """A run of a kernel: its event until that was looked at, then its seconds; its units; those to come untimed."""

    event: cl.Event | None
    seconds: float
    units: int
    untimed: int = 0

    def foreseen(self, units: int, *, short: float) -> float:
        """Seconds that `units` take at its pace; 0 while it is still on its way. `short` is what others need not be."""
        if self.event is not None:
            if self.event.command_execution_status != cl.command_execution_status.COMPLETE:
                return 0.0
            ended, started = (self.event.get_profiling_info(what) for what in (_ENDED, _STARTED))
            self.event, self.seconds = None, 1e-9 * (ended - started)
            self.untimed = _UNTIMED if self.seconds < short else 0
        return self.seconds * units / max(1, self.units)
