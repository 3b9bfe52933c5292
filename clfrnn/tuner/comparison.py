"""Comparisons of tunings by repeated times: how much faster one is than another, and whether beyond doubt.

Pure functions over anything that gives a time. All that is compared is timed alternately, in rounds whose orders are
drawn, so that what else a machine does meets all alike; a round is judged by the ratios of its own times.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

__all__ = ["Comparison", "Late", "Samples", "compare", "fastest"]

#: Gives a time of each step, in seconds.
Samples = Mapping[str, Callable[[], float]]

#: Whether time is up.
Late = Callable[[], bool]

#: Rounds in which the fastest of several settings is chosen.
_TO_CHOOSE = 7

#: Rounds of a comparison between two looks at it, at least, and at most.
_BETWEEN, _FEWEST, _MOST = 5, 15, 60

#: How probable it may be that chance alone wins as many rounds as the faster tuning did, which has to win twice: as a
#: choice, and at the end.
_CHANCE = 1e-3

#: The largest loss of a step, as a logarithm of a ratio of times, and the standard errors by which it must be exceeded:
#: of many steps, the spread of one nearly always looks like a loss.
_MOST_LOSS, _DOUBT = math.log(1.02), 2.0

#: From the median deviation of normal values to the standard error of their median, but for the root of their number.
_ERROR_OF_MEDIAN = 1.4826 * 1.2533


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
    loser: str


def fastest(now: Samples, rivals: Sequence[Samples]) -> int | None:
    """The fastest of some rivals to what is used now; None where none is faster."""
    orders = random.Random(0)  # noqa: S311 — nothing is secret
    rounds = [_round([now, *rivals], orders) for _ in range(_TO_CHOOSE)]
    ratios = [
        statistics.fmean(statistics.median(math.log(each[k][step] / each[0][step]) for each in rounds) for step in now)
        for k in range(1, 1 + len(rivals))
    ]
    best = min(range(len(rivals)), key=ratios.__getitem__)
    return best if ratios[best] < 0 else None


def compare(now: Samples, new: Samples, late: Late, gaining: Collection[str]) -> Comparison | None:
    """Compare two tunings by fresh times until it is clear which is faster; None where time is up before.

    The gain is that over the steps `gaining`; none at all may lose.
    """
    orders = random.Random(1)  # noqa: S311
    rounds: list[list[dict[str, float]]] = []
    found = None
    while len(rounds) < _MOST and not late():
        rounds += [_round([now, new], orders) for _ in range(_BETWEEN)]
        if len(rounds) >= _FEWEST:
            found = _judge(rounds, gaining)
            if found.better or found.ratio > 1 or found.loser:
                break
    return found


def _round(rivals: Sequence[Samples], orders: random.Random) -> list[dict[str, float]]:
    """A time of each step by each rival, in an order that is drawn for each step."""
    times: list[dict[str, float]] = [{} for _ in rivals]
    for step in rivals[0]:
        for k in orders.sample(range(len(rivals)), len(rivals)):
            times[k][step] = rivals[k][step]()
    return times


def _judge(rounds: Sequence[Sequence[dict[str, float]]], gaining: Collection[str]) -> Comparison:
    """What the rounds of two tunings tell."""
    ratios = [{step: math.log(new[step] / old[step]) for step in old} for old, new in rounds]
    losses = [statistics.fmean(each[step] for step in gaining) for each in ratios]
    loss, spread = _estimate(losses)
    of_steps = {step: _estimate([each[step] for each in ratios]) for step in ratios[0]}
    losers = [step for step, (more, error) in of_steps.items() if more - _DOUBT * error > _MOST_LOSS]
    seconds = {step: statistics.median(old[step] for old, _ in rounds) for step in of_steps}
    return Comparison(
        steps={step: (now, now * math.exp(of_steps[step][0]), of_steps[step][1]) for step, now in seconds.items()},
        ratio=math.exp(loss),
        spread=spread,
        better=_by_chance(sum(each < 0 for each in losses), len(rounds)) < _CHANCE and not losers,
        loser=max(losers, key=of_steps.__getitem__, default=""),
    )


def _by_chance(won: int, rounds: int) -> float:
    """How probable it is to win as many rounds, or more, where winning is as probable as losing."""
    return math.fsum(math.comb(rounds, k) for k in range(won, rounds + 1)) / 2**rounds


def _estimate(values: Sequence[float]) -> tuple[float, float]:
    """The median of some values, and its standard error."""
    middle = statistics.median(values)
    deviation = statistics.median(abs(value - middle) for value in values)
    return middle, _ERROR_OF_MEDIAN * deviation / math.sqrt(len(values))
