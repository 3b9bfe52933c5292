"""Successive halving: the best of some rivals by repeated times, and whether it is faster beyond doubt.

Pure functions over anything that gives a time. All that is compared is timed in turns, in rounds whose orders are
drawn, so that what else a machine does meets all alike; a round is judged by the ratios of its own times.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Container, Mapping, Sequence
from typing import NamedTuple

__all__ = ["Comparison", "Late", "Samples", "best_rival", "compare"]

#: Gives a time of each step, in seconds.
Samples = Mapping[str, Callable[[], float]]

#: Whether time is up.
Late = Callable[[], bool]

#: Rounds in which rivals are halved first; twice as many whenever half of them are left.
_ROUNDS = 3

#: Rounds after which a comparison may be decided, rounds between two looks, and rounds after which it ends.
_FEWEST, _BETWEEN, _MOST = 15, 5, 60

#: How probable it may be that chance alone makes a new tuning win as many rounds as it did.
_CHANCE = 1e-4

#: Standard errors that separate an estimate from what it surely is not.
_SURE = 3.0

#: Standard errors that separate it from what it likely is not.
_LIKELY = 2.0

#: A gain over all steps that is worth a change, and the loss of a single step that forbids it, as logarithms.
_LEAST_GAIN, _MOST_LOSS = math.log(1.02), math.log(1.02)

#: The same at the end, where what was worth a change is held against what was there before.
_LEAST_GAIN_AT_THE_END, _MOST_LOSS_AT_THE_END = 0.0, math.log(1.03)

#: From the median deviation of normal values to the standard error of their median, but for the root of their number.
_ERROR_OF_MEDIAN = 1.4826 * 1.2533


class Comparison(NamedTuple):
    """What was found of two tunings: the times of each step, and the ratio of the new ones to the old ones over all."""

    #: seconds of each step, now and anew, in the median
    seconds: Mapping[str, tuple[float, float]]
    #: the geometric mean over steps of the ratios of times, below 1 where the new tuning is faster
    ratio: float
    #: the standard error of its logarithm, about a share of it
    spread: float
    #: whether the new tuning is faster, and no step is slower
    better: bool
    #: the step that has lost most, where one has lost too much
    loser: str = ""


def best_rival(now: Samples, rivals: Sequence[Samples], late: Late) -> int | None:
    """The fastest of some rivals to what is used now; None where none is faster, or time is up.

    Cost: a few times of each rival, and more of those that are left.
    """
    left, rounds, orders = list(range(len(rivals))), _ROUNDS, random.Random(0)  # noqa: S311 — nothing is secret
    while left:
        times = _in_turns([now, *(rivals[k] for k in left)], rounds, orders)
        if late():
            return None
        ratios = {k: _middle(_logarithms(times, row)) for row, k in enumerate(left, start=1)}
        order = sorted((k for k in left if ratios[k] < 0), key=ratios.__getitem__)
        if len(order) <= 1:
            return order[0] if order else None
        left, rounds = order[: len(left) // 2], 2 * rounds
        if len(left) == 1:
            return left[0]
    return None


def _middle(rounds: list[dict[str, float]]) -> float:
    """The mean over steps of the medians over rounds."""
    return statistics.fmean(statistics.median(each[step] for each in rounds) for step in rounds[0])


def compare(
    now: Samples, new: Samples, late: Late, *, gaining: Container[str] | None = None, at_the_end: bool = False
) -> Comparison | None:
    """Compare two tunings by fresh times until it is clear which is faster; None where time is up before.

    The gain is that over the steps `gaining`, all of them where they are not given; none at all may lose.
    """
    orders = random.Random(1)  # noqa: S311
    times: list[list[dict[str, float]]] = [[], []]
    found = None
    while len(times[0]) < _MOST and not (late() and times[0]):
        for before, more in zip(times, _in_turns([now, new], _BETWEEN, orders), strict=True):
            before.extend(more)
        if len(times[0]) < _FEWEST:
            continue
        found, hopeless = _judge(times, [step for step in now if gaining is None or step in gaining], at_the_end)
        if found.better or hopeless:
            break
    return found


def _judge(times: list[list[dict[str, float]]], gaining: Sequence[str], at_the_end: bool) -> tuple[Comparison, bool]:
    """What the rounds of two tunings tell, and whether it is clear that the new one is no better."""
    least, most = (_LEAST_GAIN_AT_THE_END, _MOST_LOSS_AT_THE_END) if at_the_end else (_LEAST_GAIN, _MOST_LOSS)
    rounds = _logarithms(times, 1)
    gains = [-statistics.fmean(each[step] for step in gaining) for each in rounds]
    gain, spread = _estimate(gains)
    of_steps = {step: _estimate([each[step] for each in rounds]) for step in rounds[0]}
    loser = max(of_steps, key=lambda step: of_steps[step][0])
    loss, doubt = of_steps[loser]
    # At the end many steps are timed, and the spread of one of them nearly always looks like a loss.
    lost = loss > most and not (at_the_end and loss < _LIKELY * doubt)
    seconds = {
        step: (statistics.median(each[step] for each in times[0]), statistics.median(each[step] for each in times[1]))
        for step in of_steps
    }
    found = Comparison(
        seconds=seconds,
        ratio=math.exp(-gain),
        spread=spread,
        better=gain >= least and _by_chance(gains) < _CHANCE and not lost,
        loser=loser if lost else "",
    )
    return found, loss - _SURE * doubt > most or gain + _SURE * spread < least


def _by_chance(gains: Sequence[float]) -> float:
    """How probable it is to win as many rounds, or more, where winning is as probable as losing."""
    won, rounds = sum(gain > 0 for gain in gains), len(gains)
    return math.fsum(math.comb(rounds, k) for k in range(won, rounds + 1)) / 2**rounds


def _estimate(values: Sequence[float]) -> tuple[float, float]:
    """The median of some values, and its standard error."""
    middle = statistics.median(values)
    deviation = statistics.median(abs(value - middle) for value in values)
    return middle, _ERROR_OF_MEDIAN * deviation / math.sqrt(len(values))


def _in_turns(rivals: Sequence[Samples], rounds: int, orders: random.Random) -> list[list[dict[str, float]]]:
    """The times of each rival, a dict for each round."""
    times: list[list[dict[str, float]]] = [[] for _ in rivals]
    for _ in range(rounds):
        for own in times:
            own.append({})
        for step in rivals[0]:
            for row in orders.sample(range(len(rivals)), len(rivals)):
                times[row][-1][step] = rivals[row][step]()
    return times


def _logarithms(times: list[list[dict[str, float]]], row: int) -> list[dict[str, float]]:
    """For each round, the logarithms of the ratios of one rival's times to those of the first, by step."""
    rounds = zip(times[0], times[row], strict=True)
    return [{step: math.log(own[step] / first[step]) for step in first} for first, own in rounds]
