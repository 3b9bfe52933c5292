"""The search for a tuning: one choice after the other, then all that was chosen against what was there before."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

from ..errors import ClfrnnError
from ..tuning import Tuning
from ..tuning.stored.choices import Choice
from .bench import Bench
from .comparison import Comparison, Late, Samples, compare, fastest

__all__ = ["Found", "find_faster"]

#: The share of the time that is left for the comparison of all steps at the end.
_FOR_THE_END = 0.25

#: The share of the rest that the times of a choice may take of what is left of it.
_FOR_A_CHOICE = 0.6

#: The ratio of times up to which a setting is worth a change.
_WORTH = 0.98


class Found(NamedTuple):
    """A tuning, and how it compares with the one before it; the same tuning where no other is faster beyond doubt."""

    tuning: Tuning
    #: None where nothing was changed, or time was up
    comparison: Comparison | None = None
    #: why something that was taken for a while is no part of it
    withdrawn: str = ""


class _Limit(NamedTuple):
    """The end of a time, by some clock."""

    clock: Callable[[], float]
    end: float

    def late(self) -> bool:
        """Whether it has come."""
        return self.clock() >= self.end

    def share(self, share: float) -> _Limit:
        """The end of a share of the time that is left."""
        now = self.clock()
        return self._replace(end=now + share * (self.end - now))


def find_faster(
    bench: Bench,
    start: Tuning,
    offered: Iterable[Choice],
    *,
    seconds: float,
    say: Callable[[str], None],
    clock: Callable[[], float] = time.perf_counter,
) -> Found:
    """Find a tuning that is faster than `start` within about `seconds`; `say` gets a line for each choice.

    A change stays if it is faster than what was there before it, by more than times spread, and no step of its choice
    is slower. At the end all that changed is held against `start` over all steps that were measured: if it is not
    faster, or a step is slower, the last change is taken back, and so on.
    """
    whole = _Limit(clock, clock() + seconds)
    limit = whole.share(1 - _FOR_THE_END)
    taken: list[tuple[Choice, Tuning]] = []
    steps: dict[str, None] = {}
    for choice in offered:
        if limit.late():
            say(f"{choice.name}: not tried, as time is up")
            continue
        current = taken[-1][1] if taken else start
        tuning, outcome = _decide(bench, current, choice, limit)
        say(f"{choice.name}: {outcome}")
        steps.update(dict.fromkeys(choice.steps))
        if tuning != current:
            taken.append((choice, tuning))
        bench.forget(start, tuning)
    withdrawn: list[str] = []
    before = _samples(bench, start, steps) if taken else {}
    while taken:
        found = _confirm(bench, before, taken, whole.late)
        if found is None and whole.late():
            withdrawn = ["there was no time left to compare what was chosen with what was there before"]
            break
        if found is not None and found.better:
            return Found(taken[-1][1], found, "; ".join(withdrawn))
        why = f"as this is slower: {found.loser}" if found and found.loser else "as all together is not surely faster"
        withdrawn.append(f"{taken.pop()[0].name} was taken back, {why}")
    return Found(start, None, "; ".join(withdrawn))


def _decide(bench: Bench, current: Tuning, choice: Choice, limit: _Limit) -> tuple[Tuning, str]:
    """The tuning with the fastest setting of a choice, and what was found, in words."""
    tunings = {label: current.but(**numbers) for label, numbers in choice.settings.items()}
    usual = next((label for label, tuning in tunings.items() if tuning == current), "what is there")
    now = _samples(bench, current, choice.steps)
    rivals: dict[str, Samples] = {}
    for label, tuning in tunings.items():
        if now and tuning != current and not limit.late():
            samples = _samples(bench, tuning, now)
            if samples.keys() == now.keys():
                rivals[label] = samples
    late = limit.share(_FOR_A_CHOICE).late  # what is compiled is timed, however long that took
    best = fastest(now, list(rivals.values())) if rivals and not late() else None
    if best is None:
        return current, f"{usual} stays{', as time is up' if late() else ''}"
    label = list(rivals)[best]
    found = compare(now, rivals[label], late, now)
    if found is None:
        return current, f"{usual} stays, as time is up"
    times = f"{label} takes {found.ratio:.3f} of the time, give or take {found.spread:.3f}"
    if found.better and found.ratio <= _WORTH:
        return tunings[label], f"{usual} is changed: {times}"
    slower = f", but more for: {found.loser}" if found.loser else ""
    return current, f"{usual} stays: {times}{slower}"


def _confirm(bench: Bench, before: Samples, taken: list[tuple[Choice, Tuning]], late: Late) -> Comparison | None:
    """All that was chosen against what was there before; None where a step cannot be timed, or time is up."""
    after = _samples(bench, taken[-1][1], before)
    gaining = {step for choice, _ in taken for step in choice.steps} & before.keys()
    return compare(before, after, late, gaining) if gaining and after.keys() == before.keys() else None


def _samples(bench: Bench, tuning: Tuning, steps: Iterable[str]) -> dict[str, Callable[[], float]]:
    """A function for the time of each step; steps that the device refuses are left out."""
    found = {}
    for name in steps:
        with contextlib.suppress(ClfrnnError):
            found[name] = bench.sample(tuning, name)
    return found
