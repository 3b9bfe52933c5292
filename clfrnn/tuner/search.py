"""The search for a tuning: one choice after the other, then all that was chosen against what was there before."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

from ..errors import ClfrnnError
from ..tuning import Tuning
from ..tuning.stored.choices import Choice, Setting
from .halving import AT_THE_END, OF_A_CHOICE, Comparison, Late, Samples, best_rival, compare

__all__ = ["Found", "Trial", "find_faster"]

#: The share of the time that is left for the comparison of all steps at the end.
_FOR_THE_END = 0.25

#: The share of the rest that a choice may take of what is left of it.
_FOR_A_CHOICE = 0.6


class Times(Protocol):
    """What gives times: :class:`clfrnn.tuner.bench.Bench`, or a clock of a test."""

    def sample(self, tuning: Tuning, name: str) -> Callable[[], float]:
        """A function that gives the seconds of a step under a tuning."""

    def forget(self, *tunings: Tuning) -> None:
        """Forget all other tunings."""


class Trial(NamedTuple):
    """What came of a choice."""

    choice: Choice
    #: what was found, in words
    outcome: str
    #: the setting that is taken from now on, if another one
    setting: Setting | None = None


class Found(NamedTuple):
    """A tuning, and how it compares with the one before it; the same tuning where no other is faster beyond doubt."""

    tuning: Tuning
    #: None where nothing was changed, or time was up
    comparison: Comparison | None
    #: choices that were taken and are part of it
    taken: Sequence[Trial]
    #: why something that was taken for a while is no part of it
    withdrawn: str = ""


def find_faster(
    bench: Times,
    start: Tuning,
    offered: Iterable[Choice],
    *,
    seconds: float,
    say: Callable[[Trial], None],
    clock: Callable[[], float] = time.perf_counter,
) -> Found:
    """Find a tuning that is faster than `start` within about `seconds`; `say` is called for each choice.

    A change stays if it is faster by fresh times than what was there before it, by more than their spread, and no step
    of its choice is slower. At the end all that changed is held against `start` over all steps that were measured: if
    it is not faster, or a step is slower, the last change is taken back, and so on.
    """
    began = clock()
    end_of_choices = began + (1 - _FOR_THE_END) * seconds
    current, taken = start, list[Trial]()
    steps: dict[str, None] = {}
    for choice in offered:
        now = clock()
        if now >= end_of_choices:
            say(Trial(choice, "not tried, as time is up"))
            continue
        trial = _decide(bench, current, choice, _Limits(clock, end_of_choices))
        say(trial)
        steps.update(dict.fromkeys(choice.steps))
        if trial.setting is not None:
            current = _with(current, trial.setting)
            taken.append(trial)
        bench.forget(start, current)
    return _confirm(bench, start, taken, list(steps), _Limits(clock, began + seconds).late)


class _Limits(NamedTuple):
    """The end of a time, by some clock."""

    clock: Callable[[], float]
    end: float

    def late(self) -> bool:
        """Whether it has come."""
        return self.clock() > self.end

    def share(self, share: float) -> _Limits:
        """The end of a share of the time that is left."""
        now = self.clock()
        return self._replace(end=now + share * (self.end - now))


def _decide(bench: Times, current: Tuning, choice: Choice, limits: _Limits) -> Trial:
    """Whether another setting of a choice is faster than that in `current`."""
    usual = next((each.label for each in choice.settings if _with(current, each) == current), "what is there")
    now = _samples(bench, current, choice.steps)
    rivals: list[tuple[Setting, Samples]] = []
    for setting in choice.settings:
        other = _with(current, setting)
        if now and other != current and not limits.late():
            samples = _samples(bench, other, tuple(now))
            if samples.keys() == now.keys():
                rivals.append((setting, samples))
    late = limits.share(_FOR_A_CHOICE).late  # what is compiled is timed, however long that took
    best = best_rival(now, [samples for _, samples in rivals], late) if rivals else None
    if best is None:
        return Trial(choice, f"{usual} stays{', as time is up' if late() else ''}")
    setting, other_times = rivals[best]
    found = compare(now, other_times, late, OF_A_CHOICE)
    if found is None:
        return Trial(choice, f"{usual} stays, as time is up")
    times = f"{setting.label} takes {found.ratio:.3f} of the time, give or take {found.spread:.3f}"
    if not found.better:
        slower = f", but more for: {found.loser}" if found.loser else ""
        return Trial(choice, f"{usual} stays: {times}{slower}")
    return Trial(choice, f"{usual} is changed: {times}", setting)


def _confirm(bench: Times, start: Tuning, taken: list[Trial], steps: Sequence[str], late: Late) -> Found:
    """All that was chosen against what was there before; the last change is taken back as long as it is not faster."""
    withdrawn: list[str] = []
    before: dict[str, Callable[[], float]] = {}
    while taken:
        tuning = start
        for trial in taken:
            assert trial.setting is not None
            tuning = _with(tuning, trial.setting)
        before = before or _samples(bench, start, steps)
        after = _samples(bench, tuning, tuple(before))
        gaining = {step for trial in taken for step in trial.choice.steps} & before.keys()
        whole = after.keys() == before.keys() and gaining
        found = compare(before, after, late, AT_THE_END, gaining) if whole else None
        if found is None and late():
            return Found(
                start, None, (), "there was no time left to compare what was chosen with what was there before"
            )
        if found is not None and found.better:
            return Found(tuning, found, tuple(taken), "; ".join(withdrawn))
        why = f"as this is slower: {found.loser}" if found and found.loser else "as all together is not surely faster"
        withdrawn.append(f"{taken.pop().choice.name} was taken back, {why}")
    return Found(start, None, (), "; ".join(withdrawn))


def _with(tuning: Tuning, setting: Setting) -> Tuning:
    return tuning.but(**setting.numbers)


def _samples(bench: Times, tuning: Tuning, steps: Iterable[str]) -> dict[str, Callable[[], float]]:
    """A function for the time of each step; steps that the device refuses are left out."""
    found = {}
    for name in steps:
        with contextlib.suppress(ClfrnnError):
            found[name] = bench.sample(tuning, name)
    return found
