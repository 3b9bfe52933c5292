"""What all benchmarks share: devices by name, clouds with a radius for so many neighbors, cases made once, and time."""

from __future__ import annotations

import functools
import math
import random
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

import clfrnn
from clfrnn import clouds
from clfrnn.methods.structure import SearchStructure
from clfrnn.runtime.device import find_device, list_devices

from .platforms import PLATFORMS

METHODS = ["strips", "uniform_grid", "fenns", "aabb_tree"]
CLOUDS = ["uniform", "shell"]
NUMBERS = [65_536, 1_048_576]

#: Steps before those that are measured: the first compile, the second fill the pool.
WARM_UP = 3

#: Of a gas: neighbors of a point, the skin as a share of the radius, and the steps after which a list is made again.
NEIGHBORS, SKIN, LIFE = 50, 0.15, 20

#: Its steps that are timed together, of which some make the list, and those before them.
LAP, SETTLING = 5 * LIFE, LIFE

FORCE = clfrnn.NeighborFunction(
    arguments="const real sigma2, global real *forces",
    state="real_vec force = (real_vec)(0);",
    per_neighbor="""
        const real s2 = sigma2 / d2, s6 = s2 * s2 * s2;
        force -= dx * (24 * s6 * (2 * s6 - 1) / d2);
    """,
    finish="forces[3 * i] = force.s0; forces[3 * i + 1] = force.s1; forces[3 * i + 2] = force.s2;",
)


def profiled(device: object = None) -> clfrnn.Session:
    """A session whose events have times, on a queue with profiling; a plain one where the device has no timer.

    A launch takes longer on such a queue: what the wall clock shows is measured with a session as users have it.
    """
    found = find_device(device)
    if not found.profiling_timer_resolution:
        return clfrnn.Session(found)
    context = cl.Context([found])  # held here, as Intel's queues do not hold it
    return clfrnn.Session(cl.CommandQueue(context, properties=cl.command_queue_properties.PROFILING_ENABLE))


def structure_of(index: clfrnn.Index) -> SearchStructure:
    """The search structure of an index, for benchmarks of what it was planned by."""
    return index._traversal.structure  # noqa: SLF001 — users need it nowhere


def has_event_times(session: clfrnn.Session) -> bool:
    """Whether events of the session tell how long kernels took."""
    return bool(session.queue.properties & cl.command_queue_properties.PROFILING_ENABLE)


@functools.cache
def session(device: str) -> clfrnn.Session:
    """The session of a logical device name, profiled; on a machine without that device, asv skips the benchmark."""
    for present in list_devices():
        if PLATFORMS[device] in present.platform.name:
            return profiled(present)
    raise NotImplementedError(f"this machine has no {device}")


def uniform_radius(n: int, neighbors: float, dim: int = 3) -> float:
    """The radius that finds so many neighbors among n uniform points of the unit cube, borders apart."""
    ball = math.pi ** (dim / 2) / math.gamma(dim / 2 + 1)
    return float((neighbors / (ball * n)) ** (1 / dim))


def in_order(points: Any, radius: float) -> Any:
    """The points sorted by cubes of about one of them or of the radius, as a simulation has them that reorders them."""
    low = points.min(axis=0)
    spacing = float(np.prod(points.max(axis=0) - low) / len(points)) ** (1 / points.shape[1])
    cells = np.floor((points - low) / max(radius, spacing)).astype(np.int64)
    return points[np.lexsort(tuple(cells.T))]


@functools.cache
def cloud(name: str, n: int, neighbors: float) -> tuple[Any, float]:
    """A seeded cloud of n points, and a radius that finds about so many neighbors."""
    if name == "uniform":
        return np.random.default_rng(0).random((n, 3), dtype=np.float32), uniform_radius(n, neighbors)
    if name == "shell":  # of radius 0.4: a cap of height h has the area 2 pi 0.4 h
        return clouds.shell(n), float(2 * 0.4 * np.sqrt(neighbors / n))
    if name == "in order":
        points, radius = cloud("uniform", n, neighbors)
        return in_order(points, radius), radius
    raise ValueError(f"cloud: expected one of {[*CLOUDS, 'in order']}, got {name!r}")


