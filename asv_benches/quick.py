"""The figures of docs/performance.md: update + count and update + lists on named clouds, as a Markdown table.

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

import collections
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import click
import numpy as np
import pyopencl.array as cla

import clfrnn
from clfrnn.errors import ClfrnnError

from .benchmarks.common import WARM_UP, Seconds, has_event_times, in_order, profiled
from .conditions import print_conditions
from .named import LARGE, SMALL, STEPS, Step, is_uniform, milliseconds, moved
from .provenance import say
from .queries import print_beside, print_carried, print_foreign

#: Longer lists are asked for in blocks of so many bytes.
MOST_PAIRS, BLOCK = 1 << 30, 1 << 32


class Steps(NamedTuple):
    """What is measured of a cloud: neighbors of a point, and updates with each kind of query, lists maybe by blocks."""

    neighbors: float
    count: Step
    lists: Step
    by_blocks: bool
    nearest: Step


def steps_of(session: clfrnn.Session, points: Any, radius: float, method: str, options: dict[str, Any]) -> Steps:
    """Of an index over points on the device; lists that are too long for memory by blocks."""
    on_device = cla.to_device(session.queue, points)
    index = clfrnn.build_index(on_device, radius, method=method, session=session, **options)
    pairs = int(index.count().get().sum(dtype=np.int64))
    assert pairs > 0, "a benchmark that finds nothing measures nothing"

    def count() -> object:
        index.update(on_device)
        return index.count()

    def lists() -> object:
        index.update(on_device)
        return index.query()

    def nearest() -> object:
        index.update(on_device)
        return index.nearest()

    def blocks() -> object:
        index.update(on_device)
        return sum(part.num_pairs for part in index.query_blocks(max_bytes=BLOCK))

    by_blocks = pairs > MOST_PAIRS
    return Steps(pairs / len(points), count, blocks if by_blocks else lists, by_blocks, nearest)


class Measured(NamedTuple):
    """Neighbors of a point, and milliseconds of an update with counts and with lists, by blocks or not."""

    neighbors: float
    count: Seconds
    lists: Seconds
    by_blocks: bool


def measure(
    session: clfrnn.Session,
    points: Any,
    radius: float,
    method: str,
    options: dict[str, Any],
    *,
    loop: bool = False,
) -> Measured:
    """The steps of a cloud."""
    steps = steps_of(session, points, radius, method, options)
    clock = in_a_loop if loop else milliseconds
    return Measured(steps.neighbors, clock(session, steps.count), clock(session, steps.lists), steps.by_blocks)


def in_a_loop(session: clfrnn.Session, step: Step) -> Seconds:
    """The wall time of a step in a loop that is waited for at its end, the median of five."""
    loops = []
    for _ in range(6):
        session.queue.finish()
        started = time.perf_counter()
        for _ in range(STEPS):
            step()
        session.queue.finish()
        loops.append(1e3 * (time.perf_counter() - started) / STEPS)
    return Seconds(*[statistics.median(loops[1:])] * 3)


def microseconds(session: clfrnn.Session, step: Step) -> dict[str, float]:
    """The median time of each kernel of a step, in their order; of those launched more than once the sum."""
    steps: list[dict[str, float]] = []
    for _ in range(WARM_UP + STEPS):
        with session.recorded() as launches:
            held = step()
        session.queue.finish()
        del held
        kernels: dict[str, float] = collections.defaultdict(float)
        for name, event in launches:
            kernels[name] += 1e-3 * (event.profile.end - event.profile.start)
        steps.append(kernels)
    return {name: statistics.median(each[name] for each in steps[WARM_UP:] if name in each) for name in steps[-1]}


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


def print_kernels(session: clfrnn.Session, named: dict[str, Callable[[], tuple[Any, float]]], method: str) -> None:
    """The table of what the kernels of a step take."""
    say(session, f"method {method}", "kernels in microseconds")
    click.echo("| cloud | step | in kernels | of these |")
    click.echo("|---|---|---:|---|")
    for name, make in named.items():
        points, radius = make()
        steps = steps_of(session, points, radius, method, {})
        asked = {"count": steps.count, "lists in blocks" if steps.by_blocks else "lists": steps.lists}
        for what, step in asked.items():
            kernels = microseconds(session, step)
            each = ", ".join(f"{kernel} {time:.1f}" for kernel, time in kernels.items())
            click.echo(f"| {name} | {what} | {sum(kernels.values()):.1f} | {each} |")


def print_ordered(session: clfrnn.Session, named: dict[str, Callable[[], tuple[Any, float]]], method: str) -> None:
    """The table of the order in which points come."""
    say(session, f"method {method}", "kernels in milliseconds")
    orders = ["random", "in order", "in order, then moved"]
    heads = [f"{what}: {' | '.join(orders)}" for what in ("counts", "lists", "nearest")]
    click.echo(f"| cloud | {' | '.join(heads)} |\n|---|{3 * len(orders) * '---:|'}")
    for name, make in named.items():
        if not is_uniform(name):
            continue
        points, radius = make()
        ordered = in_order(points, radius)
        times = []
        for each in (points, ordered, moved(ordered, radius)):
            steps = steps_of(session, each, radius, method, {})
            times.append([milliseconds(session, step).kernels for step in (steps.count, steps.lists, steps.nearest)])
        click.echo(
            f"| {name} | {' | '.join(f'{each:.3f}' for column in zip(*times, strict=True) for each in column)} |"
        )


def print_steps(
    session: clfrnn.Session,
    named: dict[str, Callable[[], tuple[Any, float]]],
    method: str,
    options: dict[str, Any],
    *,
    with_scipy: bool,
    loop: bool,
) -> None:
    """The table of update + count and update + lists, with scipy's times below ours if they are asked for."""
    plain = clfrnn.Session(session.device)
    say(session, f"method {method}", *options.values())
    click.echo("| cloud | mean neighbors | update + count, ms | wall | update + lists, ms | wall |")
    click.echo("|---|---|---|---|---|---|")
    for name, make in named.items():
        points, radius = make()
        device = measure(session, points, radius, method, options)
        wall = measure(plain, points, radius, method, options, loop=loop)
        times = [device.count.span, wall.count.wall, device.lists.span, wall.lists.wall]
        cells = [f"{value:.3f}" for value in times]
        if device.by_blocks:
            cells[2:] = [f"{cell}, in blocks" for cell in cells[2:]]
        click.echo(f"| {name} | {device.neighbors:.2f} | " + " | ".join(cells) + " |")
        if with_scipy:
            tree = scipy_milliseconds(points, radius)
            counts, lists, pairs = (
                f"{ms:.0f} ({ms / ours:.1f} x)" for ms, ours in zip(tree, (times[1], times[3], times[3]), strict=True)
            )
            click.echo(f"| scipy, two workers | | | {counts} | | {lists}; in arrays of pairs, one worker: {pairs} |")


