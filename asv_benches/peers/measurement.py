"""The procedure, the same for all: foresee, answer once, compare, and only then time."""

from __future__ import annotations

import dataclasses
import gc
import statistics
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .agreement import Agreement
from .clouds import Cloud
from .ours import Clfrnn
from .peer import Peer, Question
from .reference import Reference

#: A peer's time is foretold from the first of so many parts of a cloud, and whether that part itself takes long from
#: the first of so many more, each if that leaves points enough.
PART, SMALL_PART = 16, 256
ENOUGH = 1000
#: characters of an error in a table
LONGEST = 300


@dataclasses.dataclass(kw_only=True)
class Outcome:
    """What became of a peer on a cloud; times in seconds, medians."""

    peer: str
    cloud: str
    task: str
    #: "measured", "wrong", "over" (the limit, as was foreseen) or "failed"
    status: str = "failed"
    #: why, where there is no time
    message: str = ""
    build: float | None = None
    query: float | None = None
    total: float | None = None
    #: between device events, from the first launch of the build to the end of the query
    device: float | None = None
    repeats: int = 0
    memory: int | None = None
    agreement: Agreement | None = None


@contextmanager
def held(peer: Peer, question: Question) -> Iterator[None]:
    """The peer with its question, which it lets go in the end."""
    try:
        peer.hold(question)
        peer.memory_starts()
        peer.prepare()
        yield
    finally:
        peer.release()
        gc.collect()


def measure(peer: Peer, cloud: Cloud, reference: Reference, task: str, *, limit: float, repeats: int) -> Outcome:
    """What becomes of a peer on a cloud; whatever it raises is told in the outcome, and stops no other peer."""
    outcome = Outcome(peer=peer.name, cloud=cloud.name, task=task)
    try:
        seconds = foreseen(peer, cloud, reference, task, limit)
        if seconds > limit:
            outcome.status, outcome.message = "over", f"about {float(f'{seconds:.2g}'):,g} s foreseen"
            return outcome
        with held(peer, reference.question(task)):
            _compare_and_time(peer, reference, task, outcome, limit, repeats)
    except Exception as error:  # noqa: BLE001 — whatever a driver makes of it
        outcome.message = told(error)
    return outcome


def told(error: Exception) -> str:
    """What an error says, in one line for a table."""
    text = " ".join("".join(traceback.format_exception_only(error)).split()).replace("|", "/")
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."


def foreseen(peer: Peer, cloud: Cloud, reference: Reference, task: str, limit: float) -> float:
    """About how many seconds a build and a query will take, told from a part of the cloud of like density.

    A launch takes its time however small the part: 0.3 ms on a 256th would foretell 20 s of a quadratic peer. So that
    part only says whether the larger one may be tried, and foretells alone where it may not.
    """
    if isinstance(peer, Clfrnn) or peer.compiles:
        return 0.0
    power = 2 if peer.quadratic else 1
    seconds = 0.0
    for parts in (SMALL_PART, PART):
        if len(reference.points) < parts * ENOUGH:
            continue
        taken = _sample(peer, cloud, reference, task, parts)
        seconds = taken * parts**power
        if taken * (parts / PART) ** power > limit / 4:
            break
    return seconds


def _sample(peer: Peer, cloud: Cloud, reference: Reference, task: str, parts: int) -> float:
    """The seconds of a part, the lesser of two, after one that compiled."""
    with held(peer, cloud.part(reference.question(task), parts)):
        step = _whole(peer, task)
        step()
        peer.finish()
        return min(peer.clocked(step)[1] for _ in range(2))


def _whole(peer: Peer, task: str) -> Callable[[], Any]:
    query = getattr(peer, task)

    def step() -> Any:
        peer.build()
        return query()

    return step


def _compare_and_time(
    peer: Peer, reference: Reference, task: str, outcome: Outcome, limit: float, repeats: int
) -> None:
    answer, first, _ = peer.clocked(_whole(peer, task))
    outcome.memory = peer.memory_peak()
    if not _right(outcome, reference.compare(peer, task, answer)):
        return
    del answer
    times, answer = _times(peer, task, first, limit, repeats)
    if not _right(outcome, reference.compare(peer, task, answer), ", in the last timed run"):
        return
    outcome.status, outcome.repeats = "measured", len(times)
    columns = zip(*times, strict=True)
    build, outcome.query, outcome.total, outcome.device = (_median(column) for column in columns)
    if peer.builds:
        outcome.build = build


def _right(outcome: Outcome, agreement: Agreement, when: str = "") -> bool:
    """Whether a run agreed; told in the outcome."""
    outcome.agreement = agreement
    if not agreement.right:
        outcome.status, outcome.message = "wrong", f"{agreement}{when}"
    return agreement.right


def _times(
    peer: Peer, task: str, first: float, limit: float, repeats: int
) -> tuple[list[tuple[float | None, ...]], Any]:
    """Build, query, both, and both on the device, of each run, and the last run's answer.

    Fewer runs than asked for where they take a quarter of the limit.
    """
    query, whole = getattr(peer, task), _whole(peer, task)
    if first < limit / 20:
        for _ in range(2):
            peer.clocked(whole)  # warm: the first run compiled and filled pools
    times: list[tuple[float | None, ...]] = []
    answer = None
    gc.collect()
    gc.disable()  # as timeit does
    try:
        started = time.perf_counter()
        while len(times) < repeats:
            answer = None  # its memory is the next one's
            _, build, _ = peer.clocked(peer.build)
            answer, asked, _ = peer.clocked(query)
            total, device = build + asked, None
            if peer.asynchronous:
                answer = None
                answer, total, device = peer.clocked(whole)
            times.append((build, asked, total, device))
            if time.perf_counter() - started > limit / 4:
                break
    finally:
        gc.enable()
    return times, answer


def _median(column: tuple[float | None, ...]) -> float | None:
    values = [value for value in column if value is not None]
    return statistics.median(values) if values else None