class Case:
    """An index over a cloud on a device, and what it takes to time its steps."""

    def __init__(self, session: clfrnn.Session, points: Any, radius: float, **options: Any) -> None:
        self.session = session
        self.radius = radius
        self.points = cla.to_device(session.queue, points)
        self.options = options
        self.index = self.build()
        self.pairs = self.index.query().num_pairs
        assert self.pairs > 0, "a benchmark that finds nothing measures nothing"

    def build(self) -> clfrnn.Index:
        """The index, anew."""
        return clfrnn.build_index(self.points, self.radius, session=self.session, **self.options)

    def finish(self) -> None:
        """Wait for the device."""
        self.session.queue.finish()

    def seconds(self, step: Callable[[], object]) -> float:
        """The median device time of a step."""
        return device_seconds(self.session, step)


class Seconds(NamedTuple):
    """Medians of a step: from its first launch's start to its last one's end, on the host's clock, and in kernels."""

    span: float
    wall: float
    kernels: float


def timed(session: clfrnn.Session, step: Callable[[], object], repeats: int, enough: float = math.inf) -> Seconds:
    """The times of a step, of `repeats` of them or of five that took `enough` seconds.

    In a session without event times, wall time stands in for all.
    """
    for _ in range(WARM_UP):
        step()
    session.queue.finish()
    steps: list[Seconds] = []
    while len(steps) < 5 or (len(steps) < repeats and sum(each.wall for each in steps) < enough):
        steps.append(timed_once(session, step))
    return Seconds(*map(statistics.median, zip(*steps, strict=True)))


def timed_in_turn(
    session: clfrnn.Session, steps: Sequence[Callable[[], object]], repeats: int, enough: float = math.inf
) -> list[Seconds]:
    """The times of some steps, each in turn, so that what else a machine does meets all alike.

    Rounds have orders of their own: a step takes longer behind one that has filled caches, or kept all cores busy.
    Of one that takes a fifth of `enough` when all is compiled its third, of the others as :func:`timed` has it.
    """
    found = [[timed_once(session, step) for _ in range(2)][1:] for step in steps]
    for step, times in zip(steps, found, strict=True):
        if times[0].wall >= enough / 5:  # kernels are compiled by the second step, too
            times[0] = timed_once(session, step)
    quick = [k for k, (once,) in enumerate(found) if once.wall < enough / 5]
    for k in quick:
        found[k].clear()
    rounds, spent, orders = 2 - WARM_UP, 0.0, random.Random(0)  # noqa: S311 — nothing is kept secret by it
    while quick and (rounds < 5 or (rounds < repeats and spent < enough * len(quick))):
        for k in orders.sample(quick, len(quick)):
            each = timed_once(session, steps[k])
            if rounds >= 0:
                found[k].append(each)
                spent += each.wall
        rounds += 1
    return [Seconds(*map(statistics.median, zip(*times, strict=True))) for times in found]


def timed_once(session: clfrnn.Session, step: Callable[[], object]) -> Seconds:
    """The times of one step, which is waited for."""
    started = time.perf_counter()
    with session.recorded() as launches:
        result = step()  # held until the queue is done, so that its memory is not in use twice
    session.queue.finish()
    wall = time.perf_counter() - started
    del result
    if not has_event_times(session):
        return Seconds(wall, wall, wall)
    profiles = [event.profile for _, event in launches]
    inside = sum(profile.end - profile.start for profile in profiles)
    return Seconds(1e-9 * (profiles[-1].end - profiles[0].start), wall, 1e-9 * inside)


