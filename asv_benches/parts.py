"""The bars of clouds in parts: two devices beside one, and a cloud on disk that is larger than its byte budget.

Milliseconds by the wall until the queues of all devices have ended, the median of nine, and how many times faster
two devices are than one, beside the bar; and a cloud twice as large on two, beside half of it on one. Points, lists and
counts stay on the devices; the cloud was divided before. Two GPUs of a host are taken where there are two; of a CPU
two cores stand for devices. Where there is one device, two sessions of it show that it works: no bar is judged then.
With ``--budget``, a memory-mapped cloud is counted within a tenth of the bytes that all of it would take, beside a
count without a budget, in turns, both from the file to counts in host memory.
"""

from __future__ import annotations

import math
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import click
import numpy as np
import pyopencl.array as cla

import clfrnn
from clfrnn import parts
from clfrnn.cluster import friends_of_friends

from .tools.clouds import CLOUDS
from .tools.devices import TIMES, Taken, described, divided, together, uploaded
from .tools.devices import devices_of as several
from .tools.parts_plan import radius_of
from .tools.tables import command, head, row, say

#: Points of a cloud, and how many of them lie within the radius of one on average.
POINTS, NEIGHBORS = 64_000_000, 49

#: The linking length over the mean spacing.
LINK = 0.2

#: Cloud and search -> how many times faster two devices are to be than one.
BARS = {("even", "count"): 1.8, ("even", "list"): 1.8, ("even", "friends_of_friends"): 1.6}
BARS |= {("halos", search): 1.6 for search in ("count", "list", "friends_of_friends")}

#: How much longer twice the points may take on two devices than the points on one; and the share of the rate of a cloud
#: that fits which one on disk is to have.
MOST_GROWTH, LEAST_RATE = 1.15, 0.8

#: Bytes that an index of float32 points takes for each, as clfrnn.parts plans it with as much for lists.
BYTES_OF_POINT = 160

#: How near the mean number of neighbors comes to the wanted one, within so many rounds.
_NEAR, _ROUNDS = 0.1, 12

#: How often the cloud on disk is counted, with a budget and without.
ROUNDS = 3


def devices_of(session: clfrnn.Session) -> list[clfrnn.Session]:
    """Two devices of the kind of the session's, or two sessions of one."""
    return several(session, 2)


def radius_for(points: np.ndarray[Any, Any], session: clfrnn.Session) -> float:
    """A radius within which points have about that many neighbors in the mean, by some of them."""
    radius, some = radius_of(len(points), NEIGHBORS), np.ascontiguousarray(points[:: max(1, len(points) // 4096)])
    here = cla.to_device(session.queue, points)
    for _ in range(_ROUNDS):
        mean = float(clfrnn.build_index(here, radius, session=session).count(some).get().mean()) - 1
        if abs(mean / NEIGHBORS - 1) < _NEAR:
            break
        radius *= min(2.0, (NEIGHBORS / max(mean, 1)) ** (1 / 3))
    return radius


def timed(points: np.ndarray[Any, Any], sessions: list[clfrnn.Session], radius: float) -> dict[str, Taken]:
    """The times of a count, a list and groups of friends of a cloud, one part for each device."""
    local = uploaded(points, divided(points, sessions, radius), sessions)
    linking = LINK * len(points) ** (-1 / 3)
    return {
        "count": together(sessions, lambda k: clfrnn.build_index(local[k], radius, session=sessions[k]).count(), TIMES),
        "list": together(sessions, lambda k: clfrnn.search(local[k], radius, session=sessions[k]), TIMES),
        "friends_of_friends": together(
            sessions, lambda k: friends_of_friends(local[k], linking, session=sessions[k]).num_clusters, TIMES
        ),
    }


def print_devices(session: clfrnn.Session, n: int) -> None:
    """The table of one device beside two, and of half as many points on one, which shows weak growth."""
    sessions = devices_of(session)
    judged = len({each.device for each in sessions}) == 2
    say(session, described(sessions), f"{n:,} points", f"milliseconds by the wall, the median of {TIMES}")
    head("cloud", "search", "half on one:", "one:", "two:", "times faster:", "bar:", "weak growth:", "bar:", "met")
    for cloud in ("even", "halos"):
        points = CLOUDS[cloud](n)
        radius = radius_for(points, sessions[0])
        half = timed(points[: n // 2] * np.float32(0.5 ** (1 / 3)), sessions[:1], radius)
        one, two = timed(points, sessions[:1], radius), timed(points, sessions, radius)
        for search, taken in two.items():
            alone, together_, small = (each[search].milliseconds for each in (one, two, half))
            faster, growth, bar = alone / together_, together_ / small, BARS[cloud, search]
            most = MOST_GROWTH if cloud == "even" else math.inf  # half of a cloud of halos has smaller ones
            met = faster >= bar and growth <= most
            cells = [f"{small:.1f}", f"{alone:.1f}", f"{taken.milliseconds:.1f}", f"{faster:.2f}", f"{bar}"]
            verdict = ("yes" if met else "no") if judged else "one device"
            row(cloud, search, *cells, f"{growth:.2f}", most if most < math.inf else "", verdict)


def print_budget(session: clfrnn.Session, n: int) -> None:
    """The table of a cloud on disk that takes ten times its budget, beside one that fits."""
    radius = radius_of(n, NEIGHBORS)
    say(session, f"{n:,} points on disk", f"seconds from file to counts, the median of {ROUNDS}")
    head("budget:", "seconds:", "points in a second:", "of the rate of a cloud that fits:", "bar:")
    budgets = (None, n * BYTES_OF_POINT // 10)
    times: dict[int | None, list[float]] = {budget: [] for budget in budgets}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cloud.npy"
        np.save(path, CLOUDS["even"](n))
        cloud = np.load(path, mmap_mode="r")
        for _ in range(1 + ROUNDS):  # the first one compiles
            for budget in budgets:
                started = time.perf_counter()
                parts.count(cloud, radius, sessions=[session], max_bytes=budget)
                times[budget].append(time.perf_counter() - started)
    whole = statistics.median(times[None][1:])
    for budget in budgets:
        taken = statistics.median(times[budget][1:])
        shown = "none" if budget is None else f"{budget:,}"
        row(shown, f"{taken:.2f}", f"{n / taken:,.0f}", f"{whole / taken:.2f}", LEAST_RATE if budget else "")


@command
@click.option("--points", type=int, default=POINTS, show_default=True, help="Points of a cloud.")
@click.option("--budget", is_flag=True, help="The cloud on disk in place of the devices.")
def main(*, device: str | None, points: int, budget: bool) -> None:
    """Measure, and print a Markdown table."""
    session = clfrnn.Session(device)
    (print_budget if budget else print_devices)(session, points)


if __name__ == "__main__":
    main()
