"""The figures that "auto" rests on: strips beside fenns over even clouds, all methods over all kinds, and its choice.

Update + count and update + lists in device time, milliseconds: the last event's end minus the first event's start, the
median of 20 steps after warm-up, or of five that take longer, all methods in turn; on a CPU wall time, as the host that
launches is the device. The radius follows from how many neighbors a point shall have. With ``--once``, wall time of a
search by each method, as by those who search few points once, in a session as users have it.
"""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import click
import numpy as np
import pyopencl.array as cla

import clfrnn
from clfrnn.clouds import CLOUDS
from clfrnn.methods import METHODS as SERVING
from clfrnn.methods import choose_method

from ..benchmarks.common import METHODS, profiled, structure_of, timed_in_turn, uniform_radius
from .clocks import STEPS
from .tables import command, head, row, say

#: Five of each step are enough where they took so many seconds together for each of them; and one that took a fifth.
ENOUGH = 1.0
BESIDE = ["strips", "fenns"]

ALL = [*METHODS, "brute_force"]

#: A method that takes so many times as long as another is not timed again, and its lists are not.
HOPELESS, LONG = 50.0, 20.0

#: More points are too many for all pairs.
MOST_FOR_ALL_PAIRS = 16_384

#: Longer lists are asked for by blocks, and are not measured.
MOST_PAIRS = 1 << 29


class Cloud(NamedTuple):
    """An even cloud in the unit square or cube, by what decides how long a search of it takes."""

    n: int
    dim: int
    dtype: str
    periodic: bool
    neighbors: float

    def __str__(self) -> str:
        kind = f"{self.dim}D{', periodic' if self.periodic else ''}{', float64' if self.dtype == 'float64' else ''}"
        return f"{self.n:,} | {kind} | {self.neighbors:g}"

    def search(self) -> tuple[np.ndarray[Any, Any], float, dict[str, Any]]:
        """The points, the radius, and the domain."""
        points = np.random.default_rng(0).random((self.n, self.dim)).astype(self.dtype)
        radius = uniform_radius(self.n, self.neighbors, self.dim)
        return points, radius, {"box": (1.0,) * self.dim, "periodic": True} if self.periodic else {}


class Kind(NamedTuple):
    """A cloud of the benchmark set, which may lie unevenly."""

    name: str
    n: int
    radius: float
    dim: int = 3
    periodic: bool = False
    #: queries have radii of their own, log-uniform over so many decades up to the radius
    decades: int = 0

    def __str__(self) -> str:
        kind = f"{'' if self.dim == 3 else f', {self.dim}D'}{', periodic' if self.periodic else ''}"
        kind += f", radii over {self.decades} decade{'s'[: self.decades - 1]}" if self.decades else ""
        return f"{self.name}{kind} | {self.n:,} | {self.radius:.3g}"

    @property
    def methods(self) -> list[str]:
        """Those that serve its dimensions, and are not far too slow."""
        names = ALL if self.n <= MOST_FOR_ALL_PAIRS else METHODS
        return [name for name in names if self.dim in SERVING[name].dims]

    def search(self) -> tuple[np.ndarray[Any, Any], float, dict[str, Any]]:
        """The points, the radius, and the domain."""
        domain = {"box": (1.0,) * self.dim, "periodic": True} if self.periodic else {}
        return CLOUDS[self.name](self.n, self.dim), self.radius, domain

    @property
    def radii(self) -> np.ndarray[Any, Any] | None:
        """One for each point, where they differ."""
        if not self.decades:
            return None
        exponents = np.random.default_rng(0).uniform(-self.decades, 0, self.n)
        return (self.radius * 10**exponents).astype(np.float32)


