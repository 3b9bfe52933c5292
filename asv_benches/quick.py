"""The figures of docs/performance.md: update + count and update + lists on named clouds, as a Markdown table.

With ``--beside``, what a periodic box and a user's function cost beside a bare count, on the uniform clouds; with
``--kernels``, what each kernel of a step takes.

Device time is the last event's end minus the first event's start, on a queue with profiling; wall time that of the same
step in a session as users have it, or with ``--loop`` its share of a loop whose last step alone is waited for. Points
lie on the device; the median of 20 steps after warm-up. Where events have no times the wall clock stands in.
"""

from __future__ import annotations

import collections
import statistics
import time
from collections.abc import Callable
from typing import Any

import click
import numpy as np
import pyopencl.array as cla

import clfrnn
from clfrnn import clouds
from clfrnn.errors import ClfrnnError

from .benchmarks.common import WARM_UP, Seconds, has_event_times, profiled, timed, uniform_radius
from .benchmarks.visit import DENSITY

STEPS = 20

#: Longer lists are asked for in blocks.
MOST_PAIRS = 1 << 30


def cube(n: int, side: float = 1.0) -> np.ndarray[Any, Any]:
    """A uniform cloud of fixed seed."""
    return np.random.default_rng(0).random((n, 3), dtype=np.float32) * np.float32(side)


#: name -> (cloud, radius); large ones for GPUs, small ones for CPUs
LARGE: dict[str, Callable[[], tuple[Any, float]]] = {
    "4.19 M in 180³, r 0.2": lambda: (cube(1 << 22, 180), 0.2),
    "4.19 M in 180³, r 0.5": lambda: (cube(1 << 22, 180), 0.5),
    "4.19 M in 180³, r 0.8": lambda: (cube(1 << 22, 180), 0.8),
    "4.19 M in 180³, r 1.0": lambda: (cube(1 << 22, 180), 1.0),
    "1.05 M, 49 neighbors": lambda: (cube(1 << 20), uniform_radius(1 << 20, 48.7)),
    "1.05 M, 145 neighbors": lambda: (cube(1 << 20), uniform_radius(1 << 20, 144.6)),
    "1.05 M, 200 clusters of width 0.002, r 0.0005": lambda: (clouds.clustered(1 << 20), 0.0005),
    "1.05 M, 200 clusters of width 0.002, r 0.0002": lambda: (clouds.clustered(1 << 20), 0.0002),
    "1.05 M, thin shell, 50 neighbors": lambda: (clouds.shell(1 << 20), 0.00552),
    "1.05 M, 3 neighbors": lambda: (cube(1 << 20), uniform_radius(1 << 20, 3)),
    "16.8 M, 3 neighbors": lambda: (cube(1 << 24), uniform_radius(1 << 24, 3)),
    "1.05 M, three decades of scale, r 0.0002": lambda: (clouds.multiscale(1 << 20, 3, seed=1), 0.0002),
    "65,536, 3 neighbors": lambda: (cube(1 << 16), uniform_radius(1 << 16, 3)),
    "65,536, 47 neighbors": lambda: (cube(1 << 16), uniform_radius(1 << 16, 47)),
}
SMALL: dict[str, Callable[[], tuple[Any, float]]] = {
    "262,144, 3 neighbors": lambda: (cube(1 << 18), uniform_radius(1 << 18, 3)),
    "262,144, 48 neighbors": lambda: (cube(1 << 18), uniform_radius(1 << 18, 48)),
    "262,144, 145 neighbors": lambda: (cube(1 << 18), uniform_radius(1 << 18, 145)),
    "65,536, 3 neighbors": LARGE["65,536, 3 neighbors"],
}


Step = Callable[[], object]


def steps_of(
    session: clfrnn.Session, points: Any, radius: float, method: str, options: dict[str, Any]
) -> tuple[float, Step, Step | None]:
    """Neighbors, and an update with counts and with lists, unless these are too long for memory."""
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

    return pairs / len(points), count, lists if pairs <= MOST_PAIRS else None


def measure(
    session: clfrnn.Session,
    points: Any,
    radius: float,
    method: str,
    options: dict[str, Any],
    *,
    loop: bool = False,
) -> tuple[float, Seconds, Seconds | None]:
    """Neighbors, and the milliseconds of update + count and of update + lists, unless these are too long for memory."""
    neighbors, count, lists = steps_of(session, points, radius, method, options)
    clock = in_a_loop if loop else milliseconds
    return neighbors, clock(session, count), clock(session, lists) if lists is not None else None


def milliseconds(session: clfrnn.Session, step: Step) -> Seconds:
    """Median times of a step."""
    return Seconds(*(1e3 * seconds for seconds in timed(session, step, STEPS)))


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


def beside(session: clfrnn.Session, points: Any, radius: float, side: float, method: str) -> list[Any]:
    """Neighbors, and the milliseconds of count, lists and nearest, each also periodic, and of an SPH density."""
    on_device = cla.to_device(session.queue, points)
    mass = cla.to_device(session.queue, np.ones(len(points), points.dtype))
    density = cla.empty_like(mass)
    plain = clfrnn.build_index(on_device, radius, method=method, session=session)
    box = (side,) * points.shape[1]
    periodic = clfrnn.build_index(on_device, radius, method=method, session=session, box=box, periodic=True)
    pairs = plain.query().num_pairs
    assert pairs > 0, "a benchmark that finds nothing measures nothing"
    asked: list[Step] = [
        plain.count,
        periodic.count,
        plain.query,
        periodic.query,
        plain.nearest,
        periodic.nearest,
        lambda: plain.visit(DENSITY, h2=radius * radius, mass=mass, density=density),
    ]
    return [pairs / len(points), *(milliseconds(session, step).span for step in asked)]


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


