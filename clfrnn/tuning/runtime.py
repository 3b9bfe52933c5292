"""The numbers of launches: how long a launch may take."""

import dataclasses

from .section import Section, number

__all__ = ["RuntimeTuning"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class RuntimeTuning(Section):
    """Slices of launches."""

    #: seconds that a slice of a long launch should take: Ctrl-C and watchdogs are served between slices
    slice_seconds: float = number(0.5, least=1e-9)
    #: pairs that every device tests in that time
    least_budget: int = number(1 << 20, least=1)
    #: clock cycles of a lane for each pair, by which the pairs of a slice are estimated: a cautious guess
    clocks_of_pair: int = number(32, least=1)
    #: ratio of its budget to a launch's pairs from which on runs of the kernel are not timed
    surely_short: float = number(64.0, least=0)
    #: share of two slices after which the time of a run is read: to read it costs a third of a launch
    look_share: float = number(1 / 64, most=1)
