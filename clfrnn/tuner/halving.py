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

__all__ = ["AT_THE_END", "OF_A_CHOICE", "Comparison", "Late", "Rule", "Samples", "best_rival", "compare"]

#: Gives a time of each step, in seconds.
Samples = Mapping[str, Callable[[], float]]

#: Whether time is up.
Late = Callable[[], bool]

#: Rounds in which rivals are halved first; twice as many whenever half of them are left.
_ROUNDS = 5

#: Rounds between two looks at a comparison, and rounds after which it ends.
_BETWEEN, _MOST = 5, 60

#: Standard errors that separate an estimate from what it likely is not.
_LIKELY = 2.0

#: From the median deviation of normal values to the standard error of their median, but for the root of their number.
_ERROR_OF_MEDIAN = 1.4826 * 1.2533


class Rule(NamedTuple):
    """When a tuning is better than another one. Gains and losses are logarithms of ratios of times."""

    #: the gain over all steps, at least
    least_gain: float
    #: the loss of a single step, at most
    most_loss: float
    #: standard errors that a loss must exceed to count as one
    doubt: float
    #: how probable it may be that chance alone makes it win as many rounds as it did
    chance: float
    #: rounds, at least
    fewest: int


#: Of one choice: many choices are made, so that chance has many chances.
OF_A_CHOICE = Rule(least_gain=math.log(1.02), most_loss=math.log(1.02), doubt=0.0, chance=1e-4, fewest=15)

#: Of all that was chosen, each of which was worth it before. Many steps are timed, and the spread of one of
#: them nearly always looks like a loss.
AT_THE_END = Rule(least_gain=0.0, most_loss=math.log(1.03), doubt=_LIKELY, chance=1e-2, fewest=10)


class Comparison(NamedTuple):
    """What was found of two tunings: the times of each step, and the ratio of the new ones to the old ones over all."""

    #: of each step: seconds now, in the median; seconds with the new tuning, by the median of the ratios; and the
    #: standard error of this ratio's logarithm
    steps: Mapping[str, tuple[float, float, float]]
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
    now: Samples, new: Samples, late: Late, rule: Rule, gaining: Container[str] | None = None
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
        if len(times[0]) < rule.fewest:
            continue
        found, hopeless = _judge(times, [step for step in now if gaining is None or step in gaining], rule)
        if found.better or hopeless:
            break
    return found


def _judge(times: list[list[dict[str, float]]], gaining: Sequence[str], rule: Rule) -> tuple[Comparison, bool]:
    """What the rounds of two tunings tell, and whether more of them are not worth their time."""
    rounds = _logarithms(times, 1)
    gains = [-statistics.fmean(each[step] for step in gaining) for each in rounds]
    gain, spread = _estimate(gains)
    of_steps = {step: _estimate([each[step] for each in rounds]) for step in rounds[0]}
    loser = max(of_steps, key=lambda step: of_steps[step][0])
    loss, doubt = of_steps[loser]
    lost = loss > max(rule.most_loss, rule.doubt * doubt)
    seconds = {step: statistics.median(each[step] for each in times[0]) for step in of_steps}
    found = Comparison(
        steps={step: (now, now * math.exp(of_steps[step][0]), of_steps[step][1]) for step, now in seconds.items()},
        ratio=math.exp(-gain),
        spread=spread,
        better=gain >= rule.least_gain and _by_chance(gains) < rule.chance and not lost,
        loser=loser if lost else "",
    )
    # Time is short: what does not look good by now is given up, though more rounds might find some gain.
    return found, loss - doubt > rule.most_loss or gain < rule.least_gain / 2


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