def device_seconds(session: clfrnn.Session, step: Callable[[], object]) -> float:
    """The median time of a step in kernels: what the device does, however quick the host is to launch it."""
    return timed(session, step, repeats=25, enough=0.5).kernels


@functools.cache
def case(device: str, method: str, name: str, n: int, neighbors: float) -> Case:
    """A case, made once in a process although asv sets up before every sample."""
    points, radius = cloud(name, n, neighbors)
    return Case(session(device), points, radius, method=method)


@functools.cache
def wall_case(device: str, method: str, name: str, n: int, neighbors: float) -> Case:
    """The same in a session as users have it, for the wall clock."""
    points, radius = cloud(name, n, neighbors)
    return Case(clfrnn.Session(session(device).device), points, radius, method=method)


class Search:
    """A benchmark over devices, methods, clouds, sizes and neighbors. A subclass may narrow the axes."""

    params: tuple[Any, ...] = (list(PLATFORMS), METHODS, CLOUDS, NUMBERS, [50])
    param_names = ("device", "method", "cloud", "n", "neighbors")
    timeout = 120
    case: Case

    def setup(self, device: str, method: str, cloud: str, n: int, neighbors: float) -> None:
        """Made once, then found again."""
        self.case = case(device, method, cloud, n, neighbors)


class Uniform(Search):
    """The same over uniform clouds with the default method: enough where the walk is not what is measured."""

    params = (list(PLATFORMS), ["strips"], ["uniform"], NUMBERS, [50])


def conditions(session: clfrnn.Session, n: int, radius: float) -> dict[str, clfrnn.Condition | None]:
    """Without a condition, and conditions by their texts; the last two count half of the pairs and seven eighths."""
    kind = cla.to_device(session.queue, np.random.default_rng(1).integers(0, 2, n).astype(np.int32))
    return {
        "plain": None,
        "1": clfrnn.Condition("1"),
        "kind[i] != kind[j]": clfrnn.Condition("kind[i] != kind[j]", kind=kind),
        "d2 > inner2": clfrnn.Condition("d2 > inner2", inner2=radius * radius / 4),
    }


class Gas:
    """Points of a periodic box that fly straight on, all at the speed that uses up half of the skin in `LIFE` steps."""

    def __init__(self, where: clfrnn.Session, n: int) -> None:
        rng = np.random.default_rng(0)
        points = rng.random((n, 3), dtype=np.float32)
        self.radius = uniform_radius(n, NEIGHBORS)
        self.sigma2 = (self.radius / 2.5) ** 2
        along = rng.normal(size=(n, 3))
        along /= np.linalg.norm(along, axis=1, keepdims=True)
        speed = SKIN * self.radius / 2 / (LIFE - 0.5)
        self.points = cla.to_device(where.queue, points)
        self.velocities = cla.to_device(where.queue, (along * speed).astype(np.float32))
        self.forces = cla.zeros(where.queue, (n, 3), np.float32)
        box = np.ones(3)
        self.index = clfrnn.build_index(self.points, self.radius, box=box, session=where)
        self.pairs = clfrnn.VerletList(self.points, self.radius, skin=SKIN * self.radius, box=box, session=where)

    def listed(self) -> None:
        """A step over the list."""
        self.points += self.velocities
        self.pairs.update(self.points)
        self.pairs.visit(FORCE, sigma2=self.sigma2, forces=self.forces)

    def searched(self) -> None:
        """A step over the index."""
        self.points += self.velocities
        self.index.update(self.points)
        self.index.visit(FORCE, sigma2=self.sigma2, forces=self.forces)

    def seconds(self, step: Callable[[], None]) -> float:
        """The wall time of a step in a loop, which is waited for at its end."""
        queue = self.index.session.queue
        for _ in range(SETTLING):
            step()
        queue.finish()
        started = time.perf_counter()
        for _ in range(LAP):
            step()
        queue.finish()
        assert self.forces.get().any(), "a benchmark that finds nothing measures nothing"
        return (time.perf_counter() - started) / LAP
