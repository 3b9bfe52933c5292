"""Clouds in parts: one device beside two, and a cloud on disk that is larger than its byte budget.

Milliseconds by the wall until the queues of all devices have ended, the median of nine, and how many times faster
several devices are than one. Points, lists and counts stay on the devices; the cloud was divided before. Two GPUs of a
host are taken where there are two; of a CPU its sub-devices stand for devices, which show that it works and not how
fast it is. With ``--budget``, a memory-mapped cloud is counted within a tenth of the bytes that all of it would take,
beside a count without a budget, both from the file to counts in host memory.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import click
import numpy as np
import pyopencl as cl
import pyopencl.array as cla

import clfrnn
from clfrnn import parts
from clfrnn.cluster import friends_of_friends

from .tools.clouds import CLOUDS
from .tools.tables import command, head, row, say

#: Points of a cloud, and how many of them lie within the radius of one on average.
POINTS, NEIGHBORS = 64_000_000, 49

#: The linking length over the mean spacing.
LINK = 0.2

#: How often a step is timed.
TIMES = 9

#: Bytes that an index of float32 points takes for each, as clfrnn.parts plans it with as much for lists.
BYTES_OF_POINT = 160


def devices_of(session: clfrnn.Session) -> list[clfrnn.Session]:
    """Two devices of the kind of the session's: GPUs, or sub-devices of a CPU."""
    if session.profile.kind == "gpu":
        gpus = [k for k, each in enumerate(clfrnn.devices()) if each.kind == "gpu"]
        return [clfrnn.Session(k) for k in gpus[:2]]
    halves = session.device.create_sub_devices([cl.device_partition_property.EQUALLY, 1])[:2]
    contexts = [cl.Context([half]) for half in halves]  # which some drivers' queues do not hold
    return [clfrnn.Session(cl.CommandQueue(context, half)) for context, half in zip(contexts, halves, strict=True)]


def together(sessions: Sequence[clfrnn.Session], work: Callable[[int], Any]) -> float:
    """The median wall time of `work` of the parts of all devices at the same time, in milliseconds."""

    def turn(k: int) -> None:
        found = work(k)
        sessions[k].queue.finish()
        del found

    times = []
    with ThreadPoolExecutor(len(sessions)) as pool:
        for _ in range(TIMES + 2):
            started = time.perf_counter()
            list(pool.map(turn, range(len(sessions))))
            times.append(1e3 * (time.perf_counter() - started))
    return statistics.median(times[2:])


def timed(points: np.ndarray[Any, Any], sessions: Sequence[clfrnn.Session], radius: float) -> dict[str, float]:
    """The times of a count, a list and groups of friends of a cloud, one part for each device."""
    sample = points[:: max(1, len(points) // 65_536)]
    divided = parts.assign(points, parts.split(sample, len(sessions)), radius)
    local = [
        cla.to_device(session.queue, np.ascontiguousarray(points[part.rows]))
        for session, part in zip(sessions, divided, strict=True)
    ]
    linking = LINK * len(points) ** (-1 / 3)
    return {
        "count": together(sessions, lambda k: clfrnn.build_index(local[k], radius, session=sessions[k]).count()),
        "list": together(sessions, lambda k: clfrnn.search(local[k], radius, session=sessions[k])),
        "friends_of_friends": together(
            sessions, lambda k: friends_of_friends(local[k], linking, session=sessions[k]).num_clusters
        ),
    }


def print_devices(session: clfrnn.Session, n: int) -> None:
    """The table of one device beside two, and of half as many points on one, which shows weak growth."""
    sessions = devices_of(session)
    radius = (NEIGHBORS / n / (4 / 3 * np.pi)) ** (1 / 3)
    say(session, f"{len(sessions)} devices", f"{n:,} points", "milliseconds by the wall")
    head("cloud", "search", "half on one:", "one:", "two:", "times faster:", "weak growth:")
    for name in ("even", "halos"):
        points = CLOUDS[name](n)
        half = timed(points[: n // 2] * np.float32(0.5 ** (1 / 3)), sessions[:1], radius)
        one, two = timed(points, sessions[:1], radius), timed(points, sessions, radius)
        for search, taken in two.items():
            cells = [f"{each:.1f}" for each in (half[search], one[search], taken)]
            row(name, search, *cells, f"{one[search] / taken:.2f}", f"{taken / half[search]:.2f}")


def print_budget(session: clfrnn.Session, n: int) -> None:
    """The table of a cloud on disk that takes ten times its budget, beside one that fits."""
    radius = (NEIGHBORS / n / (4 / 3 * np.pi)) ** (1 / 3)
    say(session, f"{n:,} points on disk", "seconds from file to counts")
    head("budget:", "seconds:", "points in a second:")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cloud.npy"
        np.save(path, CLOUDS["even"](n))
        cloud = np.load(path, mmap_mode="r")
        for budget in (None, n * BYTES_OF_POINT // 10):
            times = []
            for _ in range(3):
                started = time.perf_counter()
                parts.count(cloud, radius, sessions=[session], max_bytes=budget)
                times.append(time.perf_counter() - started)
            shown = "none" if budget is None else f"{budget:,}"
            row(shown, f"{statistics.median(times):.2f}", f"{n / statistics.median(times):,.0f}")


@command
@click.option("--points", type=int, default=POINTS, show_default=True, help="Points of a cloud.")
@click.option("--budget", is_flag=True, help="The cloud on disk in place of the devices.")
def main(*, device: str | None, points: int, budget: bool) -> None:
    """Measure, and print a Markdown table."""
    session = clfrnn.Session(device)
    (print_budget if budget else print_devices)(session, points)


if __name__ == "__main__":
    main()
