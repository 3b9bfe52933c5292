"""Several devices at once: which ones there are, and how long work takes that each of them does with a part."""

from __future__ import annotations

import dataclasses
import itertools
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

import clfrnn
from clfrnn import parts
from clfrnn.parts.whole import Given, Whole

#: How often work is timed.
TIMES = 9


@dataclasses.dataclass(frozen=True, kw_only=True)
class Taken:
    """What work of all devices took."""

    #: milliseconds by the wall until the queues of all devices have ended, the median
    milliseconds: float
    #: the share of that time for which a device had ended already, the mean over devices
    waiting: float


def devices_of(session: clfrnn.Session, many: int) -> list[clfrnn.Session]:
    """That number of sessions of the kind of device of the given one: the GPUs of the host, or the cores of a CPU.

    Where there are fewer, several sessions share one, which shows that they work and not how fast they are.
    """
    if session.profile.kind == "gpu":
        gpus = [k for k, each in enumerate(clfrnn.devices()) if each.kind == "gpu"]
        return [clfrnn.Session(k) for k in itertools.islice(itertools.cycle(gpus), many)]
    cores = [session.device]
    if session.device.partition_max_sub_devices > 1:  # some drivers crash where they are asked nevertheless
        cores = session.device.create_sub_devices([cl.device_partition_property.EQUALLY, 1])
    taken = list(itertools.islice(itertools.cycle(cores), many))
    contexts = [cl.Context([each]) for each in taken]  # which some drivers' queues do not hold
    queues = [cl.CommandQueue(context, each) for context, each in zip(contexts, taken, strict=True)]
    return [clfrnn.Session(queue) for queue in queues]


def described(sessions: Sequence[clfrnn.Session]) -> str:
    """What a table says of the devices that it is of."""
    different = len({session.device for session in sessions})
    what = "a GPU" if sessions[0].profile.kind == "gpu" else "a core"
    return f"each device {what}" if different == len(sessions) else f"up to {len(sessions)} sessions on {different}"


def together(sessions: Sequence[clfrnn.Session], work: Callable[[int], Any], times: int = TIMES) -> Taken:
    """How long `work` of the parts of all devices takes at the same time; it is called with their numbers."""

    def turn(k: int) -> float:
        found = work(k)
        sessions[k].queue.finish()
        del found
        return time.perf_counter()

    walls, waits = [], []
    with ThreadPoolExecutor(len(sessions)) as pool:
        for _ in range(times + 2):
            started = time.perf_counter()
            ends = list(pool.map(turn, range(len(sessions))))
            walls.append(max(ends) - started)
            waits.append(1 - (statistics.mean(ends) - started) / walls[-1])
    return Taken(milliseconds=1e3 * statistics.median(walls[2:]), waiting=statistics.median(waits[2:]))


def divided(points: np.ndarray[Any, Any], sessions: Sequence[clfrnn.Session], radius: float) -> list[parts.Part]:
    """The parts that clfrnn.parts makes of a cloud for these devices."""
    nothing: dict[str, Any] = {"method": "auto", "domain": (None, None, None), "options": {}, "progress": False}
    given = Given(sessions=list(sessions), parts=len(sessions), max_bytes=None, **nothing)
    return Whole(parts.count, points, radius, given=given).divide(radius)[1]


def uploaded(
    points: np.ndarray[Any, Any], found: Sequence[parts.Part], sessions: Sequence[clfrnn.Session]
) -> list[cla.Array]:
    """The points of each part, with its halo, on its device."""
    return [
        cla.to_device(session.queue, np.ascontiguousarray(points[part.rows]))
        for session, part in zip(sessions, found, strict=True)
    ]