#: Every kind of cloud, few points and many, with radii that find some neighbors and many.
BENCHMARK_SET = [
    *(Kind("uniform", n, uniform_radius(n, k)) for n in (250, 1_000, 10_000, 65_536, 1 << 20) for k in (3, 48)),
    *(Kind("uniform", n, uniform_radius(n, k, 2), 2) for n in (65_536, 1 << 20) for k in (3, 48)),
    *(Kind("shell", n, r) for n, r in ((65_536, 0.022), (1 << 20, 0.00552))),
    *(Kind("clustered", n, r) for n, r in ((65_536, 0.002), (1 << 20, 0.0002), (1 << 20, 0.0005))),
    *(Kind("filament", n, r) for n, r in ((65_536, 0.008), (1 << 20, 0.002))),
    *(Kind("dam_break", n, r) for n, r in ((65_536, 0.03), (1 << 20, 0.012))),
    *(Kind("multiscale", n, r) for n, r in ((65_536, 0.0004), (1 << 20, 0.00005), (1 << 20, 0.0002))),
    *(Kind("multiscale", n, r, 2) for n, r in ((65_536, 0.0001), (1 << 20, 0.00005))),
    *(Kind("lattice", n, r) for n, r in ((65_536, 0.04), (1 << 20, 0.016))),
    *(Kind("duplicates", n, r) for n, r in ((65_536, 0.02), (1 << 20, 0.01))),
    *(Kind("uniform", n, uniform_radius(n, k)) for n in (65_536, 1 << 20) for k in (1_000, 2_000)),
    *(Kind("uniform", n, uniform_radius(n, k, 2), 2) for n in (65_536, 1 << 20) for k in (1_000, 2_000)),
    *(Kind("shell", n, 0.8 * (k / n) ** 0.5) for n in (65_536, 1 << 20) for k in (1_000, 2_000)),
    *(Kind("uniform", 1 << 20, uniform_radius(1 << 20, k), decades=d) for k in (50, 1_000, 3_000) for d in (1, 3)),
    *(Kind("clustered", 1 << 20, r, decades=d) for r in (0.001, 0.004) for d in (1, 3)),
    *(Kind("uniform", n, uniform_radius(n, 3), periodic=True) for n in (250, 1_000, 65_536)),
    *(Kind("uniform", n, uniform_radius(n, 3, dim), dim) for dim in (1, 4, 6, 12) for n in (500, 8_000)),
]

#: Few points, as they are searched once.
FEW = [
    Kind("uniform", n, uniform_radius(n, 3, dim), dim, periodic)
    for dim, periodic in ((3, False), (4, False), (3, True))
    for n in (64, 250, 500, 1_000, 2_000, 4_000, 8_000, 16_000)
]


def clouds(sizes: tuple[int, ...], neighbors: tuple[float, ...]) -> Iterator[Cloud]:
    """Every size with every kind of cloud and number of neighbors."""
    kinds = [
        (3, "float32", False),
        (2, "float32", False),
        (3, "float32", True),
        (2, "float32", True),
        (3, "float64", False),
    ]
    for n, kind, each in itertools.product(sizes, kinds, neighbors):
        yield Cloud(n, *kind, each)


class Steps(NamedTuple):
    """Update + count and update + lists by method, in milliseconds, and the method that "auto" takes."""

    neighbors: float
    counts: dict[str, float]
    lists: dict[str, float]
    chosen: str


class Alone(NamedTuple):
    """Pairs that a method finds, and the seconds of a count, with compiling if it is the first."""

    pairs: int
    seconds: float

    @classmethod
    def of(cls, session: clfrnn.Session, index: clfrnn.Index, radii: object) -> Alone:
        """Of an index that was just made."""
        session.queue.finish()
        started = time.perf_counter()
        counts = index.count(radius=radii).get()
        return cls(int(counts.sum(dtype=np.int64)), time.perf_counter() - started)


