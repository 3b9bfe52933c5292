"""Where the wall time of small steps goes, as a Markdown table: to the driver, to waiting, or to Python.

Microseconds of an update with counts and of one with lists, in a session as users have it: each waited for at its
end, or in a loop that is waited for at its end alone. Calls of the driver are timed one by one on the host's clock;
what is left of a step is Python's, pyopencl's setting of arguments included. Columns are means over the middle half
of 200 steps by their wall time, or of 10 loops of 20, so that they add up. Time in kernels is the device's, which works
meanwhile.
"""

from __future__ import annotations

import collections
import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import click
import numpy as np
import pyopencl as cl

import clfrnn

from ..benchmarks.common import WARM_UP, has_event_times, profiled
from .clocks import STEPS, Step, milliseconds
from .clouds import LARGE
from .steps import steps_of
from .tables import command, head, row, say

#: What a step asks the driver for, by what it is called in the table.
CALLS: dict[str, list[tuple[Any, str]]] = {
    "launches": [(cl, "enqueue_nd_range_kernel")],
    "copies": [(cl, "enqueue_copy")],
    "submitting": [(cl.CommandQueue, "flush")],
    "waiting": [(cl.CommandQueue, "finish"), (cl.Event, "wait")],
}

#: Steps that are waited for, and loops of some.
WAITED, LOOPS = 200, 10

#: Clouds whose kernels are through before Python has asked for the next, or about as soon.
NAMES = [name for name in LARGE if name.startswith(("65,536", "262,144", "1.05 M, 3 n", "1.05 M, 200"))]


class Ledger:
    """Seconds on the host's clock by what they went to, and how often it was asked for."""

    def __init__(self) -> None:
        self.seconds: collections.Counter[str] = collections.Counter()
        self.calls: collections.Counter[str] = collections.Counter()
        #: seconds of calls within the one that is running, which are not its own
        self._within = 0.0

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """Time what the library asks the driver for meanwhile."""
        with contextlib.ExitStack() as stack:
            for what, places in CALLS.items():
                for owner, name in places:
                    called = getattr(owner, name)
                    setattr(owner, name, self._timed(what, called))
                    stack.callback(setattr, owner, name, called)
            yield

    def _timed(self, what: str, called: Callable[..., Any]) -> Callable[..., Any]:
        clock, seconds, calls = time.perf_counter, self.seconds, self.calls

        def timed(*arguments: Any, **options: Any) -> Any:
            before, self._within = self._within, 0.0
            began = clock()
            try:
                return called(*arguments, **options)
            finally:
                taken = clock() - began
                seconds[what] += taken - self._within
                calls[what] += 1
                self._within = before + taken

        return timed


def split(session: clfrnn.Session, step: Step, *, waited: int, many: int) -> tuple[float, Ledger]:
    """The wall time of a step, and what it went to; of `many` measurements of `waited` steps the middle half."""
    found: list[tuple[float, Ledger]] = []
    for _ in range(WARM_UP):
        step()
    for _ in range(many):
        session.queue.finish()
        ledger = Ledger()
        with ledger.kept():
            began = time.perf_counter()
            for _ in range(waited):
                held = step()
            session.queue.finish()
            found.append((time.perf_counter() - began, ledger))
        del held
    found.sort(key=lambda each: each[0])
    middle = found[many // 4 : many - many // 4]
    mean, steps = Ledger(), waited * len(middle)
    for _, ledger in middle:
        mean.seconds.update({what: taken / steps for what, taken in ledger.seconds.items()})
        mean.calls.update(ledger.calls)
    mean.calls = collections.Counter({what: round(times / steps) for what, times in mean.calls.items()})
    return sum(wall for wall, _ in middle) / steps, mean


def cells_of(wall: float, ledger: Ledger) -> list[str]:
    """The cells of a step: its wall time, what the driver took of it, and what is left."""
    cells = [f"{1e6 * wall:.0f}"]
    for what in CALLS:
        times = f" ({ledger.calls[what]})" if what in {"launches", "copies"} else ""
        cells.append(f"{1e6 * ledger.seconds[what]:.0f}{times}")
    return [*cells, f"{1e6 * (wall - sum(ledger.seconds.values())):.0f}"]


@command
@click.option("--scale", default=1, show_default=True, help="Clouds of one point in so many, for slow devices.")
def main(*, device: str | None, scale: int) -> None:
    """Measure, and print a Markdown table."""
    timed = profiled(device)
    session = clfrnn.Session(timed.device)
    say(session, "microseconds")
    head("cloud", "step", "in kernels:", "wall:", *(f"{what}:" for what in CALLS), "Python:")
    for name in NAMES:
        points, radius = LARGE[name]()
        points, radius = np.ascontiguousarray(points[::scale]), radius * scale ** (1 / 3)
        asked, clocked = (steps_of(each, points, radius) for each in (session, timed))
        for what, step, same in (("count", asked.count, clocked.count), ("lists", asked.lists, clocked.lists)):
            kernels = f"{1e3 * milliseconds(timed, same).kernels:.0f}" if has_event_times(timed) else ""
            alone = split(session, step, waited=1, many=WAITED)
            in_loop = split(session, step, waited=STEPS, many=LOOPS)
            row(name, what, kernels, *cells_of(*alone))
            row(name, f"{what}, in a loop", kernels, *cells_of(*in_loop))


if __name__ == "__main__":
    main()
