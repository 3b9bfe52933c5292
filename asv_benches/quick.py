"""Figures of docs/measured/tables: update + count and update + lists on named clouds, as a Markdown table.

With ``--beside``, what a periodic box and a user's function cost beside a bare count, on the uniform clouds; with
``--foreign``, what queries cost there that are no points, in random order; with ``--carried``, what lists cost there
that carry more than numbers; with ``--where``, what a condition on pairs costs there; with ``--kernels``, what each
kernel of a step takes; with ``--ordered``, steps of points that come in the order of space, and of the same ones moved,
beside those in random order.

Device time is the last event's end minus the first event's start, on a queue with profiling; wall time that of the same
step in a session as users have it, or with ``--loop`` its share of a loop whose last step alone is waited for. Points
lie on the device; the median of 20 steps after warm-up. Where events have no times the wall clock stands in.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import click
import numpy as np

import clfrnn

from .benchmarks.common import WARM_UP, has_event_times, in_order, profiled
from .tools.clocks import STEPS, in_a_loop, kernels, milliseconds
from .tools.clouds import LARGE, SMALL, Named, is_uniform, moved
from .tools.queries import print_beside, print_carried, print_conditions, print_foreign
from .tools.steps import steps_of
from .tools.tables import command, head, row, say


class Scipy(NamedTuple):
    """Milliseconds of a cKDTree's build with counts, with lists, and with arrays of pairs in both directions."""

    counts: float
    lists: float
    pairs: float


def scipy_milliseconds(points: Any, radius: float) -> Scipy:
    """As its users ask for them: counts and lists by two workers, pairs by one, as there is no way by more."""
    from scipy.spatial import cKDTree  # noqa: PLC0415 — only where it is asked for

    def pairs_of(tree: Any) -> Any:
        half = tree.query_pairs(radius, output_type="ndarray")
        return np.concatenate((half, half[:, ::-1]))

    def took(ask: Callable[[Any], object]) -> float:
        started = time.perf_counter()
        held = ask(cKDTree(points))
        seconds = time.perf_counter() - started
        del held  # thousands of Python lists are freed behind the clock
        return 1e3 * seconds

    return Scipy(
        took(lambda tree: tree.query_ball_point(points, radius, return_length=True, workers=2)),
        took(lambda tree: tree.query_ball_point(points, radius, workers=2)),
        took(pairs_of),
    )


def print_kernels(session: clfrnn.Session, named: Named, method: str) -> None:
    """The table of what the kernels of a step take."""
    if not has_event_times(session):
        raise click.ClickException(f"--kernels: {session.profile} does not tell how long kernels take")
    say(session, f"method {method}", "kernels in microseconds")
    head("cloud", "step", "in kernels:", "of these")
    for name, make in named.items():
        steps = steps_of(session, *make(), method)
        for what, step in (("count", steps.count), ("lists in blocks" if steps.by_blocks else "lists", steps.lists)):
            times = kernels(session, step, STEPS, WARM_UP)
            each = ", ".join(f"{kernel} {1e3 * taken:.1f}" for kernel, taken in times.items())
            row(name, what, f"{1e3 * sum(times.values()):.1f}", each)


def print_ordered(session: clfrnn.Session, named: Named, method: str) -> None:
    """The table of the order in which points come."""
    say(session, f"method {method}", "kernels in milliseconds")
    orders = ["random", "in order", "in order, then moved"]
    asked = ("counts", "lists", "nearest")
    head("cloud", *(f"{what}: {order}:" if order == "random" else f"{order}:" for what in asked for order in orders))
    for name, make in named.items():
        if not is_uniform(name):
            continue
        points, radius = make()
        ordered = in_order(points, radius)
        times = []
        for each in (points, ordered, moved(ordered, radius)):
            steps = steps_of(session, each, radius, method)
            times.append([milliseconds(session, step).kernels for step in (steps.count, steps.lists, steps.nearest)])
        row(name, *(f"{each:.3f}" for column in zip(*times, strict=True) for each in column))


def print_steps(
    session: clfrnn.Session, named: Named, method: str, options: dict[str, Any], *, with_scipy: bool, loop: bool
) -> None:
    """The table of update + count and update + lists, with scipy's times below ours if they are asked for."""
    plain = clfrnn.Session(session.device)
    say(session, f"method {method}", *options.values())
    head("cloud", "mean neighbors", "update + count, ms", "wall", "update + lists, ms", "wall")
    for name, make in named.items():
        points, radius = make()
        steps = steps_of(session, points, radius, method, **options)
        spans = [milliseconds(session, step).span for step in (steps.count, steps.lists)]
        same = steps_of(plain, points, radius, method, **options)
        walls = [
            in_a_loop(plain, step) if loop else milliseconds(plain, step).wall for step in (same.count, same.lists)
        ]
        cells = [f"{each:.3f}" for both in zip(spans, walls, strict=True) for each in both]
        if steps.by_blocks:
            cells[2:] = [f"{cell}, in blocks" for cell in cells[2:]]
        row(name, f"{steps.neighbors:.2f}", *cells)
        if with_scipy:
            tree, ours = scipy_milliseconds(points, radius), (walls[0], walls[1], walls[1])
            counts, lists, pairs = (f"{ms:.0f} ({ms / own:.1f} x)" for ms, own in zip(tree, ours, strict=True))
            row("scipy, two workers", "", "", counts, "", f"{lists}; in arrays of pairs, one worker: {pairs}")


#: Tables beside the first, by the option that asks for one.
TABLES: dict[str, Callable[[clfrnn.Session, Named, str], None]] = {
    "beside": print_beside,
    "foreign": print_foreign,
    "carried": print_carried,
    "where": print_conditions,
    "ordered": print_ordered,
    "kernels": print_kernels,
}


@command
@click.option("--method", default="auto", show_default=True)
@click.option("--construction", type=click.Choice(["counting", "sort"]))
@click.option("--small", is_flag=True, help="The clouds for CPUs.")
@click.option("--beside", is_flag=True, help="Periodic boxes and a user's function beside a bare count.")
@click.option("--foreign", is_flag=True, help="Queries that are no points.")
@click.option("--carried", is_flag=True, help="Lists with distances, with vectors, and sorted ones.")
@click.option("--where", is_flag=True, help="Counts and lists under a condition on pairs.")
@click.option("--kernels", is_flag=True, help="What each kernel of a step takes.")
@click.option("--ordered", is_flag=True, help="Points that come in order beside those that do not.")
@click.option("--scipy", "with_scipy", is_flag=True, help="scipy's cKDTree beside ours, in the same run.")
@click.option("--loop", is_flag=True, help="Wall times in a loop whose last step alone is waited for.")
def main(
    *,
    device: str | None,
    method: str,
    construction: str | None,
    small: bool,
    with_scipy: bool,
    loop: bool,
    **tables: bool,
) -> None:
    """Measure, and print a Markdown table."""
    named, session = SMALL if small else LARGE, profiled(device)
    asked = next((name for name in TABLES if tables[name]), None)
    if asked:
        TABLES[asked](session, named, method)
    else:
        options = {"construction": construction} if construction else {}
        print_steps(session, named, method, options, with_scipy=with_scipy, loop=loop)


if __name__ == "__main__":
    main()