def measure(
    session: clfrnn.Session, cloud: Cloud | Kind, methods: list[str], host_radii: np.ndarray[Any, Any] | None = None
) -> Steps:
    """The times of a cloud; no lists where they would be too long. A search with radii chooses by these."""
    points, radius, domain = cloud.search()
    on_device = cla.to_device(session.queue, points)
    radii = None if host_radii is None else cla.to_device(session.queue, host_radii)
    indexes = [clfrnn.build_index(on_device, radius, method=method, session=session, **domain) for method in methods]
    first = [Alone.of(session, index, radii) for index in indexes]
    pairs = {each.pairs for each in first}
    assert len(pairs) == 1, "all find the same"
    found = pairs.pop()
    # One that took long is not asked again, though it had its kernels compiled meanwhile.
    alone = [
        took if took > LONG else Alone.of(session, index, radii).seconds
        for (_, took), index in zip(first, indexes, strict=True)
    ]
    most = HOPELESS * min(alone)
    hopeful = {name: index for name, index, took in zip(methods, indexes, alone, strict=True) if took <= most}

    def step(index: clfrnn.Index, *, lists: bool) -> object:
        index.update(on_device)
        return index.query(radius=radii) if lists else index.count(radius=radii)

    def milliseconds(*, lists: bool) -> dict[str, float]:
        steps = [functools.partial(step, index, lists=lists) for index in hopeful.values()]
        times = timed_in_turn(session, steps, STEPS, ENOUGH)
        clock = "span" if session.profile.kind == "gpu" else "wall"
        return {name: 1e3 * getattr(each, clock) for name, each in zip(hopeful, times, strict=True)}

    counts, lists = milliseconds(lists=False), milliseconds(lists=True) if found <= MOST_PAIRS else {}
    counts = {name: counts.get(name, 1e3 * took) for name, took in zip(methods, alone, strict=True)}
    auto = clfrnn.build_index(on_device, radius, session=session, **domain)
    problem = structure_of(auto).problem
    once = choose_method(problem, session.profile, session.tuning, queries=cloud.n, varied=True)
    return Steps(found / cloud.n, counts, lists, auto.method if radii is None else once.method.name)


def print_even(session: clfrnn.Session, sizes: tuple[int, ...], neighbors: tuple[float, ...]) -> None:
    """Strips beside fenns."""
    head("points:", "", "neighbors:", "counts: strips:", "fenns:", ":", "lists: strips:", "fenns:", ":", "auto")
    for cloud in clouds(sizes, neighbors):
        if cloud.dtype == "float64" and not session.profile.fp64:
            continue
        _, counts, lists, chosen = measure(session, cloud, BESIDE)
        cells = []
        for each in (counts, lists):
            cells += [f"{each[name]:.3f}" if name in each else "" for name in BESIDE]
            cells.append(f"{each['fenns'] / each['strips']:.2f} x" if len(each) == len(BESIDE) else "")
        row(cloud, *cells, chosen)


def print_set(session: clfrnn.Session, sizes: tuple[int, ...], names: tuple[str, ...]) -> None:
    """All methods, and how much longer than the fastest of them that takes which "auto" takes."""
    methods = [f"{name}:" for name in ALL]
    counted, listed = ([f"{what}: {methods[0]}", *methods[1:]] for what in ("counts", "lists"))
    over = ("its counts over the best:", "its lists:")
    head("cloud", "points:", "radius:", "neighbors:", *counted, *listed, "auto", *over)
    for cloud in BENCHMARK_SET:
        if (sizes and cloud.n not in sizes) or (names and cloud.name not in names):
            continue
        neighbors, counts, lists, chosen = measure(session, cloud, cloud.methods, cloud.radii)
        times, over = [], []
        for each in (counts, lists):
            times += columns(each)
            # Who has radii of their own, searches for lists.
            told = bool(each) and (each is lists or not cloud.decades)
            over.append(times_the_best(each, chosen) if told else "")
        row(cloud, f"{neighbors:.3g}", *times, chosen, *over)


def times_the_best(by_name: dict[str, float], chosen: str) -> str:
    """How many times the best the chosen method takes, if that was worth timing."""
    return f"{by_name[chosen] / min(by_name.values()):.2f}" if chosen in by_name else f"> {HOPELESS:g}"