def scipy_milliseconds(points: Any, radius: float) -> tuple[float, float]:
    """Build + count of a cKDTree on two workers, and build + directed pairs in an array, which it finds on one.

    `query_ball_point` would have two workers for lists as well, but makes a Python list for each point, and is slower.
    """
    from scipy.spatial import cKDTree  # noqa: PLC0415 — only where it is asked for

    started = time.perf_counter()
    tree = cKDTree(points)
    build = time.perf_counter() - started
    started = time.perf_counter()
    tree.query_ball_point(points, radius, return_length=True, workers=2)
    count = time.perf_counter() - started
    started = time.perf_counter()
    half = tree.query_pairs(radius, output_type="ndarray")
    np.concatenate((half, half[:, ::-1]))
    return 1e3 * (build + count), 1e3 * (build + time.perf_counter() - started)


def print_beside(session: clfrnn.Session, named: dict[str, Callable[[], tuple[Any, float]]], method: str) -> None:
    """The table of what a periodic box and a user's function cost, with ratios to their plain counterparts."""
    click.echo(f"clfrnn {clfrnn.__version__}, {session.profile}, method {method}\n")
    click.echo("| cloud | neighbors | count | periodic | lists | periodic | nearest | periodic | SPH density |")
    click.echo("|---|---|---|---|---|---|---|---|---|")
    for name, make in named.items():
        if "cluster" in name or "shell" in name or "decades" in name:
            continue
        points, radius = make()
        side = 180.0 if "180" in name else 1.0
        mean, *times = beside(session, points, radius, side, method)
        cells = [f"{times[0]:.3f}"]
        for k, base in ((1, 0), (2, 2), (3, 2), (4, 4), (5, 4), (6, 0)):
            ratio = "" if k == base else f" ({times[k] / times[base]:.2f} x)"
            cells.append(f"{times[k]:.3f}{ratio}")
        click.echo(f"| {name} | {mean:.2f} | " + " | ".join(cells) + " |")


def print_kernels(session: clfrnn.Session, named: dict[str, Callable[[], tuple[Any, float]]], method: str) -> None:
    """The table of what the kernels of a step take."""
    click.echo(f"clfrnn {clfrnn.__version__}, {session.profile}, method {method}, kernels in microseconds\n")
    click.echo("| cloud | step | in kernels | of these |")
    click.echo("|---|---|---:|---|")
    for name, make in named.items():
        points, radius = make()
        _, *steps = steps_of(session, points, radius, method, {})
        for what, step in zip(("count", "lists"), steps, strict=True):
            if step is None:
                continue
            kernels = microseconds(session, step)
            each = ", ".join(f"{kernel} {time:.1f}" for kernel, time in kernels.items())
            click.echo(f"| {name} | {what} | {sum(kernels.values()):.1f} | {each} |")


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
    click.echo(f"clfrnn {clfrnn.__version__}, {session.profile}, method {method} {options or ''}\n")
    click.echo("| cloud | mean neighbors | update + count, ms | wall | update + lists, ms | wall |")
    click.echo("|---|---|---|---|---|---|")
    for name, make in named.items():
        points, radius = make()
        mean, *device = measure(session, points, radius, method, options)
        _, *wall = measure(plain, points, radius, method, options, loop=loop)
        times = [device[0].span, wall[0].wall]
        if device[1] is not None and wall[1] is not None:
            times += [device[1].span, wall[1].wall]
        cells = [f"{value:.3f}" for value in times] + [""] * (4 - len(times))
        click.echo(f"| {name} | {mean:.2f} | " + " | ".join(cells) + " |")
        if with_scipy and len(times) == 4:
            tree = scipy_milliseconds(points, radius)
            ratios = f"{tree[0] / times[1]:.1f}", f"{tree[1] / times[3]:.1f}"
            beside_us = f"{tree[0]:.0f} ({ratios[0]} x) | | {tree[1]:.0f} ({ratios[1]} x)"
            click.echo(f"| scipy, 2 workers for counts | | | {beside_us} |")


@click.command()
@click.option("--device", help="As for `clfrnn search`.")
@click.option("--method", default="auto", show_default=True)
@click.option("--construction", type=click.Choice(["counting", "sort"]))
@click.option("--small", is_flag=True, help="The clouds for CPUs.")
@click.option("--beside", "compared", is_flag=True, help="Periodic boxes and a user's function beside a bare count.")
@click.option("--kernels", "by_kernel", is_flag=True, help="What each kernel of a step takes.")
@click.option("--scipy", "with_scipy", is_flag=True, help="scipy's cKDTree beside ours, in the same run.")
@click.option("--loop", is_flag=True, help="Wall times in a loop whose last step alone is waited for.")
def main(
    *,
    device: str | None,
    method: str,
    construction: str | None,
    small: bool,
    compared: bool,
    by_kernel: bool,
    with_scipy: bool,
    loop: bool,
) -> None:
    """Measure, and print a Markdown table."""
    named = SMALL if small else LARGE
    try:
        session = profiled(device)
        if compared:
            print_beside(session, named, method)
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