@click.command()
@click.option("--device", help="As for `clfrnn search`.")
@click.option("--method", default="auto", show_default=True)
@click.option("--construction", type=click.Choice(["counting", "sort"]))
@click.option("--small", is_flag=True, help="The clouds for CPUs.")
@click.option("--beside", "compared", is_flag=True, help="Periodic boxes and a user's function beside a bare count.")
@click.option("--foreign", "by_others", is_flag=True, help="Queries that are no points.")
@click.option("--carried", "by_contents", is_flag=True, help="Lists with distances, with vectors, and sorted ones.")
@click.option("--where", "by_condition", is_flag=True, help="Counts and lists under a condition on pairs.")
@click.option("--kernels", "by_kernel", is_flag=True, help="What each kernel of a step takes.")
@click.option("--ordered", "by_order", is_flag=True, help="Points that come in order beside those that do not.")
@click.option("--scipy", "with_scipy", is_flag=True, help="scipy's cKDTree beside ours, in the same run.")
@click.option("--loop", is_flag=True, help="Wall times in a loop whose last step alone is waited for.")
def main(
    *,
    device: str | None,
    method: str,
    construction: str | None,
    small: bool,
    compared: bool,
    by_others: bool,
    by_contents: bool,
    by_condition: bool,
    by_kernel: bool,
    by_order: bool,
    with_scipy: bool,
    loop: bool,
) -> None:
    """Measure, and print a Markdown table."""
    named = SMALL if small else LARGE
    try:
        session = profiled(device)
        if compared:
            print_beside(session, named, method)
        elif by_others:
            print_foreign(session, named, method)
        elif by_contents:
            print_carried(session, named, method)
        elif by_condition:
            print_conditions(session, named, method)
        elif by_order:
            print_ordered(session, named, method)
        elif by_kernel:
            if not has_event_times(session):
                raise click.ClickException(f"--kernels: {session.profile} does not tell how long kernels take")
            print_kernels(session, named, method)
        else:
            options = {"construction": construction} if construction else {}
            print_steps(session, named, method, options, with_scipy=with_scipy, loop=loop)
    except ClfrnnError as error:
        raise click.ClickException(str(error)) from error


if __name__ == "__main__":
    main()