def columns(by_name: dict[str, float]) -> list[str]:
    """Milliseconds of all methods, nothing of those that were not measured."""
    return [f"{by_name[name]:.3f}" if name in by_name else "" for name in ALL]


def print_once(session: clfrnn.Session, many: tuple[int, ...]) -> None:
    """Few points searched once, for themselves or for so many queries: wall time, with all that Python does."""
    methods = [f"{name}:" for name in ALL]
    head("cloud", "points:", "radius:", *["queries:"] * bool(many), *methods, "auto", "its search over the best:")
    for cloud, m in itertools.product(FEW, many or (0,)):
        points, radius, domain = cloud.search()
        on_device = cla.to_device(session.queue, points)
        if m:
            queries = np.random.default_rng(1).random((m, cloud.dim), dtype=np.float32)
            domain["queries"] = cla.to_device(session.queue, queries)
        search = functools.partial(clfrnn.search, on_device, radius, session=session, **domain)
        methods = [*cloud.methods, "auto"]
        times = timed_in_turn(session, [functools.partial(search, method=method) for method in methods], STEPS)
        wall = {method: 1e3 * each.wall for method, each in zip(methods, times, strict=True)}
        auto = wall.pop("auto")
        queries = [f"{m:,}"] * bool(m)
        row(cloud, *queries, *columns(wall), f"{auto:.3f}", f"{auto / min(wall.values()):.2f}")


@command
@click.option("--set", "of_set", is_flag=True, help="All methods over every kind of cloud instead.")
@click.option("--once", is_flag=True, help="All methods over few points that are searched once instead.")
@click.option("--points", "sizes", multiple=True, type=int, help="Clouds of so many points alone.")
@click.option("--queries", "many", multiple=True, type=int, help="With --once: for so many queries that are no points.")
@click.option("--kind", "names", multiple=True, type=click.Choice(sorted({cloud.name for cloud in BENCHMARK_SET})))
@click.option("--neighbors", multiple=True, type=float, help="Clouds of strips beside fenns with so many alone.")
def main(
    device: str | None,
    *,
    of_set: bool,
    once: bool,
    sizes: tuple[int, ...],
    many: tuple[int, ...],
    names: tuple[str, ...],
    neighbors: tuple[float, ...],
) -> None:
    """Measure, and print a Markdown table."""
    check(of_set=of_set, once=once, sizes=sizes, neighbors=neighbors)
    if many and not once:
        raise click.UsageError("--queries is for --once: other tables search for the points' own neighbors")
    if names and not of_set:
        raise click.UsageError("--kind is for --set: the other tables have even clouds alone")
    session = clfrnn.Session(device) if once else profiled(device)
    say(session)
    if once:
        print_once(session, many)
    elif of_set:
        print_set(session, sizes, names)
    else:
        print_even(session, sizes or (1 << 16, 1 << 18, 1 << 20, 1 << 22), neighbors or (0.5, 3.0, 10.0, 25.0))


def check(*, of_set: bool, once: bool, sizes: tuple[int, ...], neighbors: tuple[float, ...]) -> None:
    """Options that the other tables would not heed are errors."""
    if of_set and once:
        raise click.UsageError("--set and --once are two tables: ask for one of them")
    if (of_set or once) and neighbors:
        raise click.UsageError(
            "--neighbors is for strips beside fenns: the clouds of --set and --once have their radii"
        )
    if once and sizes:
        raise click.UsageError("--points is not for --once, which has few points of its own")
    known = sorted({cloud.n for cloud in BENCHMARK_SET})
    if of_set and (strange := [n for n in sizes if n not in known]):
        raise click.UsageError(
            f"--points: no cloud of the set has {strange[0]:,} points, but {', '.join(map(str, known))}"
        )


if __name__ == "__main__":
    main()
